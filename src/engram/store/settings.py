"""Small facts about the database itself, by name."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from engram.store.base import Tx


def get(tx: Tx, name: str) -> str | None:
    """The value, if there is one."""
    found: str | None = tx.value("select value from setting where name = :name", name=name)
    return found


def put(tx: Tx, name: str, value: str) -> None:
    """Set a value."""
    tx.run(
        """
        insert into setting (name, value) values (:name, :value)
        on conflict (name) do update set value = excluded.value
        """,
        name=name,
        value=value,
    )


def drop(tx: Tx, name: str) -> None:
    """Forget a value."""
    tx.run("delete from setting where name = :name", name=name)
