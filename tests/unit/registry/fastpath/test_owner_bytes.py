"""What becomes of field owners; that it is the same on the long way is a law in tests/property."""

import msgspec
import pytest
from msgspec import Raw

from doorman.api.patch.managed_fields import UPDATE_ENTRIES_MAX, Manager
from doorman.registry.fastpath.owner_bytes import APPLY, UPDATE, OwnedChange, mention_of, owners_after

ME = Manager(name="me", operation=UPDATE, api_version="v1", subresource="status")
APPLYING = Manager(name="me", operation=APPLY, api_version="v1", subresource="status")
PHASE = OwnedChange(b'{"f:status":{"f:phase":{}}}', None, [mention_of("phase")])
NOON = "2026-01-01T12:00:00Z"


def _entry(manager: str, fields: object, operation: str = UPDATE, version: str = "v1") -> dict[str, object]:
    return {
        "manager": manager, "operation": operation, "apiVersion": version, "time": "2026-01-01T00:00:00Z",
        "fieldsType": "FieldsV1", "fieldsV1": fields, "subresource": "status",
    }  # fmt: skip


def _after(entries: list[dict[str, object]], manager: Manager = ME) -> dict[str, object] | None:
    found = owners_after(Raw(msgspec.json.encode(entries)), PHASE, manager, NOON)
    if found is None:
        return None
    return {entry["manager"]: (entry["time"], entry["fieldsV1"]) for entry in msgspec.json.decode(found)}


def test_first_write_makes_an_entry() -> None:
    assert _after([]) == {"me": (NOON, {"f:status": {"f:phase": {}}})}


def test_own_entry_grows_and_is_dated() -> None:
    after = _after([_entry("me", {"f:status": {"f:reason": {}}})])
    assert after == {"me": (NOON, {"f:status": {"f:phase": {}, "f:reason": {}}})}


def test_field_is_taken_from_whoever_had_it() -> None:
    after = _after([_entry("a", {"f:status": {"f:phase": {}}}), _entry("b", {"f:status": {"f:reason": {}}})])
    assert after is not None
    assert after.keys() == {"me", "b"}


@pytest.mark.parametrize(
    ("entries", "manager"),
    [
        pytest.param([_entry("a", {"f:status": {"f:phase": {}}}, version="v2")], ME, id="owned-in-another-version"),
        pytest.param([_entry("me", {}, operation=APPLY)], APPLYING, id="applied-before"),
        pytest.param([_entry(str(at), {}) for at in range(UPDATE_ENTRIES_MAX)], ME, id="too-many-entries"),
    ],
)
def test_what_takes_the_long_way(entries: list[dict[str, object]], manager: Manager) -> None:
    assert _after(entries, manager=manager) is None


def test_applied_entries_come_first() -> None:
    after = _after([_entry("a", {"f:status": {"f:reason": {}}})], APPLYING)
    assert after is not None
    assert list(after) == ["me", "a"]
