"""Rows of kinds: how they are found, in which order, and how they change while the server runs."""

import msgspec

from doorman.api.kinds import Kind, Kinds, builtin_kinds


def row(version: str, *, group: str = "example.com", resource: str = "widgets") -> Kind:
    return Kind(
        group=group, version=version, resource=resource, singular="", kind="Widget", namespaced=True, storage=resource
    )


def test_preferred_version_comes_first() -> None:
    kinds = Kinds(())
    kinds.replace("widgets.example.com", [row("v1beta1"), row("v2"), row("v1")])
    assert kinds.group_versions()["example.com"] == ["v2", "v1", "v1beta1"]
    assert kinds.named("widgets.example.com").version == "v2"


def test_replace_leaves_others_alone() -> None:
    kinds = Kinds(builtin_kinds().rows)
    before = kinds.edition
    kinds.replace("widgets.example.com", [row("v1")])
    assert kinds.at("example.com", "v1", "widgets") == row("v1")
    assert kinds.of_kind("example.com", "v1", "Widget") == row("v1")
    assert kinds.find("pods") == builtin_kinds().named("pods")
    kinds.replace("widgets.example.com", ())
    assert kinds.find("widgets.example.com") is None
    assert kinds.edition == before + 2
    assert msgspec.to_builtins(kinds.rows) == msgspec.to_builtins(builtin_kinds().rows)


def test_paths_and_names() -> None:
    pods, daemons = builtin_kinds().named("pods"), builtin_kinds().named("daemonsets.apps")
    assert (pods.group_version, pods.path, pods.group_resource) == ("v1", "/api/v1", "pods")
    assert (daemons.group_version, daemons.path) == ("apps/v1", "/apis/apps/v1")
    assert daemons.subresource("status") is not None
    assert daemons.subresource("nope") is None
