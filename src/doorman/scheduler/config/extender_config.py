"""Reads `extenders` of a KubeSchedulerConfiguration, and checks them."""

import base64
import binascii
from collections.abc import Sequence

import msgspec

from doorman.base.durations import parse_duration
from doorman.base.go_format import quote
from doorman.scheduler.extenders.extender import TIMEOUT_SECONDS, Extender, ExtenderTls, ManagedResource, in_turn
from doorman.semantics.name_syntax import qualified_name_faults
from doorman.semantics.pods.resource_names import is_extended_resource


class _Managed(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    name: str = ""
    ignored_by_scheduler: bool = False


class _Tls(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel", kw_only=True):
    insecure: bool = False
    server_name: str = ""
    cert_file: str = ""
    key_file: str = ""
    ca_file: str = ""
    cert_data: str = ""
    key_data: str = ""
    ca_data: str = ""


class ExtenderEntry(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel", kw_only=True):
    """One of them as written."""

    url_prefix: str = ""
    filter_verb: str = ""
    prioritize_verb: str = ""
    preempt_verb: str = ""
    bind_verb: str = ""
    weight: int = 0
    enable_https: bool = msgspec.field(default=False, name="enableHTTPS")
    tls_config: _Tls | None = msgspec.field(default=None, name="tlsConfig")
    http_timeout: str = msgspec.field(default="", name="httpTimeout")
    node_cache_capable: bool = False
    managed_resources: tuple[_Managed, ...] = ()
    ignorable: bool = False


def read_extenders(entries: Sequence[ExtenderEntry], errors: list[str]) -> tuple[Extender, ...]:
    """In the order in which they are asked. What is wrong is added to `errors`."""
    extenders: list[Extender] = []
    managed: set[str] = set()
    for at, entry in enumerate(entries):
        path = f"extenders[{at}]"
        if entry.prioritize_verb and entry.weight <= 0:
            errors.append(f"{path}.weight: Invalid value: {entry.weight}: must have a positive weight applied to it")
        for number, resource in enumerate(entry.managed_resources):
            where = f"{path}.managedResources[{number}].name: Invalid value: {quote(resource.name)}"
            errors.extend(f"{where}: {fault}" for fault in _name_faults(resource.name))
            if resource.name in managed:
                errors.append(f"{where}: duplicate extender managed resource name")
            managed.add(resource.name)
        extenders.append(_extender(entry, path, errors))
    binders = sum(bool(entry.bind_verb) for entry in entries)
    if binders > 1:
        found = f"found {binders} extenders implementing bind"
        errors.append(f"extenders: Invalid value: {quote(found)}: only one extender can implement bind")
    return in_turn(extenders)


def ignored_resources(extenders: Sequence[Extender]) -> tuple[str, ...]:
    """Resources that an extender looks after alone."""
    return tuple(
        resource.name
        for extender in extenders
        for resource in extender.managed_resources
        if resource.ignored_by_scheduler
    )


def _name_faults(name: str) -> Sequence[str]:
    return qualified_name_faults(name) or (
        () if is_extended_resource(name) else ("is an invalid extended resource name",)
    )


def _extender(entry: ExtenderEntry, path: str, errors: list[str]) -> Extender:
    timeout = TIMEOUT_SECONDS
    if entry.http_timeout:
        try:
            timeout = parse_duration(entry.http_timeout) or TIMEOUT_SECONDS
        except ValueError as error:
            errors.append(f"{path}.httpTimeout: {error}")
    tls = ExtenderTls(insecure=True) if entry.enable_https else None
    if entry.tls_config is not None:
        tls = _tls(entry, entry.tls_config, f"{path}.tlsConfig", errors)
    return Extender(
        url_prefix=entry.url_prefix,
        filter_verb=entry.filter_verb,
        prioritize_verb=entry.prioritize_verb,
        preempt_verb=entry.preempt_verb,
        bind_verb=entry.bind_verb,
        weight=entry.weight,
        tls=tls,
        timeout_seconds=timeout,
        node_cache_capable=entry.node_cache_capable,
        managed_resources=tuple(
            ManagedResource(name=one.name, ignored_by_scheduler=one.ignored_by_scheduler)
            for one in entry.managed_resources
        ),
        ignorable=entry.ignorable,
    )


def _tls(entry: ExtenderEntry, tls: _Tls, path: str, errors: list[str]) -> ExtenderTls:
    """With `enableHTTPS` and without an authority nobody's certificate is checked, as kube-scheduler has it."""
    trusts_nobody = entry.enable_https and not tls.ca_file and not tls.ca_data
    if tls.insecure and (tls.ca_file or tls.ca_data):
        errors.append(
            f"{path}: Invalid value: specifying a root certificates file with the insecure flag is not allowed"
        )
    return ExtenderTls(
        insecure=tls.insecure or trusts_nobody,
        server_name=tls.server_name,
        cert_file=tls.cert_file,
        key_file=tls.key_file,
        ca_file=tls.ca_file,
        cert_data=_decoded(tls.cert_data, f"{path}.certData", errors),
        key_data=_decoded(tls.key_data, f"{path}.keyData", errors),
        ca_data=_decoded(tls.ca_data, f"{path}.caData", errors),
    )


def _decoded(text: str, path: str, errors: list[str]) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except binascii.Error as error:
        errors.append(f"{path}: {error}")
        return b""
