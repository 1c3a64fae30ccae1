"""NamespaceLifecycle."""

from typing import Any

import pytest

from doorman.admission.plugin_contract import Operation
from doorman.admission.plugins.namespace_lifecycle import NamespaceLifecycle
from doorman.base.errors import ApiError

POD = {"metadata": {"name": "p"}}


def test_namespace_must_exist(world: Any, asked: Any) -> None:
    with pytest.raises(ApiError) as refused:
        NamespaceLifecycle().admit(asked(POD), world(), 0.0)
    assert (refused.value.code, refused.value.message) == (404, 'namespaces "ns" not found')


def test_terminating_namespace_takes_nothing_new(world: Any, asked: Any) -> None:
    going = {"metadata": {"name": "ns"}, "status": {"phase": "Terminating"}}
    with pytest.raises(ApiError) as refused:
        NamespaceLifecycle().admit(asked(POD), world(namespaces=[going]), 0.0)
    assert refused.value.message == (
        'pods "p" is forbidden: unable to create new content in namespace ns because it is being terminated'
    )
    (cause,) = refused.value.causes
    assert (cause.reason, cause.message, cause.field) == (
        "NamespaceTerminating",
        "namespace ns is being terminated",
        "metadata.namespace",
    )


def test_active_namespace_and_cluster_objects_pass(world: Any, asked: Any) -> None:
    active = {"metadata": {"name": "ns"}, "status": {"phase": "Active"}}
    NamespaceLifecycle().admit(asked(POD), world(namespaces=[active]), 0.0)
    NamespaceLifecycle().admit(asked({"metadata": {"name": "n"}}, "nodes", namespace=""), world(), 0.0)
    NamespaceLifecycle().admit(asked({"metadata": {"name": "ns"}}, "namespaces", namespace="ns"), world(), 0.0)


@pytest.mark.parametrize("name", ["default", "kube-system", "kube-public"])
def test_three_namespaces_never_go(name: str, world: Any, asked: Any) -> None:
    attributes = asked(None, "namespaces", operation=Operation.DELETE, name=name, namespace="")
    with pytest.raises(ApiError, match="this namespace may not be deleted"):
        NamespaceLifecycle().admit(attributes, world(), 0.0)


def test_other_namespaces_may_go(world: Any, asked: Any) -> None:
    attributes = asked(None, "namespaces", operation=Operation.DELETE, name="mine", namespace="")
    NamespaceLifecycle().admit(attributes, world(), 0.0)
