"""PodSecurity: the labels by which a namespace names a security level are accepted when they make sense.

Pods are not held to a level: nothing here runs containers.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from doorman.admission.plugin_contract import CREATE_AND_UPDATE, Attributes, ClusterReader, Interest, requested_name
from doorman.base.clock import Instant
from doorman.base.errors import FieldError, invalid, invalid_object

INTERESTS: Final = (Interest(resource="namespaces", operations=CREATE_AND_UPDATE),)

PREFIX: Final = "pod-security.kubernetes.io/"
_MODES: Final = ("enforce", "audit", "warn")
_LEVELS: Final = ("privileged", "baseline", "restricted")
_VERSION: Final = re.compile(r"latest|v1\.(0|[1-9][0-9]*)")


def decide_label_errors(labels: Mapping[str, str]) -> list[FieldError]:
    errors: list[FieldError] = []
    for mode in _MODES:
        level, version = labels.get(PREFIX + mode), labels.get(f"{PREFIX}{mode}-version")
        if level is not None and level not in _LEVELS:
            text = f"must be one of {', '.join(_LEVELS)}"
            errors.append(invalid(f"metadata.labels[{PREFIX}{mode}]", level, text))
        if version is not None and _VERSION.fullmatch(version) is None:
            text = 'must be "latest" or "v1.x"'
            errors.append(invalid(f"metadata.labels[{PREFIX}{mode}-version]", version, text))
    return errors


class PodSecurity:
    name = "PodSecurity"
    interests: Sequence[Interest] = INTERESTS

    def validate(self, attributes: Attributes, _cluster: ClusterReader, _now: Instant) -> None:
        errors = decide_label_errors(_labels(attributes.obj))
        # What was wrong before and is wrong in the same way may stay: it must not keep anybody from other changes.
        if errors and errors != decide_label_errors(_labels(attributes.old)):
            raise invalid_object("Namespace", "", requested_name(attributes), errors)


def _labels(namespace: Mapping[str, Any] | None) -> Mapping[str, str]:  # a document
    return ((namespace or {}).get("metadata") or {}).get("labels") or {}
