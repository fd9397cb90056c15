"""Which file system a path is on, by the mount table: SQLite's locks do not hold over a network."""

from __future__ import annotations

import re
from pathlib import Path

TABLE = Path("/proc/self/mountinfo")
# Types whose locks or shared memory do not hold between machines; `fuse.` ones by what stands behind the dot.
NETWORK = frozenset({
    "nfs", "nfs4", "cifs", "smb", "smb2", "smb3", "smbfs", "smbnetfs", "9p", "afs", "afpfs", "ncpfs", "ncp", "coda",
    "ceph", "cephfs", "glusterfs", "lustre", "beegfs", "gpfs", "gfs", "gfs2", "ocfs2", "orangefs", "pvfs2", "moosefs",
    "sshfs", "davfs", "davfs2", "webdavfs", "curlftpfs", "s3fs", "goofys", "rclone", "gcsfuse", "blobfuse", "jfs-fuse",
    "juicefs", "mfs", "acfs", "vboxsf", "vmhgfs", "vmhgfs-fuse", "prl_fs", "grpcfuse",
})  # fmt: skip
_OCTAL = re.compile(r"\\([0-7]{3})")


def type_of(path: Path, table: str) -> str:
    """The type of the file system that holds an absolute, resolved path; empty where the table does not say.

    Args:
        path: It need not exist.
        table: The text of ``/proc/self/mountinfo`` (see proc(5)), or of ``/proc/mounts``.
    """
    found, depth = "", -1
    for line in table.splitlines():
        point, kind = _entry(line.split(" "))
        # Of two mounts on one point the later one hides the earlier.
        if point is not None and path.is_relative_to(point) and len(point.parts) >= depth:
            found, depth = kind, len(point.parts)
    return found


def _entry(words: list[str]) -> tuple[Path | None, str]:
    """(mount point, type) of a line of either table."""
    if "-" in words[6:]:
        at = words.index("-", 6)
        point, kind = words[4], words[at + 1] if at + 1 < len(words) else ""
    elif len(words) >= 4 and not words[0].isdigit():
        point, kind = words[1], words[2]
    else:
        return None, ""
    return Path(_OCTAL.sub(lambda code: chr(int(code[1], 8)), point)), kind


def is_network(kind: str) -> bool:
    """Whether a type of file system lies on another machine, or behaves so."""
    name = kind.lower()
    return name in NETWORK or (name.startswith("fuse.") and name.removeprefix("fuse.") in NETWORK)


def network_type(path: Path) -> str:
    """The type of the network file system on which a path lies, by this machine's table; empty where it is none."""
    try:
        table = TABLE.read_text(encoding="utf-8", errors="surrogateescape")
    except OSError:
        return ""  # no such table here: nothing is known, nothing is refused
    kind = type_of(path.resolve(), table)
    return kind if is_network(kind) else ""
