"""Containers of a pod: names, images, ports, environment, mounts, resources."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from doorman.base.errors import (
    FieldError,
    JsonText,
    duplicate,
    field_not_found,
    forbidden,
    invalid,
    not_supported,
    required,
    too_many,
)
from doorman.semantics.name_syntax import dns_label_faults, port_name_faults
from doorman.validation.context import distinct
from doorman.validation.pods.container.container_handlers import PORT_RANGE, PROBES, handler_errors
from doorman.validation.pods.container.environment import env_errors, env_from_errors
from doorman.validation.pods.container.security_context import container_security_errors
from doorman.validation.pods.volume.volumes import Volumes, device_errors, mount_errors
from doorman.validation.resources import requirement_errors

_PULL_POLICIES: Final = ("Always", "IfNotPresent", "Never")
_PROTOCOLS: Final = ("SCTP", "TCP", "UDP")
_MESSAGE_POLICIES: Final = ("File", "FallbackToLogsOnError")
_RESTART_POLICIES: Final = ("Always", "Never", "OnFailure")
_RESTART_ACTIONS: Final = ("Restart", "RestartAllContainers")
_RESTART_RULES_MAX: Final = 20
_EXIT_CODES_MAX: Final = 255
_PADDED: Final = "must not have leading or trailing whitespace"
_NOT_EPHEMERAL: Final = "cannot be set for an Ephemeral Container"
_NOT_IN_EPHEMERAL: Final = (
    "ports", "resources", "resizePolicy", "restartPolicy", "restartPolicyRules", *PROBES, "lifecycle",
)  # fmt: skip


def container_errors(
    containers: Sequence[Mapping[str, Any]],
    volumes: Volumes,
    claims: frozenset[str],
    path: str,
    *,
    spec: Mapping[str, Any],
) -> list[FieldError]:
    """`spec.containers`. `volumes` and `claims` are the names that may be referred to."""
    if not containers:
        return [required(path)]
    grace_seconds = spec.get("terminationGracePeriodSeconds")
    errors: list[FieldError] = []
    names: set[str] = set()
    for index, container in enumerate(containers):
        if not is_simple(container):
            errors.extend(_common_errors(container, volumes, claims, f"{path}[{index}]", spec=spec))
        name = container.get("name", "")
        if name in names:
            errors.append(duplicate(f"{path}[{index}].name", name))
        names.add(name)
        errors.extend(handler_errors(container, f"{path}[{index}]", grace_seconds=grace_seconds))
        if "restartPolicy" in container or "restartPolicyRules" in container:
            errors.extend(_restart_errors(container, f"{path}[{index}]"))
    errors.extend(_host_port_conflicts(containers, path))
    return errors


def init_container_errors(
    containers: Sequence[Mapping[str, Any]],
    regular: Sequence[Mapping[str, Any]],
    volumes: Volumes,
    claims: frozenset[str],
    path: str,
    *,
    spec: Mapping[str, Any],
) -> list[FieldError]:
    errors: list[FieldError] = []
    grace_seconds = spec.get("terminationGracePeriodSeconds")
    names = {container.get("name", "") for container in regular}
    for index, container in enumerate(containers):
        at = f"{path}[{index}]"
        errors.extend(_common_errors(container, volumes, claims, at, spec=spec))
        policy = container.get("restartPolicy")
        errors.extend(_restart_errors(container, at))
        name = container.get("name", "")
        if name in names:
            errors.append(duplicate(f"{at}.name", name))
        elif name:
            names.add(name)
        errors.extend(_host_port_conflicts([container], path))
        if policy == "Always":
            errors.extend(handler_errors(container, at, grace_seconds=grace_seconds))
            continue
        errors.extend(
            forbidden(f"{at}.{field}", "may not be set for init containers without restartPolicy=Always")
            for field in ("lifecycle", *PROBES)
            if field in container
        )
        text = "must not be set to 'RestartContainer' for non-sidecar initContainers"
        errors.extend(
            invalid(f"{at}.resizePolicy[{place}].restartPolicy", JsonText("RestartContainer"), text)
            for place, policy in enumerate(container.get("resizePolicy") or ())
            if policy.get("restartPolicy") == "RestartContainer"
        )
    return errors


def _restart_errors(container: Mapping[str, Any], path: str) -> list[FieldError]:
    """When a container is started again, by its own rules."""
    policy, rules = container.get("restartPolicy"), container.get("restartPolicyRules") or ()
    errors: list[FieldError] = []
    if policy is None:
        if not rules:
            return errors
        errors.append(required(f"{path}.restartPolicy", "must specify restartPolicy when restart rules are used"))
    elif policy not in _RESTART_POLICIES:
        errors.append(not_supported(f"{path}.restartPolicy", JsonText(policy), _RESTART_POLICIES))
    if len(rules) > _RESTART_RULES_MAX:
        errors.append(too_many(f"{path}.restartPolicyRules", len(rules), _RESTART_RULES_MAX))
    for index, rule in enumerate(rules):
        at, action, codes = f"{path}.restartPolicyRules[{index}]", rule.get("action") or "", rule.get("exitCodes")
        if action not in _RESTART_ACTIONS:
            errors.append(not_supported(f"{at}.action", JsonText(action), _RESTART_ACTIONS))
        if codes is None:
            errors.append(required(f"{at}.exitCodes", "must be specified"))
            continue
        operator, values = codes.get("operator") or "", codes.get("values") or ()
        if operator not in ("In", "NotIn"):
            errors.append(not_supported(f"{at}.exitCodes.operator", JsonText(operator), ("In", "NotIn")))
        if len(values) > _EXIT_CODES_MAX:
            errors.append(too_many(f"{at}.exitCodes.values", len(values), _EXIT_CODES_MAX))
    return errors


def image_errors(containers: Sequence[Mapping[str, Any]], path: str) -> list[FieldError]:
    """What holds for pods and not for templates."""
    return [
        invalid(f"{path}[{index}].image", image, _PADDED)
        for index, container in enumerate(containers)
        if (image := container.get("image", "")) != image.strip()
    ]


def ephemeral_container_errors(
    containers: Sequence[Mapping[str, Any]],
    others: Sequence[Mapping[str, Any]],
    volumes: Volumes,
    claims: frozenset[str],
    path: str,
    *,
    spec: Mapping[str, Any],
) -> list[FieldError]:
    """Ephemeral containers have a name of their own, and nothing that is settled before a pod starts."""
    errors: list[FieldError] = []
    names = {container.get("name", "") for container in others}
    for index, container in enumerate(containers):
        at = f"{path}[{index}]"
        name = container.get("name", "")
        errors.extend(_common_errors(container, volumes, claims, at, spec=spec))
        if (image := container.get("image", "")) != image.strip():
            errors.append(invalid(f"{at}.image", image, _PADDED))
        if name in names:
            errors.append(duplicate(f"{at}.name", name))
        names.add(name)
        target = container.get("targetContainerName")
        if target and all(other.get("name") != target for other in others):
            errors.append(field_not_found(f"{at}.targetContainerName", target))
        errors.extend(forbidden(f"{at}.{field}", _NOT_EPHEMERAL) for field in _NOT_IN_EPHEMERAL if container.get(field))
        errors.extend(
            forbidden(f"{at}.volumeMounts[{number}].{field}", _NOT_EPHEMERAL)
            for number, mount in enumerate(container.get("volumeMounts") or ())
            for field in ("subPath", "subPathExpr")
            if mount.get(field)
        )
    return errors


_SIMPLE_FIELDS: Final = frozenset(
    {"name", "image", "imagePullPolicy", "terminationMessagePath", "terminationMessagePolicy", "command", "args",
     "workingDir"}
)  # fmt: skip


def is_simple(container: Mapping[str, Any]) -> bool:
    """A container with nothing but a good name, an image and defaults: most of them, so they are waved through."""
    for field, value in container.items():
        if field in _SIMPLE_FIELDS or (field == "resources" and not value):
            continue
        return False
    name = container.get("name", "")
    image = container.get("image")
    return bool(
        image
        and image == image.strip()
        and name
        and container.get("imagePullPolicy") in _PULL_POLICIES
        and container.get("terminationMessagePolicy") in _MESSAGE_POLICIES
        and not dns_label_faults(name)
    )


def _common_errors(
    container: Mapping[str, Any], volumes: Volumes, claims: frozenset[str], path: str, *, spec: Mapping[str, Any]
) -> list[FieldError]:
    errors: list[FieldError] = []
    name = container.get("name", "")
    if not name:
        errors.append(required(f"{path}.name"))
    else:
        errors.extend(invalid(f"{path}.name", name, fault) for fault in dns_label_faults(name))
    if not container.get("image"):
        errors.append(required(f"{path}.image"))
    policy = container.get("terminationMessagePolicy", "")
    if policy not in _MESSAGE_POLICIES:
        at = f"{path}.terminationMessagePolicy"
        errors.append(not_supported(at, JsonText(policy), _MESSAGE_POLICIES) if policy else required(at))
    for field, check in _PARTS.items():
        if found := container.get(field):
            errors.extend(check(found, f"{path}.{field}"))
    if container.get("volumeMounts"):
        errors.extend(mount_errors(container, volumes, f"{path}.volumeMounts"))
    if container.get("volumeDevices"):
        errors.extend(device_errors(container, volumes, f"{path}.volumeDevices"))
    errors.extend(_pull_policy_errors(container.get("imagePullPolicy", ""), f"{path}.imagePullPolicy"))
    if resources := container.get("resources"):
        errors.extend(requirement_errors(resources, claims, f"{path}.resources"))
    if policies := container.get("resizePolicy"):
        errors.extend(_resize_policy_errors(policies, spec.get("restartPolicy", ""), f"{path}.resizePolicy"))
    if context := container.get("securityContext"):
        host_users = spec.get("hostUsers", True)
        errors.extend(container_security_errors(context, f"{path}.securityContext", host_users=host_users))
    return errors


def _resize_policy_errors(policies: Sequence[Mapping[str, Any]], restarts: str, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    seen: set[str] = set()
    for index, policy in enumerate(policies):
        name, wanted = policy.get("resourceName") or "", policy.get("restartPolicy") or ""
        if name in seen:
            errors.append(duplicate(f"{path}[{index}]", JsonText(name)))
        seen.add(name)
        for value, supported in ((name, ("cpu", "memory")), (wanted, ("NotRequired", "RestartContainer"))):
            if value not in supported:
                errors.append(not_supported(path, JsonText(value), supported) if value else required(path))
        if restarts == "Never" and wanted != "NotRequired":
            text = "must be 'NotRequired' when pod `restartPolicy` is 'Never'"
            errors.append(invalid(path, JsonText(wanted), text))
    return distinct(errors)


def _pull_policy_errors(policy: str, path: str) -> list[FieldError]:
    if not policy:
        return [required(path)]
    return [] if policy in _PULL_POLICIES else [not_supported(path, JsonText(policy), _PULL_POLICIES)]


def _port_errors(ports: Sequence[Mapping[str, Any]], path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    names: set[str] = set()
    for index, port in enumerate(ports):
        at = f"{path}[{index}]"
        if name := port.get("name"):
            faults = port_name_faults(name)
            errors.extend(invalid(f"{at}.name", name, fault) for fault in faults)
            if not faults and name in names:
                errors.append(duplicate(f"{at}.name", name))
            names.add(name)
        number = port.get("containerPort", 0)
        if number == 0:
            errors.append(required(f"{at}.containerPort"))
        elif not 1 <= number <= 65535:
            errors.append(invalid(f"{at}.containerPort", number, PORT_RANGE))
        host_port = port.get("hostPort", 0)
        if host_port and not 1 <= host_port <= 65535:
            errors.append(invalid(f"{at}.hostPort", host_port, PORT_RANGE))
        protocol = port.get("protocol", "")
        if not protocol:
            errors.append(required(f"{at}.protocol"))
        elif protocol not in _PROTOCOLS:
            errors.append(not_supported(f"{at}.protocol", JsonText(protocol), _PROTOCOLS))
    return errors


def _host_port_conflicts(containers: Sequence[Mapping[str, Any]], path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    taken: set[str] = set()
    for index, container in enumerate(containers):
        for at, port in enumerate(container.get("ports") or ()):
            number = port.get("hostPort", 0)
            if not number:
                continue
            shown = f"{port.get('protocol', '')}/{port.get('hostIP', '')}/{number}"
            if shown in taken:
                errors.append(duplicate(f"{path}[{index}].ports[{at}].hostPort", shown))
            taken.add(shown)
    return errors


_PARTS: Final[Mapping[str, Callable[[Any, str], list[FieldError]]]] = {
    "ports": _port_errors,
    "env": env_errors,
    "envFrom": env_from_errors,
}
"""Fields that are lists of JSON objects, and who checks them, in the API's order."""
