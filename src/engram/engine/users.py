"""People: the local user of a file, the users of a server, their tokens."""

from __future__ import annotations

import getpass
import hashlib
import secrets
from dataclasses import dataclass
from typing import TYPE_CHECKING

from engram.errors import AccessDenied, Conflict, Invalid
from engram.model import EMAIL_CHARS_MAX, NAME_CHARS_MAX, PERSONAL_LIBRARY, Actor, Library, Role, Token
from engram.rules import ids, names
from engram.store import libraries, people, settings

if TYPE_CHECKING:
    from engram.store.base import Store, Tx

LOCAL_ACTOR = "local_actor"
TOKEN_PREFIX = "eng_"  # noqa: S105 - a prefix, no secret


@dataclass(frozen=True, slots=True, kw_only=True)
class Added:
    """A new user, and the token that is shown once."""

    actor: Actor
    token: str


def add_local(tx: Tx) -> None:
    """Make the user of a SQLite file: owner of all in it, and operator."""
    try:
        name = getpass.getuser()
    except (OSError, KeyError, ImportError):  # a user id without a name, as in many containers
        name = "local"
    actor = _insert(tx, name=name, email="", is_operator=True)
    settings.put(tx, LOCAL_ACTOR, actor.id)


def local_actor_id(tx: Tx) -> str:
    """The user of a SQLite file."""
    found = settings.get(tx, LOCAL_ACTOR)
    if found is None:
        raise Conflict("this database has no local user", hint="Run `engram doctor`")
    return found


def add(store: Store, name: str, *, email: str) -> Added:
    """Make a user with a Personal library; the first one is operator.

    Raises:
        Conflict: the e-mail belongs to another user.
        Invalid: the name or the e-mail is none.
    """
    name = names.tidy_title(name)
    if not name or len(name) > NAME_CHARS_MAX:
        raise Invalid(f"name must have 1 to {NAME_CHARS_MAX} characters", hint="Give the person's name")
    if email and (len(email) > EMAIL_CHARS_MAX or "@" not in email.strip("@") or any(c.isspace() for c in email)):
        raise Invalid(f"{email[:80]!r} is no e-mail address", hint="Give one like ada@example.org, or leave it out")
    token = TOKEN_PREFIX + secrets.token_urlsafe(32)
    with store.writing() as tx:
        tx.lock("users")
        if email and people.actor_by_email(tx, names.fold_name(email)):
            raise Conflict(f"{email} belongs to another user", hint="Use another e-mail")
        actor = _insert(tx, name=name, email=email, is_operator=not people.actors(tx))
        people.insert_token(
            tx,
            Token(
                id=ids.uuid7(tx.now),
                actor_id=actor.id,
                name="first",
                scope="user",
                library_id=None,
                role=int(Role.OWNER),
                hash=token_hash(store, token),
                made_by=None,
                created_at=tx.now,
            ),
        )
    return Added(actor=actor, token=token)


def _insert(tx: Tx, *, name: str, email: str, is_operator: bool) -> Actor:
    actor = people.insert_actor(
        tx,
        Actor(
            id=ids.uuid7(tx.now),
            name=name,
            email=email,
            email_folded=names.fold_name(email),
            is_operator=is_operator,
            created_at=tx.now,
        ),
    )
    libraries.insert(
        tx,
        Library(
            id=ids.uuid7(tx.now),
            name=PERSONAL_LIBRARY,
            folded=names.fold_name(PERSONAL_LIBRARY),
            owner_id=actor.id,
            made_by=actor.id,
            created_at=tx.now,
        ),
    )
    return actor


def token_hash(store: Store, token: str) -> bytes:
    """The keyed hash under which a token is stored."""
    return hashlib.blake2b(token.encode(), key=store.key, digest_size=32, person=b"engram-token").digest()


def sign_in(store: Store, token: str) -> Token:
    """The token row of a caller.

    Raises:
        AccessDenied: unknown, revoked or expired.
    """
    with store.reading() as tx:
        found = people.token_by_hash(tx, token_hash(store, token))
        is_over = found is not None and found.expires_at is not None and found.expires_at <= tx.now
    if found is None or found.revoked_at is not None or is_over:
        raise AccessDenied(
            "ENGRAM_TOKEN is not a valid token", hint="Ask the operator for one: `engram user add NAME` prints it once"
        )
    return found
