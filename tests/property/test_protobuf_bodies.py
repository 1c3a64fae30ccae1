"""Law: a document of any kind is the same object whether a client sends it as JSON or as protobuf."""

from typing import Any

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from doorman.api.kinds import Kind, builtin_kinds, type_table
from doorman.api.machinery.schema import Schema
from doorman.server.codec.protobuf import decode_protobuf
from doorman.server.codec.request_bodies import read_json
from support.protobuf_bodies import is_known, to_protobuf
from support.shapes import Shapes, by_seed

SCHEMA = Schema(type_table())
DOORMANS_OWN = "doorman.dev"
"""Kinds that no Go client has a protobuf message for."""
MADE_HERE = "metrics.k8s.io"
"""Only read: nobody sends such an object."""
KINDS = [row for row in builtin_kinds().rows if row.type_name and row.group not in (DOORMANS_OWN, MADE_HERE)]


def check(kind: Kind, seed: object) -> None:
    doc = {**Shapes(by_seed(seed), SCHEMA).document(kind, "a", "n" if kind.namespaced else "")}
    doc |= {"apiVersion": kind.group_version, "kind": kind.kind}
    for template in (doc.get("spec") or {}).get("volumeClaimTemplates") or ():
        for field in ("apiVersion", "kind"):  # no message has them: of the whole they stand in its envelope
            template.pop(field, None)
    as_json, _ = SCHEMA.clean(read_json(msgspec.json.encode(doc)).value, kind.type_name)
    sent = decode_protobuf(to_protobuf(doc, kind.group_version, kind.kind))
    as_protobuf, unknown = SCHEMA.clean(sent, kind.type_name)
    assert unknown == []
    for one in (as_json, as_protobuf):
        SCHEMA.complete(one, kind.type_name)  # null stands for an empty list, which protobuf does not tell from none
    assert _without_empty_lists(as_protobuf) == _without_empty_lists(as_json)


def _without_empty_lists(value: Any) -> Any:  # JSON
    """JSON tells an empty list from none, and a few kinds listen; protobuf cannot."""
    if isinstance(value, dict):
        return {name: _without_empty_lists(member) for name, member in value.items() if member not in ([], None)}
    return [_without_empty_lists(item) for item in value] if isinstance(value, list) else value


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: f"{kind.group_version}/{kind.kind}")
def test_every_kind_has_a_message(kind: Kind) -> None:
    assert is_known(kind.group_version, kind.kind)
    for seed in range(3):
        check(kind, (kind.kind, kind.version, seed))


@example(kind=next(kind for kind in KINDS if kind.kind == "StatefulSet" and kind.version == "v1"), seed=96)
@given(kind=st.sampled_from(KINDS), seed=st.integers(0, 2**32))
def test_json_and_protobuf_are_the_same_object(kind: Kind, seed: int) -> None:
    check(kind, seed)
