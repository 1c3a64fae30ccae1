"""How a pod finds names: its own entries for the hosts file, and where it asks."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from doorman.base.errors import FieldError, invalid, required
from doorman.semantics.addresses import ip_faults
from doorman.semantics.name_syntax import subdomain_faults, underscore_subdomain_faults

NAMESERVERS_MAX: Final = 3
SEARCHES_MAX: Final = 32
SEARCH_CHARACTERS_MAX: Final = 2048


def host_alias_errors(aliases: Sequence[Mapping[str, Any]], path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    for index, alias in enumerate(aliases):
        errors.extend(address_errors(alias.get("ip", ""), f"{path}[{index}].ip"))
        for at, name in enumerate(alias.get("hostnames") or ()):
            errors.extend(invalid(f"{path}[{index}].hostnames[{at}]", name, fault) for fault in subdomain_faults(name))
    return errors


def dns_config_errors(config: Mapping[str, Any] | None, policy: str, path: str) -> list[FieldError]:
    if config is None:
        needed = policy == "None"
        return [required(path, "must provide `dnsConfig` when `dnsPolicy` is None")] if needed else []
    servers: Sequence[str] = config.get("nameservers") or ()
    if policy == "None" and not servers:
        text = "must provide at least one DNS nameserver when `dnsPolicy` is None"
        return [required(f"{path}.nameservers", text)]
    errors: list[FieldError] = []
    if len(servers) > NAMESERVERS_MAX:
        text = f"must not have more than {NAMESERVERS_MAX} nameservers"
        errors.append(invalid(f"{path}.nameservers", servers, text))
    for index, server in enumerate(servers):
        errors.extend(address_errors(server, f"{path}.nameservers[{index}]"))
    errors.extend(_search_errors(config.get("searches") or (), f"{path}.searches"))
    errors.extend(
        required(f"{path}.options[{index}]", "must not be empty")
        for index, option in enumerate(config.get("options") or ())
        if not option.get("name")
    )
    return errors


def address_errors(text: str, path: str) -> list[FieldError]:
    return [invalid(path, text, fault) for fault in ip_faults(text, legacy=True)]


def _search_errors(searches: Sequence[str], path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    if len(searches) > SEARCHES_MAX:
        errors.append(invalid(path, searches, f"must not have more than {SEARCHES_MAX} search paths"))
    if len(" ".join(searches)) > SEARCH_CHARACTERS_MAX:
        text = f"must not have more than {SEARCH_CHARACTERS_MAX} characters (including spaces) in the search list"
        errors.append(invalid(path, searches, text))
    for index, search in enumerate(searches):
        name = search.removesuffix(".")
        if search != ".":  # the root
            errors.extend(invalid(f"{path}[{index}]", name, fault) for fault in underscore_subdomain_faults(name))
    return errors
