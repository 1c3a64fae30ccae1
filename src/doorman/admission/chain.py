"""The chain of plugins, in Kubernetes' order, and which of them are on."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, Generic, TypeVar

import msgspec

from doorman.admission.admission_configuration import LimitedResource
from doorman.admission.class_defaults import DefaultIngressClass, DefaultStorageClass
from doorman.admission.plugin_contract import (
    AdmissionPlugin,
    Attributes,
    ClusterReader,
    Docs,
    MutatingPlugin,
    Operation,
    PreviewPredicate,
    QuotaPlugin,
    RequestPreview,
    ValidatingPlugin,
    Weigh,
)
from doorman.admission.plugins.limit_ranger import LimitRanger
from doorman.admission.plugins.namespace_lifecycle import NamespaceLifecycle
from doorman.admission.plugins.nodes.node_restriction import NodeRestriction
from doorman.admission.plugins.nodes.taint_nodes_by_condition import TaintNodesByCondition
from doorman.admission.plugins.nodes.taint_record import TaintRecorder
from doorman.admission.plugins.pod_security import PodSecurity
from doorman.admission.plugins.pod_topology_labels import PodTopologyLabels
from doorman.admission.plugins.priority import Priority
from doorman.admission.plugins.quota_admission import ResourceQuotaPlugin
from doorman.admission.plugins.resource_claim_access import ResourceClaimAccess
from doorman.admission.plugins.runtime_class_admission import RuntimeClass
from doorman.admission.plugins.service_account_admission import ServiceAccountPlugin
from doorman.admission.plugins.storage_object_in_use_protection import StorageObjectInUseProtection
from doorman.admission.plugins.tolerations.dedicated_nodes_admission import DedicatedNodesPlugin
from doorman.admission.plugins.tolerations.default_toleration_seconds import SECONDS_DEFAULT, DefaultTolerationSeconds
from doorman.admission.plugins.tolerations.extended_resource_toleration import ExtendedResourceToleration
from doorman.admission.plugins.tolerations.pod_toleration_restriction import PodTolerationRestriction
from doorman.admission.plugins.tolerations.toleration_policy_admission import TolerationPolicyPlugin
from doorman.admission.policies.policy_variables import AuthorizerLookup, nobody_may
from doorman.admission.policies.validating_policies import ValidatingAdmissionPolicies
from doorman.api.taints import Toleration
from doorman.base.clock import Instant
from doorman.semantics.pods.pod_resources import Amounts


class AdmissionSettings(msgspec.Struct, frozen=True, kw_only=True):
    """What the plugins are told at start."""

    suffix: Callable[[], str]
    """Gives the random end of a generated volume name."""

    default_not_ready_toleration_seconds: int = SECONDS_DEFAULT
    default_unreachable_toleration_seconds: int = SECONDS_DEFAULT
    default_tolerations: tuple[Toleration, ...] = ()
    toleration_whitelist: tuple[Toleration, ...] = ()
    limited_resources: tuple[LimitedResource, ...] = ()
    """What nobody may take without a quota for it."""
    authorize: AuthorizerLookup = nobody_may
    """Says who may do what, to expressions that ask."""


ORDER: Final[Mapping[str, Callable[[AdmissionSettings], AdmissionPlugin]]] = {
    "NamespaceLifecycle": lambda _: NamespaceLifecycle(),
    "LimitRanger": lambda _: LimitRanger(),
    "ServiceAccount": lambda settings: ServiceAccountPlugin(settings.suffix),
    "NodeRestriction": lambda _: NodeRestriction(),
    "TaintNodesByCondition": lambda _: TaintNodesByCondition(),
    "PodSecurity": lambda _: PodSecurity(),
    "Priority": lambda _: Priority(),
    "DefaultTolerationSeconds": lambda settings: DefaultTolerationSeconds(
        not_ready_seconds=settings.default_not_ready_toleration_seconds,
        unreachable_seconds=settings.default_unreachable_toleration_seconds,
    ),
    "PodTolerationRestriction": lambda settings: PodTolerationRestriction(
        defaults=settings.default_tolerations, whitelist=settings.toleration_whitelist
    ),
    "ExtendedResourceToleration": lambda _: ExtendedResourceToleration(),
    "DefaultStorageClass": lambda _: DefaultStorageClass(),
    "StorageObjectInUseProtection": lambda _: StorageObjectInUseProtection(),
    "RuntimeClass": lambda _: RuntimeClass(),
    "DefaultIngressClass": lambda _: DefaultIngressClass(),
    "PodTopologyLabels": lambda _: PodTopologyLabels(),
    "ResourceClaimAccess": lambda settings: ResourceClaimAccess(settings.authorize),
    "DedicatedNodes": lambda _: DedicatedNodesPlugin(),
    "TolerationPolicy": lambda _: TolerationPolicyPlugin(),
    "TaintRecord": lambda _: TaintRecorder(),
    "ValidatingAdmissionPolicy": lambda settings: ValidatingAdmissionPolicies(settings.authorize),
    "ResourceQuota": lambda settings: ResourceQuotaPlugin(settings.limited_resources),
}
"""Every plugin there is, in the order in which they run. All of them are on by default."""

WITHOUT_EFFECT: Final = frozenset(
    {
        "CertificateApproval", "CertificateSigning", "CertificateSubjectRestriction", "ClusterTrustBundleAttest",
        "MutatingAdmissionPolicy", "MutatingAdmissionWebhook",
        "NodeDeclaredFeatureValidator", "PersistentVolumeClaimResize", "PodGroupProtection", "PodResizeValidator",
        "ValidatingAdmissionWebhook",
    }
)  # fmt: skip
"""Plugins that a Kubernetes API server runs by default and that are not part of this chain: naming them is no error."""


P = TypeVar("P", bound=AdmissionPlugin)


class _Interested(Generic[P]):
    """Who of some plugins wants to see what, filled as requests come."""

    def __init__(self, plugins: Sequence[P]) -> None:
        self._plugins = plugins
        self._known: dict[tuple[str, str, str, Operation], tuple[P, ...]] = {}

    def of(self, attributes: Attributes) -> tuple[P, ...]:
        key = (attributes.group, attributes.resource, attributes.subresource, attributes.operation)
        known = self._known.get(key)
        if known is None:
            asked = (attributes.group_resource, attributes.subresource, attributes.operation)
            known = self._known[key] = tuple(
                plugin for plugin in self._plugins if any(interest.covers(*asked) for interest in plugin.interests)
            )
        return known


class Chain:
    """Plugins that are on, with a table of who wants to see what, filled as requests come."""

    def __init__(self, plugins: Iterable[AdmissionPlugin]) -> None:
        self._plugins = tuple(plugins)
        self._mutating = _Interested([plugin for plugin in self._plugins if isinstance(plugin, MutatingPlugin)])
        self._validating = _Interested([plugin for plugin in self._plugins if isinstance(plugin, ValidatingPlugin)])
        self._quota = _Interested([plugin for plugin in self._plugins if isinstance(plugin, QuotaPlugin)])
        self._passes: dict[tuple[str, str, Operation], tuple[PreviewPredicate, ...] | None] = {}
        """What says whether it has an opinion, of each that wants to see it; None: somebody always has."""

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(plugin.name for plugin in self._plugins)

    def admit(self, attributes: Attributes, cluster: ClusterReader, now: Instant) -> None:
        """Let every plugin change the object, in order. Raises the first refusal."""
        plugins = self._mutating.of(attributes)
        if plugins:
            remembered = _Remembered(cluster)
            for plugin in plugins:
                plugin.admit(attributes, remembered, now)

    def validate(self, attributes: Attributes, cluster: ClusterReader, now: Instant) -> None:
        """Let every plugin look at the object as it would be stored."""
        plugins = self._validating.of(attributes)
        if plugins:
            remembered = _Remembered(cluster)
            for plugin in plugins:
                plugin.validate(attributes, remembered, now)

    def limit(self, attributes: Attributes, cluster: ClusterReader, now: Instant) -> None:
        """Let every plugin that counts say whether there is room. What it lets in is written in the same turn."""
        for plugin in self._quota.of(attributes):
            plugin.limit(attributes, cluster, now)

    def is_idle(self, resource: str, preview: RequestPreview, cluster: ClusterReader) -> bool:
        """Whether no plugin would change or refuse such a request, whatever its object is."""
        key = (resource, preview.subresource, preview.operation)
        if key not in self._passes:
            every = [interest for plugin in self._plugins for interest in plugin.interests if interest.covers(*key)]
            passes = tuple(interest.passes for interest in every if interest.passes is not None)
            self._passes[key] = passes if len(passes) == len(every) else None
        asked = self._passes[key]
        if asked is None:
            return False
        for opinion in asked:  # noqa: SIM110  every write of a component asks, and a generator costs as much again
            if not opinion(preview, cluster):
                return False
        return True


def build_chain(settings: AdmissionSettings, *, enabled: Sequence[str] = (), disabled: Sequence[str] = ()) -> Chain:
    """The default plugins, less those disabled. Raises ValueError for a name that nobody knows.

    >>> chain = build_chain(AdmissionSettings(suffix=lambda: "abcde"), disabled=["Priority"])
    >>> "Priority" in chain.names, "RuntimeClass" in chain.names
    (False, True)
    """
    for flag, names in (("enable-admission-plugins", enabled), ("disable-admission-plugins", disabled)):
        for name in names:
            if name not in ORDER and name not in WITHOUT_EFFECT:
                known = ", ".join(ORDER)
                raise ValueError(f'{flag}: plugin "{name}" is unknown; known plugins: {known}')
    both = sorted(set(enabled) & set(disabled))
    if both:
        raise ValueError(f"{', '.join(both)}: in both enable-admission-plugins and disable-admission-plugins")
    return Chain(make(settings) for name, make in ORDER.items() if name not in disabled)


class _Remembered:
    """A cluster that is asked each thing once a phase: several plugins look at the same namespace."""

    __slots__ = ("_cluster", "_found")

    def __init__(self, cluster: ClusterReader) -> None:
        self._cluster = cluster
        self._found: dict[tuple[str, str, str], Mapping[str, Any] | None] = {}

    def get(self, resource: str, namespace: str, name: str) -> Mapping[str, Any] | None:
        key = (resource, namespace, name)
        if key not in self._found:
            self._found[key] = self._cluster.get(resource, namespace, name)
        return self._found[key]

    def list(self, resource: str, namespace: str = "") -> Iterable[Mapping[str, Any]]:
        return self._cluster.list(resource, namespace)

    def total(self, resource: str, namespace: str, name: str, weigh: Weigh) -> Amounts:
        return self._cluster.total(resource, namespace, name, weigh)

    def labels(self, resource: str, namespace: str, name: str) -> Mapping[str, str] | None:
        return self._cluster.labels(resource, namespace, name)

    def find_kind(self, api_version: str, kind: str) -> tuple[str, bool] | None:
        return self._cluster.find_kind(api_version, kind)

    def converted(self, api_version: str, kind: str, docs: Docs) -> Docs:
        return self._cluster.converted(api_version, kind, docs)

    async def convert_ahead(self, api_version: str, kind: str, docs: Docs) -> None:
        await self._cluster.convert_ahead(api_version, kind, docs)
