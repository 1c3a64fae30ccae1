"""AdmissionConfiguration files."""

import pytest

from doorman.admission.admission_configuration import ConfigurationError, Restriction, read_configuration
from doorman.api.taints import Toleration

HEAD = "apiVersion: apiserver.config.k8s.io/v1\nkind: AdmissionConfiguration\nplugins:\n"
OWN = """apiVersion: podtolerationrestriction.admission.k8s.io/v1alpha1
kind: Configuration
default: [{key: team, operator: Exists, effect: NoSchedule}]
whitelist: [{operator: Exists}]
"""
WANTED = Restriction(
    default=(Toleration(key="team", operator="Exists", effect="NoSchedule"),),
    whitelist=(Toleration(operator="Exists"),),
)


def read(path: str) -> str:
    return {"own.yaml": OWN}[path]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(HEAD + "- {name: PodTolerationRestriction, path: own.yaml}", WANTED, id="by-path"),
        pytest.param(
            HEAD + "- name: PodTolerationRestriction\n  configuration:\n    " + OWN.replace("\n", "\n    "),
            WANTED,
            id="inline",
        ),
        pytest.param(HEAD + "- {name: ResourceQuota}", Restriction(), id="nothing-for-a-plugin"),
        pytest.param(HEAD + "  []", Restriction(), id="nothing"),
    ],
)
def test_read_configuration(text: str, expected: Restriction) -> None:
    assert read_configuration(text, read).restriction == expected


@pytest.mark.parametrize(
    "head",
    [
        "apiVersion: apiserver.config.k8s.io/v1, kind: ResourceQuotaConfiguration",
        "apiVersion: resourcequota.admission.k8s.io/v1beta1, kind: Configuration",
    ],
)
def test_what_is_limited_by_default(head: str) -> None:
    scope = "{scopeName: PriorityClass, operator: In, values: [vip]}"
    own = f"{{{head}, limitedResources: [{{resource: pods, matchContains: [gpu], matchScopes: [{scope}]}}]}}"
    found = read_configuration(f"{HEAD}- {{name: ResourceQuota, configuration: {own}}}", read)
    (limited,) = found.limits.limited_resources
    assert (limited.api_group, limited.resource, limited.match_contains) == ("", "pods", ("gpu",))
    assert limited.match_scopes == ({"scopeName": "PriorityClass", "operator": "In", "values": ["vip"]},)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        pytest.param("kind: Other\napiVersion: v1", "no AdmissionConfiguration", id="other-kind"),
        pytest.param("[1]", "missing required field", id="no-object"),
        pytest.param("a: [", "no YAML", id="no-yaml"),
        pytest.param(
            HEAD + "- {name: EventRateLimit, configuration: {a: 1}}", "takes no configuration", id="other-plugin"
        ),
        pytest.param(
            HEAD + "- {name: ResourceQuota, configuration: {limitedResources: [{resource: ''}]}}",
            r"limitedResources\[0\].resource: Required value",
            id="quota-for-nothing",
        ),
        pytest.param(
            HEAD + "- {name: ResourceQuota, configuration: {limitedResources: [{resource: pods, matchScopes: [{}]}]}}",
            "scopeName and operator are needed",
            id="no-scope",
        ),
        pytest.param(
            HEAD + "- {name: ResourceQuota, configuration: {kind: Configuration}}",
            "no ResourceQuotaConfiguration of",
            id="quota-kind",
        ),
        pytest.param(HEAD + "- {name: X, path: a, configuration: {}}", "exclude each other", id="both"),
        pytest.param(HEAD + "- {name: X}\n- {name: X}", "configured twice", id="twice"),
        pytest.param(HEAD + "- {name: X, nope: 1}", "unknown field `nope`", id="unknown-field"),
        pytest.param(
            HEAD + "- {name: PodTolerationRestriction, configuration: {apiVersion: v2}}",
            "no Configuration of",
            id="version",
        ),
        pytest.param(
            HEAD + "- {name: PodTolerationRestriction, configuration: {default: 1}}", "Expected `array`", id="no-list"
        ),
    ],
)
def test_bad_configuration(text: str, why: str) -> None:
    with pytest.raises(ConfigurationError, match=why):
        read_configuration(text, read)
