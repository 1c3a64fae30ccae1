"""`doorman device`: what happens to devices of simulated nodes of a running cluster."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import click

from doorman.api.well_known import MERGE_PATCH
from doorman.base.errors import ApiError
from doorman.cli.error_output import fail_with
from doorman.cli.server_connection import ClusterChoice, connect, kubeconfig_option
from doorman.client.command_line.unreachable import Unreachable
from doorman.nodes.devices.device_commands import fail_device, recover_device, taint_device, untaint_device
from doorman.nodes.devices.simulated_devices import DeviceAnnotationError
from doorman.nodes.node_annotations import is_simulated

DeviceOrder = Callable[[Mapping[str, str], str], dict[str, Any]]
"""From a node's annotations and a device's name to a merge patch."""


@click.group("device")
def command() -> None:
    """Taint, untaint, fail or recover devices of simulated nodes. Others are tainted by a DeviceTaintRule.

    \b
    doorman device taint big-1/gpu-0 broken=fan:NoExecute
    doorman device untaint big-1/gpu-0 broken
    doorman device fail big-1/gpu-3
    doorman get devices
    """


@command.command("taint")
@click.argument("device", metavar="NODE/DEVICE")
@click.argument("taints", nargs=-1, required=True, metavar="KEY[=VALUE]:EFFECT...")
@kubeconfig_option
def taint(device: str, taints: tuple[str, ...], cluster: ClusterChoice) -> None:
    """Let the driver publish taints; `KEY-` or `KEY:EFFECT-` takes one away.

    \b
    doorman device taint big-1/gpu-0 broken=fan:NoExecute
    doorman device taint big-1/gpu-0 broken-
    """
    for one in taints:
        is_removal = one.endswith("-")
        order: DeviceOrder = partial(_with_taint, untaint_device if is_removal else taint_device, one)
        _give(device, cluster, order, "untainted" if is_removal else "tainted")


@command.command("untaint")
@click.argument("device", metavar="NODE/DEVICE")
@click.argument("key", metavar="KEY[:EFFECT]")
@kubeconfig_option
def untaint(device: str, key: str, cluster: ClusterChoice) -> None:
    """Let the driver publish the device without a taint.

    \b
    doorman device untaint big-1/gpu-0 broken
    """
    _give(device, cluster, partial(_with_taint, untaint_device, key), "untainted")


@command.command("fail")
@click.argument("device", metavar="NODE/DEVICE")
@kubeconfig_option
def fail_one(device: str, cluster: ClusterChoice) -> None:
    """Let the driver withdraw the device. Claims that have it keep it.

    \b
    doorman device fail big-1/gpu-3
    """
    _give(device, cluster, fail_device, "withdrawn")


@command.command("recover")
@click.argument("device", metavar="NODE/DEVICE")
@kubeconfig_option
def recover_one(device: str, cluster: ClusterChoice) -> None:
    """Let the driver publish the device again.

    \b
    doorman device recover big-1/gpu-3
    """
    _give(device, cluster, recover_device, "published")


def _with_taint(
    order: Callable[[Mapping[str, str], str, str], dict[str, Any]], taint: str, known: Mapping[str, str], name: str
) -> dict[str, Any]:  # a merge patch
    return order(known, name, taint)


def _give(device: str, cluster: ClusterChoice, order: DeviceOrder, verb: str) -> None:
    node, sign, name = device.partition("/")
    if not node or not sign or not name:
        raise click.UsageError(f'want NODE/DEVICE, for example "node-1/gpu-0", not "{device}"')
    client = connect(cluster)
    path = f"/api/v1/nodes/{node}"
    try:
        annotations = client.request("GET", path)["metadata"].get("annotations", {})
        if not is_simulated(annotations):
            text = f'node "{node}" is not simulated: taint devices of real drivers with a DeviceTaintRule'
            raise DeviceAnnotationError(text)
        client.request("PATCH", path, body=order(annotations, name), content_type=MERGE_PATCH)
    except (ApiError, Unreachable, DeviceAnnotationError) as error:
        fail_with([error])
    print(f"device/{device} {verb}")
