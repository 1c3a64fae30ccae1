"""What a simulated node is made of: a profile of configuration becomes the manifest of a Node."""

import re
import zlib
from typing import Any, Final

import msgspec

from doorman.api.machinery.quantity import canonical_quantity
from doorman.api.taints import UNINITIALIZED, Effect
from doorman.api.views.nodes import Node
from doorman.api.well_known import CLOUD_PROVIDER_ANNOTATION, KUBERNETES_VERSION
from doorman.base.clock import Instant
from doorman.base.instants import to_time
from doorman.nodes.node_annotations import (
    ATTACH_LIMIT,
    CONDITIONS,
    DEVICES,
    FAILING_IMAGES,
    POD_TERMINATION,
    SCRIPT,
    SIMULATED,
)
from doorman.nodes.status.node_status import good_conditions
from doorman.semantics.taints.taint_spec import TaintSpecError, parse_taint

DEFAULT_CAPACITY: Final = {"cpu": "4", "memory": "8Gi", "ephemeral-storage": "100Gi", "pods": "110"}
NODE_FEATURES: Final = {"supplementalGroupsPolicy": True}
_NUMBERED: Final = re.compile(r"node-(\d{1,9})", re.ASCII)


class ProfileTaint(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    key: str
    effect: str
    value: str = ""


class NodeProfile(
    msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True, forbid_unknown_fields=True
):
    """One kind of node, as a configuration file spells it. `capacity` is laid over the default one."""

    capacity: dict[str, str | int | float] = {}
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    taints: tuple[ProfileTaint | str, ...] = ()
    """As a node has them, or as kubectl writes them: `key=value:NoSchedule`."""
    zone: str = ""
    region: str = ""
    architecture: str = "amd64"
    operating_system: str = "linux"
    startup_delay: str = ""
    """How long after its registration the node is not Ready, such as `20s`."""
    conditions: str = ""
    """What the node says from the beginning, such as `MemoryPressure=True,Ready=False`."""
    cloud_provider: str = ""
    """`external`: it registers with the taint `uninitialized`, which the simulated cloud takes off."""
    pod_termination: str = ""
    """How long pods take to stop that do not say, such as `2s`."""
    failing_images: tuple[str, ...] = ()
    """Patterns of images that cannot be pulled, such as `example.com/*`."""
    script: str = ""
    """See `doorman.nodes.status.simulated_health`."""
    attach_limit: int | None = None
    """How many simulated volumes can be attached to it; None: any number."""
    devices: str = ""
    """What its driver publishes, such as `gpu=8,model=a100`; see `doorman.nodes.devices.simulated_devices`."""


def simulated_node(name: str, profile: NodeProfile | None = None, *, now: Instant | None = None) -> dict[str, Any]:
    """The manifest of a Node that the agent takes up. With `now` it carries its first heartbeat already.

    >>> manifest = simulated_node("node-1", NodeProfile(zone="a", capacity={"cpu": "8"}))
    >>> manifest["status"]["capacity"]["cpu"], manifest["metadata"]["labels"]["topology.kubernetes.io/zone"]
    ('8', 'a')
    """
    profile = profile if profile is not None else NodeProfile()
    capacity = {key: canonical_quantity(str(value)) for key, value in {**DEFAULT_CAPACITY, **profile.capacity}.items()}
    script = "; ".join(filter(None, (_startup_entry(profile), profile.script)))
    orders = {annotation: text for annotation, text in ((SCRIPT, script), (CONDITIONS, profile.conditions)) if text}
    told = (
        (DEVICES, profile.devices),
        (POD_TERMINATION, profile.pod_termination),
        (FAILING_IMAGES, ",".join(profile.failing_images)),
        (ATTACH_LIMIT, "" if profile.attach_limit is None else str(profile.attach_limit)),
    )
    habits = {annotation: text for annotation, text in told if text}
    metadata: dict[str, Any] = {  # JSON
        "name": name,
        "labels": {**_labels(name, profile), **profile.labels},
        "annotations": {SIMULATED: "true", **orders, **habits, **profile.annotations},
    }
    status: dict[str, Any] = {  # JSON
        "capacity": capacity,
        "allocatable": capacity,
        "addresses": node_addresses(name),
        "nodeInfo": node_info(name, profile.architecture, profile.operating_system),
        "features": NODE_FEATURES,
    }
    if now is not None and not orders:
        status["conditions"] = good_conditions(to_time(now))
    taints = [profile_taint(one) for one in profile.taints]
    if profile.cloud_provider:
        metadata["annotations"][CLOUD_PROVIDER_ANNOTATION] = profile.cloud_provider
        taints.append({"key": UNINITIALIZED, "value": "true", "effect": Effect.NO_SCHEDULE})
    spec = {"taints": taints} if taints else {}
    return {"apiVersion": "v1", "kind": "Node", "metadata": metadata, "spec": spec, "status": status}


def profile_taint(taint: ProfileTaint | str) -> dict[str, str]:
    """As JSON. Raises TaintSpecError.

    >>> profile_taint("a=b:NoSchedule")
    {'key': 'a', 'effect': 'NoSchedule', 'value': 'b'}
    """
    if isinstance(taint, str):
        spelt = parse_taint(taint)
        if not spelt.effect:
            raise TaintSpecError(f'"{taint}": want KEY[=VALUE]:EFFECT, such as gpu=true:NoSchedule')
        taint = ProfileTaint(key=spelt.key, value=spelt.value, effect=spelt.effect)
    found: dict[str, str] = msgspec.to_builtins(taint)
    return found


def node_addresses(name: str) -> list[dict[str, str]]:
    return [{"type": "InternalIP", "address": node_ip(name)}, {"type": "Hostname", "address": name}]


def node_ip(name: str) -> str:
    """`node-1` and so on have addresses in 10.64.0.0/11, by number; all others from 10.97.0.0 on, by a hash.

    Between them are the addresses of services.

    >>> node_ip("node-1"), node_ip("node-300"), node_ip("big-1")
    ('10.64.0.1', '10.64.1.44', '10.104.236.201')
    """
    numbered = _NUMBERED.fullmatch(name)
    if numbered and (number := int(numbered[1])) < 32 << 16:
        return f"10.{64 + (number >> 16)}.{number >> 8 & 255}.{number & 255}"
    number = zlib.crc32(name.encode())
    return f"10.{97 + (number >> 16) % 31}.{number >> 8 & 255}.{number & 255}"


def pod_ip(uid: str) -> str:
    """An address in 10.128.0.0/9, by a hash of the pod's uid."""
    number = zlib.crc32(uid.encode())
    return f"10.{128 + (number >> 16) % 128}.{number >> 8 & 255}.{number & 255}"


def node_info(name: str, architecture: str = "amd64", operating_system: str = "linux") -> dict[str, str]:
    """What a kubelet says of its machine; the ids are made from the name, so that they never change."""
    digest = f"{zlib.crc32(name.encode()):08x}{zlib.adler32(name.encode()):08x}"
    return {
        "architecture": architecture,
        "bootID": f"{digest[:8]}-0000-4000-8000-{digest[:12]}",
        "containerRuntimeVersion": "doorman://1.0.0",
        "kernelVersion": "simulated",
        "kubeProxyVersion": "",
        "kubeletVersion": KUBERNETES_VERSION,
        "machineID": digest * 2,
        "operatingSystem": operating_system,
        "osImage": "Doorman simulated node",
        "systemUUID": f"{digest[8:]}-0000-4000-8000-{digest[:12]}",
    }


def _labels(name: str, profile: NodeProfile) -> dict[str, str]:
    labels = {
        "kubernetes.io/hostname": name,
        "kubernetes.io/os": profile.operating_system,
        "kubernetes.io/arch": profile.architecture,
        "beta.kubernetes.io/os": profile.operating_system,
        "beta.kubernetes.io/arch": profile.architecture,
    }
    if profile.zone:
        labels["topology.kubernetes.io/zone"] = profile.zone
    if profile.region:
        labels["topology.kubernetes.io/region"] = profile.region
    return labels


def missing_status(node: Node) -> dict[str, Any]:  # part of a node's status as JSON
    """What a node that was made by hand lacks, or has been given since."""
    status = node.status
    missing: dict[str, Any] = {}  # JSON
    if not status.capacity:
        missing |= {"capacity": DEFAULT_CAPACITY, "allocatable": DEFAULT_CAPACITY}
    elif status.capacity.keys() - status.allocatable.keys():
        # What somebody says there is, such as a resource of a device, may be used.
        missing["allocatable"] = {**status.capacity, **status.allocatable}
    if not status.addresses:
        missing["addresses"] = node_addresses(node.metadata.name)
    if not status.node_info.kubelet_version:
        missing |= {"nodeInfo": node_info(node.metadata.name), "features": NODE_FEATURES}
    return missing


def _startup_entry(profile: NodeProfile) -> str:
    return f"Ready=False 0s-{profile.startup_delay}" if profile.startup_delay else ""
