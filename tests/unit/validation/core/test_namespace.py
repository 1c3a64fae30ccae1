"""Namespaces."""

from typing import Any

from doorman.validation.context import Context
from doorman.validation.core.namespace import validate_namespace_create, validate_namespace_update


def namespace(name: str = "ns", *finalizers: str) -> dict[str, Any]:
    return {"metadata": {"name": name}, "spec": {"finalizers": list(finalizers)}}


def test_namespace_name_is_a_label() -> None:
    assert validate_namespace_create(namespace(), Context()) == []
    assert [error.field for error in validate_namespace_create(namespace("a.b"), Context())] == ["metadata.name"]


def test_finalizers_of_a_namespace_are_kubernetes_or_have_a_domain() -> None:
    assert validate_namespace_create(namespace("ns", "kubernetes", "a.b/c"), Context()) == []
    (error,) = validate_namespace_create(namespace("ns", "mine"), Context())
    assert str(error) == (
        'spec.finalizers: Invalid value: "mine": name is neither a standard finalizer name nor is it fully qualified'
    )
    assert len(validate_namespace_update(namespace("ns", "mine"), namespace(), Context(subresource="finalize"))) == 1
    assert validate_namespace_update(namespace("ns", "mine"), namespace(), Context()) == []
