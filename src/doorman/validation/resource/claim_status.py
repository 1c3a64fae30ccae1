"""The status of a claim: what was allocated to it, for whom it is reserved, and what drivers report of its devices."""

import ipaddress
from typing import Final

from doorman.base.errors import FieldError, JsonText, forbidden, invalid, not_supported, required, too_long, too_many
from doorman.base.go_format import quote
from doorman.validation.faults import Part
from doorman.validation.metadata import IMMUTABLE
from doorman.validation.resource.devices.device_binding import binding_errors
from doorman.validation.resource.devices.device_configuration import configuration_errors, raw_errors
from doorman.validation.resource.devices.device_names import (
    dns_label_errors,
    driver_errors,
    pool_name_errors,
    uid_errors,
)
from doorman.validation.resource.devices.device_request import (
    CONFIGURATIONS_MAX,
    RequestNames,
    request_ref_errors,
    request_refs_errors,
)
from doorman.validation.resource.devices.device_taint import device_tolerations_errors
from doorman.validation.resource.list_checks import UNBOUNDED, itself, list_errors, set_errors
from doorman.validation.resource.status_conditions import condition_errors
from doorman.validation.selectors import node_selector_errors

RESERVATIONS_MAX: Final = 256
RESULTS_MAX: Final = 32
CONDITIONS_MAX: Final = 8
DATA_BYTES_MAX: Final = 10 * 1024
ADDRESSES_MAX: Final = 16
INTERFACE_NAME_BYTES_MAX: Final = 256
HARDWARE_ADDRESS_BYTES_MAX: Final = 128
_SOURCES: Final = ("FromClaim", "FromClass")
_NOT_AN_ADDRESS: Final = "must be a valid address in CIDR form, (e.g. 10.9.8.7/24 or 2001:db8::1/64)"

DeviceKey = tuple[str, str, str, str]
"""Driver, pool, device and share: what tells allocated devices apart."""


def claim_status_errors(status: Part, old: Part, names: RequestNames, *, is_deleted: bool) -> list[FieldError]:
    allocation, before = status.get("allocation"), old.get("allocation")
    allocated = frozenset(device_key(one) for one in results_of(allocation))

    def device(one: Part, path: str) -> list[FieldError]:
        return _device_errors(one, path, allocated)

    reserved = status.get("reservedFor") or ()
    errors = set_errors(
        reserved, "status.reservedFor", RESERVATIONS_MAX, _consumer_errors, lambda one: one.get("uid") or ""
    )
    errors.extend(set_errors(status.get("devices"), "status.devices", UNBOUNDED, device, device_key, itself))
    if reserved and allocation is None:
        errors.append(forbidden("status.reservedFor", "may not be specified when `allocated` is not set"))
    elif is_deleted and any(one not in (old.get("reservedFor") or ()) for one in reserved):
        text = "new entries may not be added while `deallocationRequested` or `deletionTimestamp` are set"
        errors.append(forbidden("status.reservedFor", text))
    if allocation is None:
        return errors
    if before is not None:
        return errors if allocation == before else [*errors, invalid("status.allocation", allocation, IMMUTABLE)]
    return [*errors, *_allocation_errors(allocation, "status.allocation", names)]


def results_of(allocation: Part | None) -> list[Part]:
    return ((allocation or {}).get("devices") or {}).get("results") or []


def device_key(one: Part) -> DeviceKey:
    return (one.get("driver") or "", one.get("pool") or "", one.get("device") or "", one.get("shareID") or "")


def _consumer_errors(consumer: Part, path: str) -> list[FieldError]:
    return [required(f"{path}.{member}") for member in ("resource", "name", "uid") if not consumer.get(member)]


def _allocation_errors(allocation: Part, path: str, names: RequestNames) -> list[FieldError]:
    devices = allocation.get("devices") or {}

    def result(one: Part, at: str) -> list[FieldError]:
        return _result_errors(one, at, names)

    def configuration(one: Part, at: str) -> list[FieldError]:
        return [
            *_source_errors(one.get("source") or "", f"{at}.source"),
            *request_refs_errors(one, at, names),
            *configuration_errors(one, at),
        ]

    # As many as a class and a claim have together.
    configurations_max = 2 * CONFIGURATIONS_MAX
    errors = list_errors(devices.get("results"), f"{path}.devices.results", RESULTS_MAX, result)
    errors.extend(list_errors(devices.get("config"), f"{path}.devices.config", configurations_max, configuration))
    if (selector := allocation.get("nodeSelector")) is not None:
        errors.extend(node_selector_errors(selector, f"{path}.nodeSelector"))
    return errors


def _result_errors(result: Part, path: str, names: RequestNames) -> list[FieldError]:
    errors = [
        *request_ref_errors(result.get("request") or "", f"{path}.request", names),
        *_device_name_errors(result, path),
        *binding_errors(result, path),
        *device_tolerations_errors(result, path),
    ]
    share = result.get("shareID")
    return errors if share is None else [*errors, *uid_errors(share, f"{path}.shareID")]


def _device_name_errors(named: Part, path: str) -> list[FieldError]:
    return [
        *driver_errors(named.get("driver") or "", f"{path}.driver"),
        *pool_name_errors(named.get("pool") or "", f"{path}.pool"),
        *dns_label_errors(named.get("device") or "", f"{path}.device"),
    ]


def _source_errors(source: str, path: str) -> list[FieldError]:
    if not source:
        return [required(path)]
    return [] if source in _SOURCES else [not_supported(path, JsonText(source), _SOURCES)]


def _device_errors(device: Part, path: str, allocated: frozenset[DeviceKey]) -> list[FieldError]:
    errors = _device_name_errors(device, path)
    if (share := device.get("shareID")) is not None:
        errors.extend(uid_errors(share, f"{path}.shareID"))
    if device_key(device) not in allocated:
        errors.append(invalid(path, _shown_key(device), "must be an allocated device in the claim"))
    conditions = device.get("conditions") or ()
    if len(conditions) > CONDITIONS_MAX:
        errors.append(too_many(f"{path}.conditions", len(conditions), CONDITIONS_MAX))
    errors.extend(condition_errors(conditions, f"{path}.conditions"))
    if "data" in device:
        errors.extend(raw_errors(device["data"], f"{path}.data", DATA_BYTES_MAX))
    return [*errors, *_network_errors(device.get("networkData") or {}, f"{path}.networkData")]


def _shown_key(device: Part) -> dict[str, str]:
    driver, pool, name, share = device_key(device)
    return {"Driver": driver, "Pool": pool, "Device": name, "ShareID": share}


def _network_errors(network: Part, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    for member, bytes_max in (
        ("interfaceName", INTERFACE_NAME_BYTES_MAX),
        ("hardwareAddress", HARDWARE_ADDRESS_BYTES_MAX),
    ):
        if len((network.get(member) or "").encode()) > bytes_max:
            errors.append(too_long(f"{path}.{member}", bytes_max))
    return [*errors, *set_errors(network.get("ips"), f"{path}.ips", ADDRESSES_MAX, _address_errors, itself)]


def _address_errors(text: str, path: str) -> list[FieldError]:
    """An address with the length of its network's prefix, written as Go writes it."""
    address, slash, length = text.partition("/")
    try:
        found = ipaddress.ip_interface(text)
    except ValueError:
        return [invalid(path, text, _NOT_AN_ADDRESS)]
    if not slash or not (length.isascii() and length.isdigit()) or "%" in address:
        return [invalid(path, text, _NOT_AN_ADDRESS)]
    mapped = found.ip.ipv4_mapped if isinstance(found.ip, ipaddress.IPv6Address) else None
    size = found.network.prefixlen
    written = f"{found.ip}/{size}" if mapped is None else f"{mapped}/{size - 96 if size > 32 else size}"
    return [] if text == written else [invalid(path, text, f"must be in canonical form ({quote(written)})")]
