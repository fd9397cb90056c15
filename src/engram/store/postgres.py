"""PostgreSQL 15+ with pgvector: one database for a team (psycopg 3, a small pool, pipelines)."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import TYPE_CHECKING, Any, LiteralString, cast

import psycopg
from psycopg import IsolationLevel, conninfo, errors
from psycopg_pool import ConnectionPool, PoolTimeout

from engram.errors import Conflict, EngramError, Unavailable
from engram.store.base import (
    _PARAMETER,
    EXACT_VECTORS_MAX,
    WORDS_DF_MAX,
    Compacted,
    Facets,
    Filter,
    Row,
    Store,
    Tell,
    Tx,
    busy,
    expand,
    now_ms,
    scope_terms,
)

if TYPE_CHECKING:
    import numpy as np

    from engram.model import QueryTerm

POOL_MAX = 6
POOL_WAIT_S = 10.0
HNSW_EF = 200
HNSW_DIM_MAX = 4_000
MIGRATION_LOCK = 0x656E6772  # "engr"
SESSION_OPTIONS = (
    "-c synchronous_commit=on -c jit=off -c lock_timeout=10s -c statement_timeout=60s"
    " -c idle_in_transaction_session_timeout=5s -c client_min_messages=warning"
)
TYPICAL_LENGTH = 100.0  # weighted words in a chunk; candidates only, the exact score is the rules'

Connection = psycopg.Connection[Row]


class PostgresStore(Store):
    """A database server. Any number of processes share it."""

    dialect: LiteralString = "postgres"
    dim_max = HNSW_DIM_MAX

    def __init__(self, url: str, *, clock: Callable[[], int] = now_ms) -> None:
        super().__init__(clock=clock)
        self._url = url
        self._pool: ConnectionPool[Connection] | None = None

    def describe(self) -> str:
        parts = conninfo.conninfo_to_dict(self._url)
        return f"postgresql://{parts.get('host', '')}/{parts.get('dbname', '')}"

    def _open_pool(self) -> ConnectionPool[Connection]:
        if self._pool is None:
            self._pool = ConnectionPool(
                self._url,
                min_size=0,
                max_size=POOL_MAX,
                timeout=POOL_WAIT_S,
                max_idle=60.0,
                kwargs={"options": SESSION_OPTIONS, "application_name": "engram", "keepalives_idle": 30},
                check=ConnectionPool.check_connection,
                reconnect_timeout=POOL_WAIT_S,
                open=True,
            )
        return self._pool

    @contextmanager
    def reading(self) -> Generator[Tx]:
        with _translated(self), self._open_pool().connection() as connection:
            connection.read_only = True
            connection.isolation_level = IsolationLevel.REPEATABLE_READ
            with connection.transaction():
                yield PostgresTx(self, self.clock(), connection)

    @contextmanager
    def writing(self) -> Generator[Tx]:
        with _translated(self), self._open_pool().connection() as connection:
            connection.read_only = False
            connection.isolation_level = IsolationLevel.READ_COMMITTED
            tx = PostgresTx(self, self.clock(), connection)
            # A pipeline: statements whose answer nobody waits for travel with the next one that is waited for.
            with connection.pipeline(), connection.transaction():
                yield tx
        for act in tx.after:
            act()

    def version(self) -> int:
        with self.reading() as tx:
            if tx.value("select to_regclass('schema_version') is null"):
                return 0
            found: int = tx.value("select coalesce(max(number), 0) from schema_version")
            return found

    @contextmanager
    def migrating(self) -> Generator[None]:
        with _translated(self), psycopg.connect(self._url, autocommit=True) as connection:
            connection.execute("select pg_advisory_lock(%s)", (MIGRATION_LOCK,))
            yield  # the lock goes with the connection

    def apply(self, number: int, script: str, finish: Callable[[Tx], None] | None = None) -> None:
        with _translated(self), psycopg.connect(self._url, options="-c client_min_messages=warning") as connection:
            connection.execute(cast("LiteralString", script))  # several statements: no parameters, no pipeline
            connection.execute("create table if not exists schema_version (number integer primary key)")
            connection.execute("insert into schema_version (number) values (%s)", (number,))
            if finish:
                finish(PostgresTx(self, self.clock(), connection))

    @contextmanager
    def alone(self) -> Generator[Connection]:
        """A connection of its own, outside any transaction."""
        with _translated(self), psycopg.connect(self._url, autocommit=True, options=SESSION_OPTIONS) as connection:
            yield connection

    def compact(self, tell: Tell, *, is_rewritten: bool) -> Compacted:
        from engram.store import compact_postgres  # noqa: PLC0415 - only where it is asked for

        return compact_postgres.compact(self, tell, is_rewritten=is_rewritten)

    def drop(self) -> None:
        pool, self._pool = self._pool, None
        if pool is not None:
            pool.close()

    def close(self) -> None:
        self.drop()


class PostgresTx(Tx):
    """A transaction on one pooled connection."""

    for_key_share: LiteralString = "for key share"
    for_key_share_free: LiteralString = "for key share skip locked"
    for_update: LiteralString = "for update"
    for_no_key_update: LiteralString = "for no key update"

    def __init__(self, store: PostgresStore, now: int, connection: Connection) -> None:
        super().__init__(store, now)
        self._connection = connection

    def all(self, sql: str, **params: Any) -> list[Row]:  # noqa: ANN401 - a bound value is any SQL value
        return self._execute(sql, params).fetchall()

    def run(self, sql: str, **params: Any) -> None:  # noqa: ANN401 - as above
        self._execute(sql, params)

    def _execute(self, sql: str, params: dict[str, Any]) -> psycopg.Cursor[Row]:
        if self.store.trace:
            self.store.trace(sql)
        sql, params = expand(sql, params)
        return self._connection.execute(cast("LiteralString", _driver_text(sql)), params)

    def lock(self, *keys: str) -> None:
        for key in sorted(keys):  # one order for all, each a statement of its own before the check it guards
            self.run("select pg_advisory_xact_lock(hashtextextended(:key, 0))", key=key)

    def put_words(self, chunk_id: int, *, title: str, body: str, keys: str, facets: Facets, length: float) -> None:
        terms = dict.fromkeys([*title.split(" "), *body.split(" "), *keys.split(" ")])
        terms.pop("", None)
        terms.update(dict.fromkeys(map(_scope_term, facets.tokens())))
        self.run(
            "insert into words (chunk_id, length, tsv) values (:chunk_id, :length, (:tsv::text)::tsvector)",
            chunk_id=chunk_id,
            length=length,
            tsv=" ".join(_lexeme(term) for term in terms),
        )

    def drop_words(self, chunk_ids: Sequence[int]) -> None:
        self.run("delete from words where chunk_id = any((:chunk_ids::text)::bigint[])", chunk_ids=_array(chunk_ids))

    def words(self, where: Filter, terms: Sequence[QueryTerm], idfs: Sequence[float], limit: int) -> list[int]:
        scope = _scope(where)
        params: dict[str, Any] = {"limit": limit, "typical": TYPICAL_LENGTH}
        parts: list[str] = []
        for i, (term, idf) in enumerate(zip(terms, idfs, strict=True)):
            params[f"q{i}"] = f"({_term(term)}) & {scope}"
            params[f"w{i}"] = idf
            parts.append(
                f"select chunk_id, :w{i}::float8 / (1 + 1.2 * (0.25 + 0.75 * length / :typical::float8)) as w"
                f" from words where tsv @@ (:q{i}::text)::tsquery"
            )
        rows = self.all(
            f"select chunk_id from ({' union all '.join(parts)}) found"
            " group by chunk_id order by sum(w) desc, chunk_id limit :limit",
            **params,
        )
        return [row[0] for row in rows]

    def count_words(self, library_ids: Sequence[str], term: QueryTerm) -> int:
        libraries = " | ".join(_lexeme(_scope_term(f"l:{library_id}")) for library_id in library_ids)
        count: int = self.value(
            "select count(*) from (select 1 from words where tsv @@ (:q::text)::tsquery limit :most) found",
            q=f"({libraries}) & ({_term(term)})",
            most=WORDS_DF_MAX + 1,
        )
        return count

    def phrase(self, where: Filter, terms: Sequence[QueryTerm], limit: int) -> list[int]:
        query = " & ".join([_scope(where), *(f"({_term(term)})" for term in terms)])
        rows = self.all(
            "select chunk_id from words where tsv @@ (:q::text)::tsquery order by chunk_id desc limit :limit",
            q=query,
            limit=limit,
        )
        return [row[0] for row in rows]

    def index_model(self, model: int, dim: int) -> None:
        if dim <= HNSW_DIM_MAX:
            self.run(
                f"create index vector_hnsw_{int(model)} on chunk_vector"
                f" using hnsw ((v::halfvec({int(dim)})) halfvec_cosine_ops) where model = {int(model)}"
            )

    def put_vector(self, chunk_id: int, *, model: int, facets: Facets, vector: np.ndarray) -> None:
        self.run(
            """
            insert into chunk_vector (chunk_id, model, library_id, namespace_id, place, kind, memory_type, v)
            select id, :model, :library_id, :namespace_id, :place, :kind, :memory_type, (:v::text)::halfvec from chunk
            where id = :chunk_id
            on conflict (chunk_id, model) do nothing
            """,
            chunk_id=chunk_id,
            model=model,
            library_id=facets.library_id,
            namespace_id=facets.namespace_id,
            place=facets.place,
            kind=facets.kind,
            memory_type=facets.memory_type,
            v=_vector_text(vector),
        )

    def move_vectors(self, chunk_ids: Sequence[int], facets: Facets) -> None:
        self.run(
            """
            update chunk_vector set library_id = :library_id, namespace_id = :namespace_id, place = :place,
                kind = :kind, memory_type = :memory_type
            where chunk_id = any((:chunk_ids::text)::bigint[])
            """,
            chunk_ids=_array(chunk_ids),
            library_id=facets.library_id,
            namespace_id=facets.namespace_id,
            place=facets.place,
            kind=facets.kind,
            memory_type=facets.memory_type,
        )

    def drop_vectors(self, chunk_ids: Sequence[int]) -> None:
        self.run(
            "delete from chunk_vector where chunk_id = any((:chunk_ids::text)::bigint[])", chunk_ids=_array(chunk_ids)
        )

    def nearest(self, where: Filter, *, model: int, query: np.ndarray, limit: int) -> list[tuple[int, float]]:
        dim, model = len(query), int(model)
        condition, params = _vector_scope(where)
        count: int = self.value(
            f"""
            select count(*) from (select 1 from chunk_vector where model = {model} and {condition} limit :most) found
            """,
            most=EXACT_VECTORS_MAX + 1,
            **params,
        )
        is_exact = count <= EXACT_VECTORS_MAX or dim > HNSW_DIM_MAX
        if not is_exact:
            self.run(f"set local hnsw.ef_search = {HNSW_EF}")
            self.run("set local hnsw.iterative_scan = relaxed_order")
        self.run("set local plan_cache_mode = force_custom_plan")  # a generic plan can't use the partial index
        distance = f"(v::halfvec({dim}) <=> (:query::text)::halfvec({dim}))"
        rows = self.all(
            f"""
            select chunk_id, 1 - {distance} from chunk_vector where model = {model} and {condition}
            order by {distance}{" + 0" if is_exact else ""} limit :limit
            """,
            query=_vector_text(query),
            limit=limit,
            **params,
        )
        return sorted(((row[0], float(row[1])) for row in rows), key=lambda item: (-item[1], item[0]))

    def cosines(self, where: Filter, chunk_ids: Sequence[int], *, model: int, query: np.ndarray) -> dict[int, float]:
        dim = len(query)
        rows = self.all(
            f"""
            select chunk_id, 1 - (v::halfvec({dim}) <=> (:query::text)::halfvec({dim})) from chunk_vector
            where model = {int(model)} and library_id in :libraries
                and chunk_id = any((:chunk_ids::text)::bigint[])
            """,
            query=_vector_text(query),
            libraries=list(where.library_ids),
            chunk_ids=_array(chunk_ids),
        )
        return {row[0]: float(row[1]) for row in rows}

    def bytes_used(self) -> int:
        size: int = self.value("select pg_database_size(current_database())")
        return size


@lru_cache(maxsize=512)
def _driver_text(sql: str) -> str:
    """Our ``:name`` parameters in psycopg's form."""
    return _PARAMETER.sub(r"%(\1)s", sql.replace("%", "%%"))


def _array(values: Sequence[int]) -> str:
    """An array literal: one parameter, however many values."""
    return "{" + ",".join(str(int(v)) for v in values) + "}"


@contextmanager
def _translated(store: PostgresStore) -> Generator[None]:
    """Rename the driver's errors; ours pass through."""
    try:
        yield
    except EngramError:
        raise
    except (PoolTimeout, errors.LockNotAvailable, errors.QueryCanceled, errors.DeadlockDetected) as error:
        raise busy(store.describe()) from error
    except errors.UniqueViolation as error:
        raise Conflict(
            f"another call changed the same thing at the same moment ({error.diag.constraint_name})",
            hint="Look at it again and repeat the call",
        ) from error
    except (
        psycopg.OperationalError,
        errors.InsufficientPrivilege,
        errors.UndefinedFile,
        errors.ReadOnlySqlTransaction,
    ) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise Unavailable(
            f"{store.describe()} does not answer: {reason}",
            hint="Check ENGRAM_DATABASE_URL and the server; nothing was saved",
            retry_after=5.0,
        ) from error


def _lexeme(term: str) -> str:
    return "'" + term.replace("\\", "\\\\").replace("'", "''") + "'"


def _term(term: QueryTerm) -> str:
    words = [_lexeme(variant) for variant in term.variants]
    if term.is_prefix:
        words.append(_lexeme(term.text) + ":*")
    return " | ".join(words)


def _scope_term(part: str) -> str:
    """A scope term as a lexeme that no word can be: words hold no white space, and both share one index."""
    return f" {part}"


def _scope(where: Filter) -> str:
    places, groups = scope_terms(where)
    text = " | ".join("(" + " & ".join(_lexeme(_scope_term(part)) for part in place) + ")" for place in places)
    either = [f" & ({' | '.join(_lexeme(_scope_term(part)) for part in types)})" for types in groups]
    return f"({text}){''.join(either)}"


def _vector_scope(where: Filter) -> tuple[str, dict[str, Any]]:
    parts: list[str] = []
    params: dict[str, Any] = {}
    for i, place in enumerate(where.places):
        params |= {f"l{i}": place.library_id, f"s{i}": place.place}
        part = f"library_id = :l{i} and place = :s{i}"
        if place.namespace_id:
            params[f"n{i}"] = place.namespace_id
            part += f" and namespace_id = :n{i}"
        parts.append(f"({part})")
    condition = f"({' or '.join(parts)})"
    if where.types:
        params["types"] = list(where.types)
        condition += " and (kind in :types or memory_type in :types)"
    if where.memory_types:
        params["memory_types"] = list(where.memory_types)
        condition += " and memory_type in :memory_types"
    return condition, params


def _vector_text(vector: np.ndarray) -> str:
    return "[" + ",".join(f"{x:.6g}" for x in vector.tolist()) + "]"
