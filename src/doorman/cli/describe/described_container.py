"""The containers of a pod: what they are, what they were told, and how they do."""

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from doorman.api.machinery.quantity import parse_quantity
from doorman.cli.describe.description import Description, date, truth

_FIELDS: Final = {"metadata.name": "name", "metadata.namespace": "namespace", "metadata.uid": "uid"}
_SUBSCRIPTED: Final = re.compile(r"metadata\.(labels|annotations)\['(.+)'\]")
_STATES: Final = ("running", "waiting", "terminated")


def describe_containers(
    out: Description,
    title: str,
    containers: Sequence[dict[str, Any]],
    statuses: Sequence[dict[str, Any]],
    pod: Any,
    *,
    name_indent: str = "",
) -> None:
    """`pod` is None for a template: what a field of it will be is not known."""
    known = {status["name"]: status for status in statuses}
    out.line(f"{title}:")
    for container in containers:
        status = known.get(container["name"])
        out.line(f"{name_indent}{container['name']}:", 1)
        _describe_basics(out, container, status)
        for title_, words in (("Command", container.get("command")), ("Args", container.get("args"))):
            if words:
                out.line(f"{title_}:", 2)
                for word in words:
                    for line in word.split("\n"):
                        out.line(line, 3)
        if status is not None:
            _describe_state(out, "State", status.get("state") or {})
            if (status.get("lastState") or {}).get("terminated") is not None:
                _describe_state(out, "Last State", status["lastState"])
            out.pair("Ready", "True" if status.get("ready") else "False", 2)
            out.pair("Restart Count", status.get("restartCount", 0), 2)
        describe_resources(out, container.get("resources") or {}, 2)
        for name, field in (
            ("Liveness", "livenessProbe"), ("Readiness", "readinessProbe"), ("Startup", "startupProbe"),
        ):  # fmt: skip
            if container.get(field):
                out.pair(name, probe_text(container[field]), 2)
        _describe_environment(out, container, pod)
        _describe_mounts(out, container.get("volumeMounts") or ())
        _describe_devices(out, container.get("volumeDevices") or ())


def _describe_basics(out: Description, container: Mapping[str, Any], status: Mapping[str, Any] | None) -> None:
    if status is not None:
        out.pair("Container ID", status.get("containerID", ""), 2)
    out.pair("Image", container.get("image", ""), 2)
    if status is not None:
        out.pair("Image ID", status.get("imageID", ""), 2)
    ports = container.get("ports") or ()
    plural = "s" if len(ports) > 1 else ""
    for title, field in ((f"Port{plural}", "containerPort"), (f"Host Port{plural}", "hostPort")):
        texts = [
            f"{port.get(field, 0)}/{port.get('protocol', 'TCP')}" + (f" ({port['name']})" if port.get("name") else "")
            for port in ports
        ]
        out.pair(title, ", ".join(texts) or "<none>", 2)
    describe_seccomp(out, container, 2)


def describe_seccomp(out: Description, spec: Mapping[str, Any], level: int) -> None:
    """Of a pod or a container; a pod's own file stands beside it."""
    profile = (spec.get("securityContext") or {}).get("seccompProfile")
    if profile is not None:
        out.pair("SeccompProfile", profile.get("type", ""), level)
        if profile.get("type") == "Localhost":
            out.pair("LocalhostProfile", profile.get("localhostProfile", ""), level + 1 if level else 0)


def _describe_state(out: Description, title: str, state: Mapping[str, Any]) -> None:
    name = next((name for name in _STATES if state.get(name) is not None), "waiting")
    found = state.get(name) or {}
    out.pair(title, name.capitalize(), 2)
    if name == "running":
        out.pair("Started", date(found.get("startedAt")), 3)
        return
    if found.get("reason"):
        out.pair("Reason", found["reason"], 3)
    if name == "waiting":
        return
    if found.get("message"):
        out.pair("Message", found["message"], 3)
    out.pair("Exit Code", found.get("exitCode", 0), 3)
    if found.get("signal"):
        out.pair("Signal", found["signal"], 3)
    out.pair("Started", date(found.get("startedAt")), 3)
    out.pair("Finished", date(found.get("finishedAt")), 3)


def describe_resources(out: Description, resources: Mapping[str, Any], level: int) -> None:
    for title, field in (("Limits", "limits"), ("Requests", "requests")):
        if resources.get(field):
            out.line(f"{title}:", level)
            for name, amount in sorted(resources[field].items()):
                out.pair(name, amount, level + 1)


def probe_text(probe: Mapping[str, Any]) -> str:
    times = (
        f"delay={probe.get('initialDelaySeconds', 0)}s timeout={probe.get('timeoutSeconds', 1)}s "
        f"period={probe.get('periodSeconds', 10)}s successThreshold={probe.get('successThreshold', 1)} "
        f"failureThreshold={probe.get('failureThreshold', 3)}"
    )
    if probe.get("exec") is not None:
        return f"exec [{' '.join(probe['exec'].get('command') or ())}] {times}"
    if probe.get("httpGet") is not None:
        get = probe["httpGet"]
        url = f"{get.get('scheme', 'HTTP').lower()}://{get.get('host', '')}:{get['port']}"
        path = get.get("path", "")
        return f"http-get {url}{'' if path.startswith('/') or not path else '/'}{path} {times}"
    if probe.get("tcpSocket") is not None:
        return f"tcp-socket {probe['tcpSocket'].get('host', '')}:{probe['tcpSocket']['port']} {times}"
    if probe.get("grpc") is not None:
        return f"grpc <pod>:{probe['grpc']['port']} {probe['grpc'].get('service', '')} {times}"
    return f"unknown {times}"


def _describe_environment(out: Description, container: Mapping[str, Any], pod: Any) -> None:
    if container.get("envFrom"):
        out.line("Environment Variables from:", 2)
        for source in container["envFrom"]:
            kind, reference = ("ConfigMap", source["configMapRef"]) if "configMapRef" in source else (
                "Secret", source.get("secretRef") or {}
            )  # fmt: skip
            prefix = f" with prefix '{source['prefix']}'" if source.get("prefix") else ""
            out.line(f"{reference.get('name', '')}\t{kind}{prefix}\tOptional: {truth(reference.get('optional'))}", 3)
    if not container.get("env"):
        out.pair("Environment", "<none>", 2)
        return
    out.line("Environment:", 2)
    for variable in container["env"]:
        _describe_variable(out, variable, container, pod)


def _describe_variable(
    out: Description, variable: Mapping[str, Any], container: Mapping[str, Any], pod: Mapping[str, Any] | None
) -> None:
    name, source = variable["name"], variable.get("valueFrom")
    if source is None:
        first, *others = str(variable.get("value", "")).split("\n")
        out.pair(name, first, 3)
        for line in others:
            out.line(f"\t{line}", 3)
    elif "fieldRef" in source:
        path = source["fieldRef"]["fieldPath"]
        out.pair(name, f"{_field(pod, path)} ({source['fieldRef'].get('apiVersion', 'v1')}:{path})", 3)
    elif "resourceFieldRef" in source:
        resource = source["resourceFieldRef"]["resource"]
        amount = _resource_field(container, resource, source["resourceFieldRef"].get("divisor", "0"))
        out.pair(name, f"{amount} ({resource})", 3)
    else:
        is_secret = "secretKeyRef" in source
        found = source["secretKeyRef"] if is_secret else source.get("configMapKeyRef") or {}
        whence = f"in secret '{found.get('name', '')}'" if is_secret else f"of config map '{found.get('name', '')}'"
        out.pair(name, f"<set to the key '{found.get('key')}' {whence}>\tOptional: {truth(found.get('optional'))}", 3)


def _resource_field(container: Mapping[str, Any], resource: str, divisor: str) -> str:
    """How much of it, in units of the divisor and rounded up; what is not limited is all that the node has."""
    kind, _, of = resource.partition(".")
    amount = parse_quantity(((container.get("resources") or {}).get(kind) or {}).get(of, "0"))
    if amount == 0 and resource in ("limits.cpu", "limits.memory"):
        return "node allocatable"
    return str(math.ceil(amount / (parse_quantity(divisor) or 1)))


def _field(pod: Mapping[str, Any] | None, path: str) -> str:
    """What a container is told of its pod, where that is known before it runs."""
    if pod is None:
        return ""
    subscripted = _SUBSCRIPTED.fullmatch(path)
    if subscripted is not None:
        return str((pod["metadata"].get(subscripted[1]) or {}).get(subscripted[2], ""))
    return str(pod["metadata"].get(_FIELDS[path], "")) if path in _FIELDS else ""


def _describe_mounts(out: Description, mounts: Sequence[Mapping[str, Any]]) -> None:
    if not mounts:
        out.pair("Mounts", "<none>", 2)
        return
    out.line("Mounts:", 2)
    for mount in sorted(mounts, key=lambda mount: str(mount["mountPath"])):
        flags = ["ro" if mount.get("readOnly") else "rw"]
        if mount.get("subPath"):
            flags.append(f'path="{mount["subPath"]}"')
        out.line(f"{mount['mountPath']} from {mount['name']} ({','.join(flags)})", 3)


def _describe_devices(out: Description, devices: Sequence[Mapping[str, Any]]) -> None:
    if devices:
        out.line("Devices:", 2)
        for device in sorted(devices, key=lambda device: str(device["devicePath"])):
            out.line(f"{device['devicePath']} from {device['name']}", 3)
