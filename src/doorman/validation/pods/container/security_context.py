"""Under which user, groups, profiles and kernel settings pods and containers run."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from doorman.base.errors import FieldError, JsonText, duplicate, forbidden, invalid, not_supported, required, too_long
from doorman.validation.pods.container.windows_options import windows_option_errors

_Context = Mapping[str, Any]  # a security context as JSON

ID_MAX: Final = 2**31 - 1
_ID_RANGE: Final = f"must be between 0 and {ID_MAX}, inclusive"

SYSCTL_CHARACTERS_MAX: Final = 253
_SEGMENT: Final = "[a-z0-9]([-_a-z0-9]*[a-z0-9])?"
_SYSCTL: Final = f"^({_SEGMENT}[\\./])*{_SEGMENT}$"
_SYSCTL_FORM: Final = re.compile(f"({_SEGMENT}[./])*{_SEGMENT}")

_GROUP_CHANGES: Final = ("Always", "OnRootMismatch")
_GROUP_POLICIES: Final = ("Merge", "Strict")
_SELINUX_CHANGES: Final = ("MountOption", "Recursive")
_PROC_MOUNTS: Final = ("Default", "Unmasked")
_PROFILE_TYPES: Final = ("Localhost", "RuntimeDefault", "Unconfined")
PROFILE_BYTES_MAX: Final = 4095
_NOT_ON_WINDOWS: Final = (
    ("context", "appArmorProfile"), ("context", "seLinuxOptions"), ("context", "seccompProfile"),
    ("context", "fsGroup"), ("context", "fsGroupChangePolicy"), ("context", "sysctls"), ("context", "runAsUser"),
    ("context", "runAsGroup"), ("context", "supplementalGroups"), ("context", "supplementalGroupsPolicy"),
    ("context", "seLinuxChangePolicy"), ("spec", "hostUsers"), ("spec", "hostPID"), ("spec", "hostIPC"),
    ("spec", "shareProcessNamespace"),
)  # fmt: skip
"""Fields of the pod's spec and of its security context, in the API's order."""
_HOST_NAMESPACES: Final = (("hostNetwork", "hostNetwork"), ("hostPID", "HostPID"), ("hostIPC", "HostIPC"))
"""With the words in which the API speaks of them."""
_FLAGS: Final = ("hostPID", "hostIPC")
"""Of these, false is as good as nothing."""
_NOT_IN_WINDOWS_CONTAINERS: Final = (
    "appArmorProfile", "seLinuxOptions", "seccompProfile", "capabilities", "readOnlyRootFilesystem", "privileged",
    "allowPrivilegeEscalation", "procMount", "runAsUser", "runAsGroup",
)  # fmt: skip


def pod_security_errors(spec: Mapping[str, Any], path: str) -> list[FieldError]:
    """`spec.securityContext`, in the API's order."""
    context: _Context = spec.get("securityContext") or {}
    if not context and not spec.get("shareProcessNamespace"):
        return []
    at = f"{path}.securityContext"
    errors = _id_errors(context, at, "fsGroup", "runAsUser", "runAsGroup")
    for index, group in enumerate(context.get("supplementalGroups") or ()):
        if not 0 <= group <= ID_MAX:
            errors.append(invalid(f"{at}.supplementalGroups[{index}]", group, _ID_RANGE))
    if sysctls := context.get("sysctls"):
        errors.extend(_sysctl_errors(sysctls, spec, f"{at}.sysctls"))
    errors.extend(_choice_errors(context, at, "fsGroupChangePolicy", _GROUP_CHANGES))
    errors.extend(_seccomp_errors(context.get("seccompProfile"), f"{at}.seccompProfile"))
    errors.extend(windows_option_errors(context.get("windowsOptions"), f"{at}.windowsOptions"))
    errors.extend(_app_armor_errors(context.get("appArmorProfile"), f"{at}.appArmorProfile"))
    errors.extend(_choice_errors(context, at, "supplementalGroupsPolicy", _GROUP_POLICIES))
    errors.extend(_choice_errors(context, at, "seLinuxChangePolicy", _SELINUX_CHANGES))
    if spec.get("shareProcessNamespace") and spec.get("hostPID"):
        text = "ShareProcessNamespace and HostPID cannot both be enabled"
        errors.append(invalid(f"{path}.shareProcessNamespace", True, text))
    return errors


def container_security_errors(context: _Context, path: str, *, host_users: bool) -> list[FieldError]:
    """`securityContext` of a container. `host_users`: the pod's users are the host's."""
    errors = _id_errors(context, path, "runAsUser", "runAsGroup")
    errors.extend(_choice_errors(context, path, "procMount", _PROC_MOUNTS))
    if host_users and context.get("procMount") == "Unmasked":
        errors.append(invalid(f"{path}.procMount", "Unmasked", "`hostUsers` must be false to use `Unmasked`"))
    errors.extend(_seccomp_errors(context.get("seccompProfile"), f"{path}.seccompProfile"))
    if context.get("allowPrivilegeEscalation") is False:
        refusal = "cannot set `allowPrivilegeEscalation` to false and"
        if context.get("privileged"):
            errors.append(invalid(path, context, f"{refusal} `privileged` to true"))
        for capability in (context.get("capabilities") or {}).get("add") or ():
            if capability == "CAP_SYS_ADMIN":
                errors.append(invalid(path, context, f"{refusal} `capabilities.Add` CAP_SYS_ADMIN"))
    errors.extend(windows_option_errors(context.get("windowsOptions"), f"{path}.windowsOptions"))
    errors.extend(_app_armor_errors(context.get("appArmorProfile"), f"{path}.appArmorProfile"))
    return errors


def host_user_errors(spec: Mapping[str, Any], path: str) -> list[FieldError]:
    """A pod with users of its own shares no other namespace with its host."""
    if spec.get("hostUsers", True):
        return []
    shared = ((field, shown) for field, shown in _HOST_NAMESPACES if spec.get(field))
    errors = [forbidden(f"{path}.{shown}", "when `hostUsers` is false") for _, shown in shared]
    for group in ("initContainers", "containers", "ephemeralContainers"):
        for index, container in enumerate(spec.get(group) or ()):
            if container.get("volumeDevices"):
                errors.append(forbidden(f"{path}.{group}[{index}].volumeDevices", "when `hostUsers` is false"))
    return errors


def linux_errors(spec: Mapping[str, Any], path: str) -> list[FieldError]:
    """What a pod that says it is for Linux must not have."""
    text = "windows options cannot be set for a linux pod"
    holders = [("securityContext", spec.get("securityContext") or {}), *_container_contexts(spec)]
    return [forbidden(f"{path}.{at}.windowsOptions", text) for at, context in holders if "windowsOptions" in context]


def windows_errors(spec: Mapping[str, Any], path: str) -> list[FieldError]:
    """What a pod that says it is for Windows must not have."""
    context: _Context = spec.get("securityContext") or {}
    found = [
        name if holder == "spec" else f"securityContext.{name}"
        for holder, name in _NOT_ON_WINDOWS
        if (name in spec and (spec[name] or name not in _FLAGS) if holder == "spec" else context.get(name) is not None)
    ]
    for at, one in _container_contexts(spec):
        found.extend(f"{at}.{name}" for name in _NOT_IN_WINDOWS_CONTAINERS if name in one)
    return [forbidden(f"{path}.{at}", "cannot be set for a windows pod") for at in found]


def _container_contexts(spec: Mapping[str, Any]) -> list[tuple[str, _Context]]:
    """Where containers have their security contexts, in the order in which the API looks at them."""
    return [
        (f"{group}[{index}].securityContext", container.get("securityContext") or {})
        for group in ("initContainers", "containers", "ephemeralContainers")
        for index, container in enumerate(spec.get(group) or ())
    ]


def _id_errors(context: _Context, path: str, *fields: str) -> list[FieldError]:
    return [
        invalid(f"{path}.{field}", context[field], _ID_RANGE)
        for field in fields
        if field in context and not 0 <= context[field] <= ID_MAX
    ]


def _choice_errors(context: _Context, path: str, field: str, choices: Sequence[str]) -> list[FieldError]:
    found = context.get(field)
    if found is None or found in choices:
        return []
    return [not_supported(f"{path}.{field}", JsonText(found), choices)]


def _sysctl_errors(sysctls: Sequence[_Context], spec: Mapping[str, Any], path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    names: set[str] = set()
    for index, sysctl in enumerate(sysctls):
        name, at = sysctl.get("name", ""), f"{path}[{index}].name"
        if not name:
            errors.append(required(at))
        elif len(name) > SYSCTL_CHARACTERS_MAX or not _SYSCTL_FORM.fullmatch(name):
            text = f"must have at most {SYSCTL_CHARACTERS_MAX} characters and match regex {_SYSCTL}"
            errors.append(invalid(at, name, text))
        elif name in names:
            errors.append(duplicate(at, name))
        host = _shared_namespace(name)
        if host and spec.get(host):
            errors.append(invalid(at, name, f"may not be specified when '{host}' is true"))
        names.add(name)
    return errors


def _shared_namespace(sysctl: str) -> str:
    """The field with which a pod shares the namespace that the setting belongs to.

    >>> _shared_namespace("net/ipv4/ip_forward"), _shared_namespace("kernel.shmmax"), _shared_namespace("vm.swappiness")
    ('hostNetwork', 'hostIPC', '')
    """
    name = sysctl.replace("/", ".")
    if name.startswith("net."):
        return "hostNetwork"
    if name == "kernel.sem" or name.startswith(("kernel.shm", "kernel.msg", "fs.mqueue.")):
        return "hostIPC"
    return ""


def _seccomp_errors(profile: _Context | None, path: str) -> list[FieldError]:
    if profile is None:
        return []
    errors = _profile_type_errors(profile, path, "type is required when seccompProfile is set")
    local = profile.get("localhostProfile")
    if profile.get("type") != "Localhost":
        if local is not None:
            text = "can only be set when seccomp type is Localhost"
            errors.append(invalid(f"{path}.localhostProfile", profile, text))
    elif local is None:
        errors.append(required(f"{path}.localhostProfile", "must be set when seccomp type is Localhost"))
    else:
        if local.startswith("/"):
            errors.append(invalid(f"{path}.localhostProfile", local, "must be a relative path"))
        if ".." in local.split("/"):
            errors.append(invalid(f"{path}.localhostProfile", local, "must not contain '..'"))
    return errors


def _app_armor_errors(profile: _Context | None, path: str) -> list[FieldError]:
    if profile is None:
        return []
    local, at = profile.get("localhostProfile"), f"{path}.localhostProfile"
    needed = required(at, "must be set when AppArmor type is Localhost")
    if profile.get("type") != "Localhost":
        errors = _profile_type_errors(profile, path, "type is required when appArmorProfile is set")
        if not errors and local is not None:
            errors.append(invalid(at, local, "can only be set when AppArmor type is Localhost"))
        return errors
    if local is None:
        return [needed]
    errors = []
    if local != local.strip():
        errors.append(invalid(at, local, "must not be padded with whitespace"))
    elif not local:
        errors.append(needed)
    if len(local.encode()) > PROFILE_BYTES_MAX:
        errors.append(too_long(at, PROFILE_BYTES_MAX))
    return errors


def _profile_type_errors(profile: _Context, path: str, missing: str) -> list[FieldError]:
    found = profile.get("type", "")
    if found in _PROFILE_TYPES:
        return []
    return [
        not_supported(f"{path}.type", JsonText(found), _PROFILE_TYPES) if found else required(f"{path}.type", missing)
    ]
