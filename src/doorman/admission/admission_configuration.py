"""AdmissionConfiguration (apiserver.config.k8s.io/v1): what plugins are told by a file.

Two plugins take a configuration of their own: PodTolerationRestriction, with default tolerations and a whitelist for
every namespace that does not say otherwise, and ResourceQuota, with what nobody may take without a quota for it. It
stands in the file itself (`configuration`) or in another one (`path`).
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeVar

import msgspec
import yaml

from doorman.api.taints import Toleration
from doorman.api.views.meta import View, to_view

API_VERSIONS: Final = ("apiserver.config.k8s.io/v1", "apiserver.k8s.io/v1alpha1")
KIND: Final = "AdmissionConfiguration"
RESTRICTION: Final = "PodTolerationRestriction"
RESTRICTION_VERSION: Final = "podtolerationrestriction.admission.k8s.io/v1alpha1"
QUOTA: Final = "ResourceQuota"
QUOTA_VERSIONS: Final = {
    "apiserver.config.k8s.io/v1": "ResourceQuotaConfiguration",
    "resourcequota.admission.k8s.io/v1": "Configuration",
    "resourcequota.admission.k8s.io/v1beta1": "Configuration",
    "resourcequota.admission.k8s.io/v1alpha1": "Configuration",
}

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


class LimitedResource(View, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What takes a quota that covers it: by part of the name it counts under, or by scope."""

    api_group: str = ""
    resource: str
    match_contains: tuple[str, ...] = ()
    match_scopes: tuple[dict[str, Any], ...] = ()  # ScopedResourceSelectorRequirements


class QuotaLimits(View, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """ResourceQuota's own."""

    api_version: str = "apiserver.config.k8s.io/v1"
    kind: str = "ResourceQuotaConfiguration"
    limited_resources: tuple[LimitedResource, ...] = ()


class Configurations(msgspec.Struct, frozen=True, kw_only=True):
    restriction: Restriction = Restriction()
    limits: QuotaLimits = QuotaLimits()


def read_configuration(text: str, read: Callable[[str], str]) -> Configurations:
    """`read` gives the text of a file that the configuration names. Raises ConfigurationError, and what that raises."""
    found = _converted(_loaded(text), _File, KIND)
    if found.kind != KIND or found.api_version not in API_VERSIONS:
        raise ConfigurationError(f"no {KIND} of {API_VERSIONS[0]}, but {found.kind} of {found.api_version}")
    out = Configurations()
    for name, own in _by_plugin(found.plugins, read).items():
        match name:
            case "PodTolerationRestriction":
                out = msgspec.structs.replace(out, restriction=_restriction(own))
            case "ResourceQuota":
                out = msgspec.structs.replace(out, limits=_limits(own))
            case _:
                raise ConfigurationError(f"{name} takes no configuration; {RESTRICTION} and {QUOTA} do")
    return out


def _by_plugin(plugins: Sequence[PluginConfiguration], read: Callable[[str], str]) -> dict[str, Any]:  # YAML
    out: dict[str, Any] = {}
    for plugin in plugins:
        if plugin.name in out:
            raise ConfigurationError(f"{plugin.name} is configured twice")
        if plugin.configuration is not None and plugin.path:
            raise ConfigurationError(f"{plugin.name}: path and configuration exclude each other")
        out[plugin.name] = _loaded(read(plugin.path)) if plugin.path else plugin.configuration
    return {name: own for name, own in out.items() if own is not None}


def _restriction(own: Any) -> Restriction:  # YAML
    found = _converted(own, Restriction, RESTRICTION)
    if found.api_version != RESTRICTION_VERSION or found.kind != "Configuration":
        raise ConfigurationError(f"{RESTRICTION}: no Configuration of {RESTRICTION_VERSION}")
    return found


def _limits(own: Any) -> QuotaLimits:  # YAML
    found = _converted(own, QuotaLimits, QUOTA)
    if QUOTA_VERSIONS.get(found.api_version) != found.kind:
        raise ConfigurationError(f"{QUOTA}: no ResourceQuotaConfiguration of apiserver.config.k8s.io/v1")
    for index, one in enumerate(found.limited_resources):
        if not one.resource:
            raise ConfigurationError(f"{QUOTA}: limitedResources[{index}].resource: Required value")
        for place, scope in enumerate(one.match_scopes):
            if not isinstance(scope.get("scopeName"), str) or not isinstance(scope.get("operator"), str):
                at = f"limitedResources[{index}].matchScopes[{place}]"
                raise ConfigurationError(f"{QUOTA}: {at}: scopeName and operator are needed")
    return found


def _loaded(text: str) -> Any:  # YAML
    try:
        return yaml.safe_load(text)
    except (yaml.YAMLError, RecursionError) as error:
        raise ConfigurationError(f"no YAML: {error}") from error


def _converted(found: Any, wanted: type[_T], name: str) -> _T:  # YAML
    try:
        return to_view(found if isinstance(found, Mapping) else {}, wanted)
    except msgspec.ValidationError as error:
        raise ConfigurationError(f"{name}: {error}") from error
