"""What containers on Windows are told: accounts, and whether they run as processes of their host."""

import re
from collections.abc import Mapping
from typing import Any, Final

from doorman.base.errors import FieldError, invalid
from doorman.semantics.name_syntax import subdomain_faults

_Options = Mapping[str, Any]  # windowsOptions as JSON

_SPEC_KIBIBYTES_MAX: Final = 64
_DOMAIN_CHARACTERS_MAX: Final = 256
_USER_CHARACTERS_MAX: Final = 104
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f]")
_NET_BIOS: Final = re.compile(r"""[^\\/:*?"<>|.][^\\/:*?"<>|]{0,14}""")
_DOMAIN_LABEL: Final = "[a-zA-Z0-9]([a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?"
_DOMAIN: Final = re.compile(rf"{_DOMAIN_LABEL}(\.{_DOMAIN_LABEL})*")
_BAD_CHARACTERS: Final = re.compile(r"""["/\\:;|=,+*?<>@\[\]]""")


def windows_option_errors(options: _Options | None, path: str) -> list[FieldError]:
    """`windowsOptions` of a pod or a container."""
    if not options:
        return []
    errors: list[FieldError] = []
    if (name := options.get("gmsaCredentialSpecName")) is not None:
        at = f"{path}.gmsaCredentialSpecName"
        errors += [invalid(at, name, fault) for fault in subdomain_faults(name)]
    if (content := options.get("gmsaCredentialSpec")) is not None:
        at = f"{path}.gmsaCredentialSpec"
        if not content:
            errors.append(invalid(at, content, "gmsaCredentialSpec cannot be an empty string"))
        elif len(content.encode()) > _SPEC_KIBIBYTES_MAX * 1024:
            text = f"gmsaCredentialSpec size must be under {_SPEC_KIBIBYTES_MAX} KiB"
            errors.append(invalid(at, content, text))
    if (user := options.get("runAsUserName")) is not None:
        errors += [invalid(f"{path}.runAsUserName", user, f"runAsUserName{fault}") for fault in _user_faults(user)]
    return errors


def _user_faults(name: str) -> list[str]:
    """
    >>> _user_faults("DOMAIN\\\\user"), _user_faults("a\\\\b\\\\c")
    ([], [' cannot contain more than one backslash'])
    """
    if not name:
        return [" cannot be an empty string"]
    if _CONTROL.search(name):
        return [" cannot contain control characters"]
    *domains, user = name.split("\\")
    if len(domains) > 1:
        return [" cannot contain more than one backslash"]
    faults: list[str] = []
    for domain in domains:
        if len(domain.encode()) >= _DOMAIN_CHARACTERS_MAX:
            faults.append(f"'s Domain length must be under {_DOMAIN_CHARACTERS_MAX} characters")
        if not _NET_BIOS.fullmatch(domain) and not _DOMAIN.fullmatch(domain):
            faults.append("'s Domain doesn't match the NetBios nor the DNS format")
    if not user:
        faults.append("'s User cannot be empty")
    elif len(user.encode()) > _USER_CHARACTERS_MAX:
        faults.append(f"'s User length must not be longer than {_USER_CHARACTERS_MAX} characters")
    if user and not user.strip(". "):
        faults.append("'s User cannot contain only periods or spaces")
    if _BAD_CHARACTERS.search(user):
        faults.append(r"""'s User cannot contain the following characters: "/\:;|=,+*?<>@[]""")
    return faults


def host_process_errors(spec: Mapping[str, Any], path: str) -> list[FieldError]:
    """All containers of a pod are processes of the host, or none; then the network is the host's, too."""
    whole = _host_process(spec)
    errors: list[FieldError] = []
    count = processes = 0
    for group in ("initContainers", "containers", "ephemeralContainers"):
        for index, container in enumerate(spec.get(group) or ()):
            own = _host_process(container)
            count += 1
            if whole is not None and own is not None and whole is not own:
                shown = "true" if whole else "false"
                text = f"pod hostProcess value must be identical if both are specified, was {shown}"
                at = f"{path}.{group}[{index}].securityContext.windowsOptions.hostProcess"
                errors.append(invalid(at, own, text))
            processes += bool(whole if own is None else own)
    if not processes:
        return errors
    if processes != count:
        text = "If pod contains any hostProcess containers then all containers must be HostProcess containers"
        errors.append(invalid(path, "", text))
    if not spec.get("hostNetwork"):
        text = "hostNetwork must be true if pod contains any hostProcess containers"
        errors.append(invalid(f"{path}.hostNetwork", False, text))
    return errors


def _host_process(owner: Mapping[str, Any]) -> bool | None:
    context = owner.get("securityContext")
    options = context.get("windowsOptions") if context else None
    return options.get("hostProcess") if options else None
