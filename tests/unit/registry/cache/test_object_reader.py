"""Published objects for readers, the newest for writers."""

import pytest

from doorman.base.errors import ApiError
from doorman.registry.cache.object_reader import object_key
from support.api import running_api


async def test_published_object_is_shared() -> None:
    async with running_api() as api:
        reader, kind = api.cluster.registry.reader, api.cluster.kinds.named("configmaps")
        await api.given("configmaps", {"metadata": {"name": "a"}, "data": {"k": "v"}}, namespace="default")
        stored = reader.get(kind, "default", "a")
        assert reader.newest_stored(kind, "default", "a") is stored
        document = reader.newest(kind, "default", "a")
        assert document is not None
        assert document["data"] == {"k": "v"}


async def test_what_is_not_there() -> None:
    async with running_api() as api:
        reader, kind = api.cluster.registry.reader, api.cluster.kinds.named("configmaps")
        assert reader.newest(kind, "default", "a") is None
        with pytest.raises(ApiError) as refused:
            reader.get(kind, "default", "a")
        assert (refused.value.code, refused.value.message) == (404, 'configmaps "a" not found')


async def test_keys_have_a_namespace_where_the_kind_has_one() -> None:
    async with running_api() as api:
        kinds = api.cluster.kinds
        assert object_key(kinds.named("configmaps"), "ns", "a") == "ns/a"
        assert object_key(kinds.named("nodes"), "", "a") == "a"
