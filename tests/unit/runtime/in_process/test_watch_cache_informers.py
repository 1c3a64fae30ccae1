"""What an informer tells of when several changes have gathered."""

import msgspec
import pytest

from doorman.api.views.meta import Object
from doorman.registry.cache.stored_object import Stored
from doorman.registry.cache.streams import EventType, StreamEvent
from doorman.runtime.in_process.watch_cache_informers import newest_of
from doorman.store.store_contract import Entry

decode = msgspec.json.Decoder(Object).decode


def event(word: str) -> StreamEvent:
    """`+a1`: a appears at revision 1; `~` it is changed, `-` it goes."""
    type_ = {"+": EventType.ADDED, "~": EventType.MODIFIED, "-": EventType.DELETED}[word[0]]
    return StreamEvent(type_, Stored(Entry("", b"{}", int(word[2:]), 1), word[1], decode))


@pytest.mark.parametrize(
    ("gathered", "told"),
    [
        pytest.param("", "", id="nothing"),
        pytest.param("+a1", "+a1", id="one"),
        pytest.param("~a1 ~a2 ~a3", "~a3", id="changed-thrice"),
        pytest.param("+a1 ~a2", "~a2", id="appeared-and-changed"),
        pytest.param("~a1 ~b2 ~a3 ~c4", "~b2 ~a3 ~c4", id="others-in-between"),
        pytest.param("~a1 ~a2 -a3", "~a2 -a3", id="changed-and-gone"),
        pytest.param("-a1 +a2 ~a3", "-a1 ~a3", id="gone-and-back"),
        pytest.param("~a1 -a2 +a3 -a4", "~a1 -a2 +a3 -a4", id="gone-twice"),
        pytest.param("+a1 +b2 -a3 ~b4 +a5", "+a1 -a3 ~b4 +a5", id="two"),
    ],
)
def test_newest_version_of_each_object_is_told(gathered: str, told: str) -> None:
    events = [event(word) for word in gathered.split()]
    expected = [one for one, word in zip(events, gathered.split(), strict=True) if word in told.split()]
    assert newest_of(events) == expected
