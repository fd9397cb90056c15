"""Actors and tokens."""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING

from engram.model import Actor, Token

if TYPE_CHECKING:
    from engram.store.base import Row, Tx

_ACTOR = ("id", "name", "email", "email_folded", "is_operator", "created_at", "disabled_at")
_TOKEN = (
    "id", "actor_id", "name", "scope", "library_id", "role", "hash", "made_by", "created_at", "expires_at",
    "revoked_at",
)  # fmt: skip
_BY_ID = f"select {', '.join(_ACTOR)} from actor where id = :id"
_actor_values = attrgetter(*_ACTOR)
_token_values = attrgetter(*_TOKEN)


def actor_from(row: Row) -> Actor:
    """A row of the actor columns as a noun."""
    values = dict(zip(_ACTOR, row, strict=True))
    values["is_operator"] = bool(values["is_operator"])
    return Actor(**values)


def insert_actor(tx: Tx, actor: Actor) -> Actor:
    """Add a person."""
    values = dict(zip(_ACTOR, _actor_values(actor), strict=True))
    values["is_operator"] = int(actor.is_operator)
    tx.run(
        f"insert into actor ({', '.join(_ACTOR)}, seal) values ({', '.join(f':{n}' for n in _ACTOR)}, :seal)",
        **values,
        seal=tx.seal("actor", _actor_values(actor)),
    )
    return actor


def actor(tx: Tx, actor_id: str) -> Actor | None:
    """The person with this id."""
    row = tx.one(_BY_ID, id=actor_id)
    return actor_from(row) if row else None


def actor_by_email(tx: Tx, email_folded: str) -> Actor | None:
    """The person with this e-mail."""
    row = tx.one(f"select {', '.join(_ACTOR)} from actor where email_folded = :email", email=email_folded)
    return actor_from(row) if row else None


def actors(tx: Tx) -> list[Actor]:
    """Everybody, the first comers first."""
    return [actor_from(row) for row in tx.all(f"select {', '.join(_ACTOR)} from actor order by created_at, id")]


def insert_token(tx: Tx, token: Token) -> Token:
    """Add a token."""
    tx.run(
        f"insert into token ({', '.join(_TOKEN)}, seal) values ({', '.join(f':{n}' for n in _TOKEN)}, :seal)",
        **dict(zip(_TOKEN, _token_values(token), strict=True)),
        seal=tx.seal("token", _token_values(token)),
    )
    return token


def token_by_hash(tx: Tx, hashed: bytes) -> Token | None:
    """The token with this keyed hash, revoked and expired ones included."""
    row = tx.one(f"select {', '.join(_TOKEN)} from token where hash = :hash", hash=hashed)
    return Token(**dict(zip(_TOKEN, row, strict=True))) if row else None
