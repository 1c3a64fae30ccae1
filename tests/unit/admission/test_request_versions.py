"""A request in the version that somebody asked for."""

from typing import Any

import msgspec
import pytest

from doorman.admission.plugin_contract import Attributes, Unconvertible, VersionedResource
from doorman.admission.request_versions import prepare, versioned_attributes, versioned_attributes_async

NEW, OLD = {"metadata": {"name": "p"}, "n": 1}, {"metadata": {"name": "p"}, "n": 0}


class Marked:
    """Every object says in which version it is shown."""

    others: tuple[VersionedResource, ...] = ()
    needs_webhook = True

    def convert_to(self, doc: dict[str, Any], target: VersionedResource) -> dict[str, Any]:
        if target.version == "v3":
            raise Unconvertible("not at once")
        return {**doc, "shown": target.version}

    def convert_from(self, doc: dict[str, Any], target: VersionedResource) -> dict[str, Any]:
        raise AssertionError(f"nothing is taken from {target.version}: {doc}")

    async def convert_to_async(self, doc: dict[str, Any], target: VersionedResource) -> dict[str, Any]:
        return {**doc, "shown": f"{target.version}, later"}

    async def convert_from_async(self, doc: dict[str, Any], target: VersionedResource) -> dict[str, Any]:
        return self.convert_from(doc, target)


def in_version(attributes: Attributes, version: str) -> VersionedResource:
    return msgspec.structs.replace(attributes.versioned_resource, version=version, kind_version=version)


def test_without_other_versions_the_request_is_shown_as_it_is(asked: Any) -> None:
    attributes = asked(NEW)
    assert versioned_attributes(attributes, attributes.versioned_resource) is attributes


async def test_objects_are_converted_and_the_request_says_what_was_asked_for(asked: Any) -> None:
    attributes = asked(NEW, old=OLD)
    attributes.equivalents = Marked()
    target = in_version(attributes, "v2")
    seen = versioned_attributes(attributes, target)
    assert (seen.obj, seen.old) == ({**NEW, "shown": "v2"}, {**OLD, "shown": "v2"})
    assert (seen.versioned_resource, seen.requested) == (target, attributes.versioned_resource)
    assert attributes.obj == NEW
    later = await versioned_attributes_async(attributes, target)
    assert later.obj == {**NEW, "shown": "v2, later"}


async def test_what_was_prepared_is_there_for_who_cannot_wait(asked: Any) -> None:
    attributes = asked(NEW)
    attributes.equivalents = equivalents = Marked()
    target = in_version(attributes, "v3")
    equivalents.others = (target,)
    await prepare(attributes)
    assert versioned_attributes(attributes, target).obj == {**NEW, "shown": "v3, later"}


def test_who_cannot_wait_is_told(asked: Any) -> None:
    attributes = asked(NEW)
    attributes.equivalents = Marked()
    with pytest.raises(Unconvertible):
        versioned_attributes(attributes, in_version(attributes, "v3"))
