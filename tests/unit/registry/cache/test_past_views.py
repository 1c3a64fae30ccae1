"""Views of past versions are forgotten, the oldest first, of whichever kinds."""

import pytest

from doorman.api.views.meta import Object, view_decoder
from doorman.registry.cache import past_views
from doorman.registry.cache.past_views import PastViews
from doorman.registry.cache.stored_object import Stored
from doorman.store.store_contract import Entry


def stored(number: int, size: int = 0) -> Stored:
    value = b'"name":"%d","annotations":{"a":"%s"}}}' % (number, b"x" * size)
    found = Stored(Entry(f"configmaps/d/{number}", value, number, number), f"d/{number}", view_decoder(Object))
    _ = found.view
    return found


def kept(versions: list[Stored]) -> list[str]:
    return [version.name for version in versions if version._view is not None]


@pytest.mark.parametrize(
    ("many_max", "bytes_max", "size", "expected"),
    [
        pytest.param(3, 10_000, 0, ["2", "3", "4"], id="so-many"),
        pytest.param(100, 2_500, 1000, ["3", "4"], id="so-large"),
        pytest.param(100, 500, 1000, [], id="one-that-is-too-large"),
    ],
)
def test_oldest_are_forgotten(
    many_max: int, bytes_max: int, size: int, expected: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(past_views, "PAST_VIEWS_MAX", many_max)
    monkeypatch.setattr(past_views, "PAST_VIEWS_BYTES_MAX", bytes_max)
    past, versions = PastViews(), [stored(number, size) for number in range(5)]
    for version in versions:
        past.add(version)
    assert kept(versions) == expected
