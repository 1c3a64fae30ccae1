"""Which objects a selection admits."""

import msgspec
import pytest

from doorman.api.machinery.field_selectors import FieldTerm
from doorman.api.machinery.label_selectors import parse_selector
from doorman.api.views.meta import Object
from doorman.api.views.pods import Pod
from doorman.registry.cache.selection import Selection
from doorman.registry.cache.stored_object import Stored, to_kept_bytes
from doorman.store.store_contract import Entry

POD = {
    "metadata": {"name": "p", "namespace": "ns", "labels": {"app": "web"}},
    "spec": {"nodeName": "n1"},
    "status": {"phase": "Running"},
}


def stored(doc: dict[str, object], view: type = Pod) -> Stored:
    decoder = msgspec.json.Decoder(view)
    return Stored(Entry("", to_kept_bytes(doc), 1, 0), "ns/p", decoder.decode)


@pytest.mark.parametrize(
    ("selection", "expected"),
    [
        pytest.param(Selection(storage="pods"), True, id="everything"),
        pytest.param(Selection(storage="pods", namespace="ns"), True, id="namespace"),
        pytest.param(Selection(storage="pods", namespace="n"), False, id="the-beginning-of-a-namespace"),
        pytest.param(Selection(storage="pods", labels=parse_selector("app in (web,db)")), True, id="labels"),
        pytest.param(Selection(storage="pods", labels=parse_selector("!app")), False, id="no-such-label"),
        pytest.param(Selection(storage="pods", fields=(FieldTerm("spec.nodeName", "n1", True),)), True, id="node"),
        pytest.param(
            Selection(storage="pods", fields=(FieldTerm("spec.nodeName", "n1", False),)), False, id="not-node"
        ),
        pytest.param(
            Selection(
                storage="pods",
                fields=(FieldTerm("metadata.name", "p", True), FieldTerm("status.phase", "Failed", False)),
            ),
            True,
            id="all-terms-hold",
        ),
        pytest.param(
            Selection(
                storage="pods", fields=(FieldTerm("metadata.name", "p", True), FieldTerm("status.phase", "", True))
            ),
            False,
            id="one-term-does-not",
        ),
    ],
)
def test_admits(selection: Selection, expected: bool) -> None:
    assert selection.admits(stored(POD)) is expected


def test_field_that_is_in_no_view_is_read_from_the_document() -> None:
    event = {"metadata": {"name": "p", "namespace": "ns"}, "involvedObject": {"kind": "Node", "name": "n"}}
    about = Selection(storage="events", fields=(FieldTerm("involvedObject.namespace", "", True),))
    assert about.admits(stored(event, Object))
    assert not Selection(storage="events", fields=(FieldTerm("involvedObject.kind", "Pod", True),)).admits(
        stored(event, Object)
    )


def test_pin_is_the_one_value_a_field_must_have() -> None:
    selection = Selection(storage="pods", fields=(FieldTerm("metadata.name", "p", True), FieldTerm("a", "b", False)))
    assert (selection.pin("metadata.name"), selection.pin("a"), selection.pin("c")) == ("p", None, None)
    assert not selection.is_everything


def test_superset_keeps_what_an_index_answers() -> None:
    by_node = FieldTerm("spec.nodeName", "n", True)
    fields = (by_node, FieldTerm("metadata.name", "p", False), FieldTerm("status.phase", "Failed", True))
    selection = Selection(storage="pods", namespace="ns", labels=parse_selector("!app"), fields=fields)
    assert selection.superset == Selection(storage="pods", namespace="ns", fields=(by_node,))
