"""`doorman get devices`: every published device: where it is, to whom it is allocated, what taints it and whence."""

from collections.abc import Iterable, Sequence
from typing import Any

import click
import msgspec
import yaml

from doorman.api.views.resource.devices import DeviceId, DeviceTaint, DeviceTaintRule, ResourceSlice
from doorman.api.views.resource.resource_claims import ResourceClaim
from doorman.base.errors import ApiError
from doorman.cli.error_output import fail, fail_with
from doorman.cli.objects.output import print_columns
from doorman.client.command_line.http_client import HttpClient
from doorman.client.command_line.unreachable import Unreachable
from doorman.semantics.devices.device_taints import selector_names_device

HEADER = ("NODE", "DEVICE", "DRIVER", "ALLOCATED TO", "TAINTS")
GROUP = "/apis/resource.k8s.io/v1"


class DeviceRow(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    node: str
    device: str
    driver: str
    pool: str
    claims: tuple[str, ...]
    """`namespace/name`, each with the pods that use it."""
    taints: tuple[str, ...]
    """Each with where it is from."""


def print_devices(client: HttpClient, nodes: tuple[str, ...], output: str) -> None:
    try:
        listed = {
            kind: client.request("GET", f"{GROUP}/{kind}")["items"]
            for kind in ("resourceslices", "resourceclaims", "devicetaintrules")
        }
    except (ApiError, Unreachable) as error:
        fail_with([error])
    rows = device_rows(
        msgspec.convert(listed["resourceslices"], list[ResourceSlice]),
        msgspec.convert(listed["resourceclaims"], list[ResourceClaim]),
        msgspec.convert(listed["devicetaintrules"], list[DeviceTaintRule]),
    )
    chosen = [row for row in rows if not nodes or row.node in nodes]
    if output == "name":
        fail("error: devices have no names of their own; use -o json or -o yaml")
    elif output == "json":
        print(msgspec.json.format(msgspec.json.encode(chosen), indent=4).decode())
    elif output == "yaml":
        print(yaml.safe_dump(msgspec.to_builtins(chosen), sort_keys=True, allow_unicode=True), end="")
    elif not chosen:
        click.echo("No devices found.", err=True)
    else:
        print_columns([HEADER, *(_columns(row) for row in chosen)])


def device_rows(
    slices: Sequence[ResourceSlice], claims: Sequence[ResourceClaim], rules: Sequence[DeviceTaintRule]
) -> list[DeviceRow]:
    """Of each pool the newest generation, in order of nodes and pools."""
    newest: dict[tuple[str, str], int] = {}
    for one in slices:
        pool = (one.spec.driver, one.spec.pool.name)
        newest[pool] = max(newest.get(pool, 0), one.spec.pool.generation)
    holders: dict[DeviceId, list[str]] = {}
    for claim in claims:
        for result in claim.status.allocation.devices.results if claim.status.allocation is not None else ():
            holders.setdefault(result.id, []).append(_holder(claim))
    rows = []
    for one in slices:
        spec = one.spec
        if spec.pool.generation != newest[spec.driver, spec.pool.name]:
            continue
        for device in spec.devices:
            identity = (spec.driver, spec.pool.name, device.name)
            row = DeviceRow(
                node=spec.node_name or device.node_name or "<any>",
                device=device.name,
                driver=spec.driver,
                pool=spec.pool.name,
                claims=tuple(holders.get(identity, ())),
                taints=(*_published(device.taints, one.metadata.name), *_of_rules(identity, rules)),
            )
            rows.append(row)
    published = {(row.driver, row.pool, row.device) for row in rows}
    for identity, claims_of_it in holders.items():
        if identity not in published:
            rows.append(_withdrawn(identity, tuple(claims_of_it), rules))
    return sorted(rows, key=lambda row: (row.node, row.driver, row.pool))


def _withdrawn(device: DeviceId, claims: tuple[str, ...], rules: Sequence[DeviceTaintRule]) -> DeviceRow:
    """A claim has it, and no driver publishes it any more."""
    driver, pool, name = device
    return DeviceRow(
        node="<withdrawn>", device=name, driver=driver, pool=pool, claims=claims, taints=tuple(_of_rules(device, rules))
    )


def _holder(claim: ResourceClaim) -> str:
    pods = ", ".join(consumer.name for consumer in claim.status.reserved_for)
    return f"{claim.metadata.key} ({pods})" if pods else claim.metadata.key


def _published(taints: Iterable[DeviceTaint], slice_name: str) -> list[str]:
    return [f"{taint} (slice {slice_name})" for taint in taints]


def _of_rules(device: DeviceId, rules: Iterable[DeviceTaintRule]) -> list[str]:
    """A rule without a selector keeps every device from being allocated, and evicts nobody: that is told."""
    found = []
    for rule in rules:
        if selector_names_device(rule.spec.device_selector, device, missing_is_all=True):
            note = "" if rule.spec.device_selector is not None else ", not evicting"
            found.append(f"{rule.spec.taint} (rule {rule.metadata.name}{note})")
    return found


def _columns(row: DeviceRow) -> tuple[Any, ...]:
    return row.node, row.device, row.driver, ", ".join(row.claims) or "<none>", ", ".join(row.taints) or "<none>"
