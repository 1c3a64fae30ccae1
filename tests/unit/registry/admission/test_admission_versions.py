"""Which forms a kind has, and what their names are."""

import pytest

from doorman.api.kinds import builtin_kinds
from doorman.registry.admission.admission_versions import FormsOf, form_of
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
def test_names_of_a_form(resource: str, subresource: str, kind: str, version: str) -> None:
    form = form_of(KINDS.named(resource), subresource)
    assert (form.kind, form.kind_version) == (kind, version)


@pytest.mark.parametrize(
    ("resource", "others"),
    [
        pytest.param("pods", None, id="one-version"),
        pytest.param("horizontalpodautoscalers.autoscaling", ["autoscaling/v1"], id="two-versions"),
        pytest.param("events", ["events.k8s.io/v1"], id="two-groups"),
    ],
)
async def test_other_forms(resource: str, others: list[str] | None) -> None:
    async with running_api() as api:
        registry = api.cluster.registry
        assert isinstance(registry.versions, CustomVersions)
        found = FormsOf(registry.kinds, registry.versions).of(registry.kinds.named(resource), "").forms
        assert (found and [form.kind_version for form in found.others]) == others


async def test_forms_are_looked_up_again_when_kinds_change() -> None:
    async with running_api() as api:
        registry = api.cluster.registry
        forms = FormsOf(registry.kinds, registry.versions)
        autoscalers = registry.kinds.named("horizontalpodautoscalers.autoscaling")
        before = forms.of(autoscalers, "")
        assert forms.of(autoscalers, "") is before
        registry.kinds.replace("things.example.com", ())
        assert forms.of(autoscalers, "") is not before
