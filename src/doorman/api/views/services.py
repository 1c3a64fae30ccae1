"""Views of services and of where they lead: endpoints, slices of them, addresses."""

from typing import Any

import msgspec

from doorman.api.views.meta import Condition, ObjectMeta, View


class ServicePort(View, frozen=True, kw_only=True):
    name: str = ""
    port: int = 0
    protocol: str = "TCP"
    target_port: int | str = 0
    app_protocol: str = ""


class ServiceSpec(View, frozen=True, kw_only=True):
    selector: dict[str, str] = {}
    type: str = ""
    ports: tuple[ServicePort, ...] = ()
    publish_not_ready_addresses: bool = False
    cluster_ips: tuple[str, ...] = msgspec.field(default=(), name="clusterIPs")
    ip_families: tuple[str, ...] = ()
    load_balancer_class: str | None = None
    load_balancer_ip: str = msgspec.field(default="", name="loadBalancerIP")


class LoadBalancerIngress(View, frozen=True, kw_only=True):
    ip: str = ""
    hostname: str = ""


class LoadBalancerStatus(View, frozen=True, kw_only=True):
    ingress: tuple[LoadBalancerIngress, ...] = ()


class ServiceStatus(View, frozen=True, kw_only=True):
    load_balancer: LoadBalancerStatus = LoadBalancerStatus()


class Service(View, frozen=True, kw_only=True):
    metadata: ObjectMeta = ObjectMeta()
    spec: ServiceSpec = ServiceSpec()
    status: ServiceStatus = ServiceStatus()


class ParentReference(View, frozen=True, kw_only=True):
    resource: str = ""
    namespace: str = ""
    name: str = ""


class IpAddressSpec(View, frozen=True, kw_only=True):
    parent_ref: ParentReference = ParentReference()


class IpAddress(View, frozen=True, kw_only=True):
    metadata: ObjectMeta = ObjectMeta()
    spec: IpAddressSpec = IpAddressSpec()


class ServiceCidrSpec(View, frozen=True, kw_only=True):
    cidrs: tuple[str, ...] = ()


class ServiceCidrStatus(View, frozen=True, kw_only=True):
    conditions: tuple[Condition, ...] = ()

    def condition(self, kind: str) -> Condition | None:
        return next((one for one in self.conditions if one.type == kind), None)


class ServiceCidr(View, frozen=True, kw_only=True):
    """A range of the addresses of services."""

    metadata: ObjectMeta = ObjectMeta()
    spec: ServiceCidrSpec = ServiceCidrSpec()
    status: ServiceCidrStatus = ServiceCidrStatus()


def addresses_of(service: Service) -> tuple[str, ...]:
    """Also the index in which the service of an address is found."""
    spec = service.spec
    return () if spec.type == "ExternalName" else tuple(one for one in spec.cluster_ips if one not in ("", "None"))


def selecting_in(service: Service) -> tuple[str, ...]:
    """The namespace of a service that selects pods: the index in which those a pod may belong to are found."""
    is_selecting = service.spec.selector and service.spec.type != "ExternalName"
    return (service.metadata.namespace,) if is_selecting else ()


class Endpoints(View, frozen=True, kw_only=True):
    metadata: ObjectMeta = ObjectMeta()
    subsets: list[dict[str, Any]] = []  # as JSON: it is only compared


class EndpointSlice(View, frozen=True, kw_only=True):
    metadata: ObjectMeta = ObjectMeta()
    address_type: str = ""
    endpoints: list[dict[str, Any]] | None = None  # as JSON: they are only compared
    ports: list[dict[str, Any]] | None = None
