import msgspec
import pytest

from doorman.api.kinds import type_table
from doorman.api.views.pods import Pod
from doorman.base.json_types import Document
from doorman.registry.cache.stored_object import Stored, Unreadable
from doorman.registry.fastpath.object_bytes import MetadataBytes, object_bytes_of
from doorman.store.store_contract import Entry
from support.stored_pods import FULL, stored


@pytest.mark.parametrize(
    "doc",
    [
        pytest.param(FULL, id="everything"),
        pytest.param({"metadata": {"name": "a", "resourceVersion": "7"}}, id="bare"),
        pytest.param({"metadata": {"name": "a", "labels": {}, "resourceVersion": "7"}, "spec": {}}, id="empty-members"),
    ],
)
def test_cut_that_is_not_changed_is_the_same_object(doc: Document) -> None:
    kept = object_bytes_of(stored(doc)).kept()
    assert Stored(Entry("pods/x/a", kept, 7, 7), "x/a", msgspec.json.Decoder(Pod).decode).document() == doc


def test_metadata_has_every_member_there_is() -> None:
    known = {field.encode_name for field in msgspec.structs.fields(MetadataBytes)}
    assert known == set(type_table()["meta.v1.ObjectMeta"]["fields"])


def test_object_that_has_more_is_not_cut() -> None:
    with pytest.raises(Unreadable):
        object_bytes_of(stored({"metadata": {"name": "a"}, "data": {}}))
