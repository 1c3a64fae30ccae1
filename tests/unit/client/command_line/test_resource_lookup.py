"""What people type, found in what the server says it has."""

from typing import Any

import pytest

from doorman.client.command_line.resource_lookup import NoSuchResource, find_resource, resource_of_kind


class Server:
    """Says what it serves, and counts how often it is asked."""

    namespace = "default"

    def __init__(self) -> None:
        self.kinds = ["Pod"]
        self.asked = 0

    def request(self, method: str, path: str, **_: Any) -> Any:
        assert method == "GET"
        if path == "/apis":
            return {"items": []}
        self.asked += 1
        resources = [
            {
                "resource": f"{kind.lower()}s",
                "singularResource": kind.lower(),
                "responseKind": {"kind": kind},
                "scope": "Namespaced",
                "shortNames": [kind.lower()[:2]],
            }
            for kind in self.kinds
        ]
        return {"items": [{"metadata": {"name": ""}, "versions": [{"version": "v1", "resources": resources}]}]}


def test_server_is_asked_once_for_many_objects() -> None:
    server = Server()
    for typed in ("pods", "pod", "po", "Pod"):
        assert find_resource(server, typed).kind == "Pod"
    assert resource_of_kind(server, "v1", "Pod").name == "pods"
    assert server.asked == 1


def test_kind_that_was_defined_meanwhile_is_found() -> None:
    server = Server()
    assert find_resource(server, "pods").kind == "Pod"
    server.kinds.append("Widget")
    assert resource_of_kind(server, "v1", "Widget").name == "widgets"
    assert server.asked == 2


def test_unknown_resource_names_the_nearest() -> None:
    with pytest.raises(NoSuchResource, match='did you mean "pods"'):
        find_resource(Server(), "podz")
    with pytest.raises(NoSuchResource, match='no matches for kind "Gadget"'):
        resource_of_kind(Server(), "v1", "Gadget")
