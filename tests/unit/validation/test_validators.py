"""Every kind has a validator, and no document makes one stumble."""

import random
from typing import Any

import pytest

from doorman.api.kinds import builtin_kinds, type_table
from doorman.api.machinery.decode_errors import DecodeError
from doorman.api.machinery.schema import Schema
from doorman.base.errors import invalid_object
from doorman.validation.context import Context
from doorman.validation.defaults import DEFAULTERS
from doorman.validation.validators import DEFAULT, VALIDATORS, validator_of

SCHEMA = Schema(type_table())
TEXTS = ("", "a", "NoExecute", "Exists", "Gt", "-5", "A b", "x" * 64, "a.b/c", "25%", "RollingUpdate", "é\n", "In")
SCALARS: dict[str, tuple[Any, ...]] = {
    "string": TEXTS,
    "int32": (0, 1, -1, 300),
    "int64": (0, 1, -1, 300),
    "bool": (True, False),
    "quantity": ("0", "-1", "100m", "1Gi", "5"),
    "time": ("2026-01-01T00:00:00Z",),
    "microtime": ("2026-01-01T00:00:00.000000Z",),
    "intstr": (0, -1, "25%", "x", "101%"),
}


def test_every_row_is_a_kind_that_is_served() -> None:
    assert set(VALIDATORS) <= {kind.storage for kind in builtin_kinds().rows}


def test_other_kinds_have_their_metadata_checked() -> None:
    assert validator_of("widgets.example.com") is DEFAULT
    assert [error.field for error in DEFAULT.create({"metadata": {}}, Context())] == ["metadata.name"]


def _value(kind: Any, stream: random.Random, depth: int) -> Any:
    """Anything of a type of the table: well formed, rarely sensible."""
    kind = kind["t"] if isinstance(kind, dict) else kind
    if isinstance(kind, list):
        count = stream.choice((0, 1, 2)) if depth < 8 else 0
        if kind[0] == "list":
            return [_value(kind[1], stream, depth + 1) for _ in range(count)]
        return {stream.choice(TEXTS[1:]): _value(kind[-1], stream, depth + 1) for _ in range(count)}
    if kind.startswith("@"):
        return _struct(kind[1:], stream, depth + 1)
    return stream.choice(SCALARS[kind]) if kind in SCALARS else {}


def _struct(name: str, stream: random.Random, depth: int) -> dict[str, Any]:
    fields = type_table().get(name, {}).get("fields", {}) if depth < 10 else {}
    return {field: _value(kind, stream, depth) for field, kind in fields.items() if stream.random() < 0.33}


@pytest.mark.parametrize("storage", sorted(VALIDATORS))
def test_no_well_formed_document_makes_a_validator_stumble(storage: str) -> None:
    kind = builtin_kinds().named(storage)
    stream = random.Random(storage)
    for _ in range(25):
        docs = []
        for _ in range(2):
            try:
                doc, _ = SCHEMA.clean(_struct(kind.type_name, stream, 0), kind.type_name)
            except DecodeError:
                continue
            doc.setdefault("metadata", {}).setdefault("name", "x")
            if storage in DEFAULTERS:
                DEFAULTERS[storage](doc)
            docs.append(doc)
        if len(docs) < 2:
            continue
        validator = validator_of(storage)
        errors = validator.create(docs[0], Context(comparison_operators=False))
        for subresource in ("", "status"):
            errors.extend(validator.update(docs[0], docs[1], Context(subresource=subresource)))
        if errors:
            assert invalid_object(kind.kind, kind.group, "x", errors).status()["code"] == 422
