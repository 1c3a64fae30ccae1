"""A request as a webhook or a policy sees it: in the version its rule names.

An object that is written in one version of its resource is converted for whoever asked for another one
(matchPolicy Equivalent); what a webhook makes of it is converted back. Most resources have one version, or versions
that look the same: nothing is converted then.
"""

import msgspec

from doorman.admission.plugin_contract import Attributes, VersionedResource
from doorman.base.json_types import Document


def versioned_attributes(attributes: Attributes, target: VersionedResource) -> Attributes:
    """The request in that version. Raises `Unconvertible` when it takes a webhook to convert it, and none was asked."""
    equivalents = attributes.equivalents
    if equivalents is None:
        return attributes
    if target in attributes.prepared:
        return attributes.prepared[target]
    obj, old = (
        equivalents.convert_to(doc, target) if doc is not None else None for doc in (attributes.obj, attributes.old)
    )
    return _named(attributes, target, obj, old)


async def versioned_attributes_async(attributes: Attributes, target: VersionedResource) -> Attributes:
    """The same for whoever may wait."""
    equivalents = attributes.equivalents
    if equivalents is None:
        return attributes
    obj = await equivalents.convert_to_async(attributes.obj, target) if attributes.obj is not None else None
    old = await equivalents.convert_to_async(attributes.old, target) if attributes.old is not None else None
    return _named(attributes, target, obj, old)


async def prepare(attributes: Attributes) -> None:
    """Convert the objects, as they are now, for those who cannot wait: where it takes a webhook."""
    equivalents = attributes.equivalents
    if equivalents is not None and equivalents.needs_webhook:
        attributes.prepared = {
            target: await versioned_attributes_async(attributes, target) for target in equivalents.others
        }


def _named(attributes: Attributes, target: VersionedResource, obj: Document | None, old: Document | None) -> Attributes:
    return msgspec.structs.replace(
        attributes,
        group=target.group,
        version=target.version,
        resource=target.resource,
        kind=target.kind,
        kind_version=target.kind_version,
        requested=attributes.versioned_resource,
        obj=obj,
        old=old,
        equivalents=None,
        prepared={},
    )
