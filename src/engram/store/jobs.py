"""Jobs: background work that one process at a time does, under a lease that ends by itself.

The database's clock decides: on SQLite the machine's, on PostgreSQL the server's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from engram.store.base import Tx


def claim(tx: Tx, kind: str, key: str, *, holder: str, length_ms: int) -> bool:
    """Take the lease of a job for so long, or renew it; whether the holder has it now."""
    clock = _clock(tx)
    row = tx.one(
        f"""
        insert into job (kind, key, due_at, lease_by, lease_until)
        values (:kind, :key, {clock}, :holder, {clock} + :length)
        on conflict (kind, key) do update set lease_by = excluded.lease_by, lease_until = excluded.lease_until
        where job.lease_by is null or job.lease_by = :holder or job.lease_until <= {clock}
        returning lease_by
        """,
        kind=kind,
        key=key,
        holder=holder,
        length=length_ms,
        **_now(tx),
    )
    return row is not None


def release(tx: Tx, kind: str, key: str, *, holder: str) -> None:
    """Give the lease back, unless another has it by now."""
    tx.run(
        """
        update job set lease_by = null, lease_until = null
        where kind = :kind and key = :key and lease_by = :holder
        """,
        kind=kind,
        key=key,
        holder=holder,
    )


def held_ms(tx: Tx, kind: str, key: str, *, but: str) -> int:
    """For how many milliseconds another than ``but`` has the lease of a job; 0 where nobody has."""
    left: int | None = tx.value(
        f"""
        select lease_until - {_clock(tx)} from job
        where kind = :kind and key = :key and lease_by is not null and lease_by <> :but
        """,
        kind=kind,
        key=key,
        but=but,
        **_now(tx),
    )
    return max(0, left or 0)


def _clock(tx: Tx) -> str:
    return ":now" if tx.store.dialect == "sqlite" else "(extract(epoch from clock_timestamp()) * 1000)::bigint"


def _now(tx: Tx) -> dict[str, int]:
    return {"now": tx.now} if tx.store.dialect == "sqlite" else {}


def holder(tx: Tx, kind: str, key: str) -> str:
    """Who has the lease of a job now; empty where nobody has."""
    found: str | None = tx.value(
        f"select lease_by from job where kind = :kind and key = :key and lease_until > {_clock(tx)}",
        kind=kind,
        key=key,
        **_now(tx),
    )
    return found or ""
