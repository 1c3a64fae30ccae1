"""What people type to name objects: `pods`, `pod/web`, `nodes,pods`, `deploy web api`, as kubectl takes it."""

from collections.abc import Sequence
from typing import Final

import msgspec

from doorman.cli.error_output import fail
from doorman.cli.objects.apply import documents
from doorman.client.command_line.api_client import ApiClient
from doorman.client.command_line.resource_lookup import ServedResource, find_resources, resource_of_kind

NOTHING_NAMED: Final = (
    "You must provide one or more resources by argument or filename.\nExample resource specifications include:\n"
    "   '-f rsrc.yaml'\n   '--filename=rsrc.json'\n   '<resource> <name>'\n   '<resource>'"
)


class ObjectArgument(msgspec.Struct, frozen=True):
    """A resource, and the names that were given; none means all of them."""

    resource: ServedResource
    names: tuple[str, ...] = ()
    namespace: str = ""
    """Of these, where it is not the command's."""


def typed_resources(words: Sequence[str]) -> list[tuple[str, tuple[str, ...]]]:
    """Resources as typed, each with its names.

    >>> typed_resources(["nodes,pods"]), typed_resources(["pod", "a", "b"]), typed_resources(["no/a", "po/b", "no/c"])
    ([('nodes', ()), ('pods', ())], [('pod', ('a', 'b'))], [('no', ('a', 'c')), ('po', ('b',))])
    """
    if any("/" in word for word in words):
        named: dict[str, tuple[str, ...]] = {}
        for word in words:
            resource, sign, name = word.partition("/")
            if not sign:
                text = (
                    "there is no need to specify a resource type as a separate argument when passing arguments in "
                    "resource/name form (e.g. 'doorman get resource/<resource_name>' instead of "
                    "'doorman get resource resource/<resource_name>'"
                )
                fail(f"error: {text}\nhint: doorman get {words[0]}/NAME")
            if not resource or not name or "/" in name:
                fail("error: arguments in resource/name form must have a single resource and name")
            named[resource] = (*named.get(resource, ()), name)
        return list(named.items())
    first, names = words[0], tuple(words[1:])
    return [(resource, names) for resource in dict.fromkeys(filter(None, first.split(",")))]


def find_objects(client: ApiClient, words: Sequence[str], *, across_namespaces: bool = False) -> list[ObjectArgument]:
    """Raises NoSuchResource."""
    found = [
        ObjectArgument(resource, names)
        for typed, names in typed_resources(words)
        for resource in find_resources(client, typed)
    ]
    if across_namespaces and any(one.names and one.resource.namespaced for one in found):
        fail("error: a resource cannot be retrieved by name across all namespaces\nhint: -n NAMESPACE instead of -A")
    return found


def file_objects(client: ApiClient, files: Sequence[str], namespace: str) -> list[ObjectArgument]:
    """The objects that files name. Raises NoSuchResource."""
    found = []
    for doc in documents(tuple(files)):
        metadata = doc["metadata"]
        space = metadata.get("namespace", "")
        if namespace and space and space != namespace:
            text = f'the namespace from the provided object "{space}" does not match the namespace "{namespace}"'
            fail(f"error: {text}. You must pass '--namespace={space}' to perform this operation.")
        resource = resource_of_kind(client, doc["apiVersion"], doc["kind"])
        found.append(ObjectArgument(resource, (metadata["name"],), space or namespace or client.namespace))
    return found
