"""Schemas of JSON answers, in few words: ``shape(id=TEXT, tags=many(TEXT), optional={"note": TEXT})``."""

from __future__ import annotations

from typing import Any

Schema = dict[str, Any]

TEXT: Schema = {"type": "string"}
WHOLE: Schema = {"type": "integer"}
NUMBER: Schema = {"type": "number"}
SCORE: Schema = {"type": "number", "minimum": 0, "maximum": 1}
FLAG: Schema = {"type": "boolean"}
COUNTS: Schema = {"type": "object", "additionalProperties": {"type": "integer"}}  # name -> how many


def many(entry: Schema) -> Schema:
    """A list."""
    return {"type": "array", "items": entry}


def one_of(*words: str) -> Schema:
    """One of a few words."""
    return {"type": "string", "enum": list(words)}


def shape(*, optional: dict[str, Schema] | None = None, **required: Schema) -> Schema:
    """An object: fields that are always there, and those that are left out where they have no value."""
    return {
        "type": "object",
        "properties": {**required, **(optional or {})},
        "required": list(required),
        "additionalProperties": False,
    }


def answer(*, optional: dict[str, Schema] | None = None, **required: Schema) -> Schema:
    """The whole answer of a tool: an object that may have warnings."""
    return shape(optional={**(optional or {}), "warnings": many(TEXT)}, **required)
