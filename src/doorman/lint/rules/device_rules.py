"""Tolerations of devices in claims."""

from collections.abc import Iterator
from typing import Final

from doorman.lint.lint_documents import LintDocument, mapping, sequence
from doorman.lint.lint_rule import LintRule, Problem
from doorman.lint.surroundings import Surroundings
from doorman.lint.yaml_positions import YamlPath

_CLAIMS: Final[dict[str, YamlPath]] = {"ResourceClaim": ("spec",), "ResourceClaimTemplate": ("spec", "spec")}


def check_effect(document: LintDocument, _: Surroundings) -> Iterator[Problem]:
    for path, toleration in device_tolerations(document):
        if not mapping(toleration).get("effect"):
            key = mapping(toleration).get("key") or "every taint"
            yield Problem(path, f"tolerates {key} without an effect: pods that use the device are evicted all the same")


def device_tolerations(document: LintDocument) -> Iterator[tuple[YamlPath, object]]:
    """Of requests as v1beta1 has them, and as later versions do."""
    at = _CLAIMS.get(document.kind)
    if at is None:
        return
    spec: object = document.value
    for step in at:
        spec = mapping(spec).get(str(step))
    devices: YamlPath = (*at, "devices", "requests")
    for number, request in enumerate(sequence(mapping(mapping(spec).get("devices")).get("requests"))):
        own: YamlPath = (*devices, number)
        yield from _listed((*own, "tolerations"), mapping(request).get("tolerations"))
        yield from _listed(
            (*own, "exactly", "tolerations"), mapping(mapping(request).get("exactly")).get("tolerations")
        )
        for choice, sub in enumerate(sequence(mapping(request).get("firstAvailable"))):
            yield from _listed((*own, "firstAvailable", choice, "tolerations"), mapping(sub).get("tolerations"))


def _listed(path: YamlPath, tolerations: object) -> Iterator[tuple[YamlPath, object]]:
    for at, toleration in enumerate(sequence(tolerations)):
        yield (*path, at), toleration


RULES: Final = (
    LintRule(
        id="DM013",
        name="device-toleration-without-effect",
        summary="A device toleration with an empty effect does not protect from eviction.",
        why="For allocation an empty effect means every effect. For eviction only tolerations count that say "
        "NoExecute in so "
        "many words, so the pod gets the device and is evicted when it is tainted with NoExecute.",
        fix="Add a toleration with `effect: NoExecute`, and tolerationSeconds if it may go after a while.",
        check=check_effect,
    ),
)  # fmt: skip
