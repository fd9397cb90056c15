"""The mount table as Linux writes it: the longest mount point wins, escapes are read, network types are told."""

from __future__ import annotations

from pathlib import Path

import pytest

from engram.store import mounts

INFO = r"""
22 29 0:21 / /proc rw,nosuid shared:12 - proc proc rw
29 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda1 rw,errors=remount-ro
41 29 0:35 / /home rw,relatime shared:20 - nfs4 filer:/export/home rw,vers=4.2
42 41 254:16 / /home/ada/local rw,relatime - xfs /dev/vdb rw
43 29 0:36 / /mnt/My\040Share rw,relatime shared:21 - cifs //filer/share rw
44 29 0:37 / /mnt/ssh rw - fuse.sshfs ada@host: rw
45 29 0:38 / /mnt/zip rw - fuse.archivemount zip rw
46 29 0:39 / /over rw - ext4 /dev/vdc rw
47 46 0:40 / /over rw - nfs filer:/late rw
48 29 0:41 / /wsl rw shared:3 master:1 - 9p drvfs rw
broken line
49 29 0:42 / /short rw -
"""
OLD = "sysfs /sys sysfs rw 0 0\n/dev/sda1 / ext4 rw 0 0\nfiler:/x /data nfs rw 0 0\n"


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/etc/engram", "ext4"),
        ("/home/ada/.engram/engram.db", "nfs4"),
        ("/home/ada/local/engram.db", "xfs"),
        ("/homestead/engram.db", "ext4"),
        ("/mnt/My Share/engram.db", "cifs"),
        ("/mnt/ssh/engram.db", "fuse.sshfs"),
        ("/mnt/zip/engram.db", "fuse.archivemount"),
        ("/over/engram.db", "nfs"),
        ("/wsl/engram.db", "9p"),
    ],
)
def test_the_longest_mount_point_tells_the_type(path: str, kind: str) -> None:
    """Of two on the same point the later one."""
    assert mounts.type_of(Path(path), INFO) == kind


def test_the_older_table_is_read_too() -> None:
    """``/proc/mounts`` has no separator and no ids."""
    assert mounts.type_of(Path("/data/engram.db"), OLD) == "nfs"
    assert mounts.type_of(Path("/home/engram.db"), OLD) == "ext4"
    assert mounts.type_of(Path("/home/engram.db"), "") == ""


@pytest.mark.parametrize(
    "kind", ["nfs", "nfs4", "CIFS", "smb3", "fuse.sshfs", "fuse.glusterfs", "9p", "ceph", "lustre", "afs"]
)
def test_what_lies_on_another_machine_is_a_network(kind: str) -> None:
    """Its locks do not hold."""
    assert mounts.is_network(kind)


@pytest.mark.parametrize(
    "kind", ["ext4", "xfs", "btrfs", "zfs", "tmpfs", "overlay", "apfs", "ntfs3", "fuse.archivemount", "fuse", ""]
)
def test_what_lies_here_is_none(kind: str) -> None:
    """Unknown types are allowed: to refuse them would break what works."""
    assert not mounts.is_network(kind)
