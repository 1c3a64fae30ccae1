"""AdmissionConfiguration (apiserver.config.k8s.io/v1): what plugins are told by a file.

One plugin takes a configuration of its own: PodTolerationRestriction, with default tolerations and a whitelist for
every namespace that does not say otherwise. It stands in the file itself (`configuration`) or in another one (`path`).
"""

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeVar

import msgspec
import yaml

from doorman.api.meta import View
from doorman.api.taints import Toleration

API_VERSIONS: Final = ("apiserver.config.k8s.io/v1", "apiserver.k8s.io/v1alpha1")
KIND: Final = "AdmissionConfiguration"
RESTRICTION: Final = "PodTolerationRestriction"
RESTRICTION_VERSION: Final = "podtolerationrestriction.admission.k8s.io/v1alpha1"


_T = TypeVar("_T")


class ConfigurationError(ValueError):
    """The file cannot be used; says why."""


class PluginConfiguration(View, frozen=True, kw_only=True, forbid_unknown_fields=True):
    name: str
    path: str = ""
    configuration: dict[str, Any] | None = None


class _File(View, frozen=True, kw_only=True, forbid_unknown_fields=True):
    api_version: str
    kind: str
    plugins: tuple[PluginConfiguration, ...] = ()


class Restriction(View, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """PodTolerationRestriction's own."""

    api_version: str = RESTRICTION_VERSION
    kind: str = "Configuration"
    default: tuple[Toleration, ...] = ()
    whitelist: tuple[Toleration, ...] = ()


def read_configuration(text: str, read: Callable[[str], str]) -> Restriction:
    """`read` gives the text of a file that the configuration names. Raises ConfigurationError, and what that raises."""
    found = _converted(_loaded(text), _File, KIND)
    if found.kind != KIND or found.api_version not in API_VERSIONS:
        raise ConfigurationError(f"no {KIND} of {API_VERSIONS[0]}, but {found.kind} of {found.api_version}")
    restriction = Restriction()
    seen: set[str] = set()
    for plugin in found.plugins:
        if plugin.name in seen:
            raise ConfigurationError(f"{plugin.name} is configured twice")
        seen.add(plugin.name)
        if plugin.configuration is not None and plugin.path:
            raise ConfigurationError(f"{plugin.name}: path and configuration exclude each other")
        own = _loaded(read(plugin.path)) if plugin.path else plugin.configuration
        if own is None:
            continue
        if plugin.name != RESTRICTION:
            raise ConfigurationError(f"{plugin.name} takes no configuration; {RESTRICTION} does")
        restriction = _converted(own, Restriction, plugin.name)
        if restriction.api_version != RESTRICTION_VERSION or restriction.kind != "Configuration":
            raise ConfigurationError(f"{plugin.name}: no Configuration of {RESTRICTION_VERSION}")
    return restriction


def _loaded(text: str) -> Any:  # YAML
    try:
        return yaml.safe_load(text)
    except (yaml.YAMLError, RecursionError) as error:
        raise ConfigurationError(f"no YAML: {error}") from error


def _converted(found: Any, wanted: type[_T], name: str) -> _T:  # YAML
    try:
        return msgspec.convert(found if isinstance(found, Mapping) else {}, wanted)
    except msgspec.ValidationError as error:
        raise ConfigurationError(f"{name}: {error}") from error
