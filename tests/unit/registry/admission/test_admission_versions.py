"""Which versions a kind has, and what they call it."""

import pytest

from doorman.api.kinds import builtin_kinds
from doorman.registry.admission.admission_versions import EquivalentResourceMapper, versioned_resource_of
from doorman.registry.custom.custom_versions import CustomVersions
from support.api import running_api

KINDS = builtin_kinds()


@pytest.mark.parametrize(
    ("resource", "subresource", "kind", "version"),
    [
        pytest.param("pods", "", "Pod", "v1", id="plain"),
        pytest.param("pods", "status", "Pod", "v1", id="status"),
        pytest.param("pods", "binding", "Binding", "v1", id="binding"),
        pytest.param("pods", "eviction", "Eviction", "policy/v1", id="of-another-group"),
        pytest.param("deployments.apps", "scale", "Scale", "autoscaling/v1", id="scale"),
    ],
)
def test_names_of_a_version(resource: str, subresource: str, kind: str, version: str) -> None:
    named = versioned_resource_of(KINDS.named(resource), subresource)
    assert (named.kind, named.kind_version) == (kind, version)


@pytest.mark.parametrize(
    ("resource", "others"),
    [
        pytest.param("pods", None, id="one-version"),
        pytest.param("horizontalpodautoscalers.autoscaling", ["autoscaling/v1"], id="two-versions"),
        pytest.param("events", ["events.k8s.io/v1"], id="two-groups"),
    ],
)
async def test_other_versions(resource: str, others: list[str] | None) -> None:
    async with running_api() as api:
        registry = api.cluster.registry
        assert isinstance(registry.versions, CustomVersions)
        found = (
            EquivalentResourceMapper(registry.kinds, registry.versions)
            .of(registry.kinds.named(resource), "")
            .equivalents
        )
        assert (found and [named.kind_version for named in found.others]) == others


async def test_versions_are_looked_up_again_when_kinds_change() -> None:
    async with running_api() as api:
        registry = api.cluster.registry
        mapper = EquivalentResourceMapper(registry.kinds, registry.versions)
        autoscalers = registry.kinds.named("horizontalpodautoscalers.autoscaling")
        before = mapper.of(autoscalers, "")
        assert mapper.of(autoscalers, "") is before
        registry.kinds.replace("things.example.com", ())
        assert mapper.of(autoscalers, "") is not before
