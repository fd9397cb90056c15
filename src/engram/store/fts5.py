"""What FTS5 is asked: any or all of some terms, within a filter.

BM25 counts the rows of each phrase of a query anew, and a query walks each phrase's rows. A scope term that nearly
every row has costs more than the words themselves, so a filter is said by the fewest rows: what most have is left
out, or said as what must not be there.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from engram.store.base import PLACES, scope_terms

if TYPE_CHECKING:
    from engram.model import QueryTerm
    from engram.store.base import Filter, Place


def matching(where: Filter, words: str, library_ids: Collection[str]) -> str:
    """The query for words within a filter.

    Args:
        where: The filter; has a place at least.
        words: An expression of ``term``s.
        library_ids: All libraries of the database.
    """
    outside = _outside(where, library_ids)
    parts = [] if outside is not None else [f"{{scope}}: ({_inside(where, library_ids)})"]
    parts += [f"{{scope}}: ({' OR '.join(map(quoted, types))})" for types in scope_terms(where)[1]]
    query = " AND ".join([*parts, f"{{title body keys}}: ({words})"])
    return f"({query}) NOT {{scope}}: ({' OR '.join(outside)})" if outside else query


def in_libraries(wanted: Collection[str], words: str, library_ids: Collection[str]) -> str:
    """The query for words in whole libraries."""
    said = f"{{title body keys}}: ({words})"
    if set(library_ids) <= set(wanted):
        return said
    return f"{{scope}}: ({' OR '.join(quoted(f'l:{library_id}') for library_id in wanted)}) AND {said}"


def term(asked: QueryTerm) -> str:
    """Any variant of a term."""
    words = [quoted(variant) for variant in asked.variants]
    if asked.is_prefix:
        words.append(quoted(asked.text) + "*")
    return " OR ".join(words)


def quoted(text: str) -> str:
    """A word as FTS5 reads it, whatever is in it."""
    return '"' + text.replace('"', '""') + '"'


def _outside(where: Filter, library_ids: Collection[str]) -> list[str] | None:
    """What a filter over all libraries leaves out, as expressions; None where it leaves out projects or libraries."""
    covered = {library_id: set[str]() for library_id in library_ids}
    for place in where.places:
        if place.namespace_id:
            return None
        covered.setdefault(place.library_id, set()).add(place.place)
    if not all(PLACES[0] in places for places in covered.values()):
        return None
    missing = {name: [library_id for library_id, places in covered.items() if name not in places] for name in PLACES}
    return [
        expression
        for name, lacking in missing.items()
        for expression in (
            [quoted(f"s:{name}")]
            if len(lacking) == len(covered)
            else [f"({quoted(f'l:{library_id}')} AND {quoted(f's:{name}')})" for library_id in lacking]
        )
    ]


def _inside(where: Filter, library_ids: Collection[str]) -> str:
    return " OR ".join(f"({_place(place, is_alone=set(library_ids) <= {place.library_id})})" for place in where.places)


def _place(place: Place, *, is_alone: bool) -> str:
    """The rows of a place; of those in projects, which most are, by what they are not."""
    said = quoted(f"s:{place.place}")
    if place.namespace_id and place.place == PLACES[0]:
        others = " OR ".join(quoted(f"s:{name}") for name in PLACES[1:])
        return f"{quoted(f'n:{place.namespace_id}')} NOT ({others})"
    if place.namespace_id:
        return f"{quoted(f'n:{place.namespace_id}')} AND {said}"
    return said if is_alone else f"{quoted(f'l:{place.library_id}')} AND {said}"
