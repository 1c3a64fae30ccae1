"""`doorman get taints`: every taint with its record: who, when, why, until when. Of nodes, and of rules for devices."""

from typing import Any, Final

import click
import msgspec
import yaml

from doorman.api.taints import Taint
from doorman.api.views.resource.devices import RESOURCE_VERSION
from doorman.base.clock import Instant
from doorman.base.durations import human_span
from doorman.base.errors import ApiError
from doorman.base.instants import from_time
from doorman.cli.error_output import fail, fail_with
from doorman.cli.objects.output import print_columns
from doorman.client.command_line.http_client import HttpClient
from doorman.client.command_line.unreachable import Unreachable
from doorman.semantics.taints.taint_records import ANNOTATION, TaintRecord, expiry_or_none, read_records

RULE: Final = "devicetaintrule"
HEADER = ("NODE", "TAINT", "AGE", "BY", "MANAGER", "EXPIRES", "REASON")


def print_taints(client: HttpClient, names: tuple[str, ...], selector: str, output: str) -> None:
    try:
        if names:
            nodes = [client.request("GET", f"/api/v1/nodes/{name}") for name in names]
        else:
            query = {"labelSelector": selector} if selector else None
            nodes = client.request("GET", "/api/v1/nodes", query=query)["items"]
        rules = [] if names or selector else _rules(client)
    except (ApiError, Unreachable) as error:
        fail_with([error])
    found = [(node["metadata"]["name"], record) for node in nodes for record in records_of(node)]
    found += [(f"{RULE}/{rule['metadata']['name']}", record) for rule in rules for record in records_of(rule)]
    if output in ("json", "yaml"):
        _print_documents(found, output)
    elif output == "name":
        fail("error: taints have no names of their own; use -o json or -o yaml")
    elif not found:
        click.echo("No taints found.", err=True)
    else:
        now = client.now()
        print_columns([HEADER, *(row(node, record, now) for node, record in found)])


def _rules(client: HttpClient) -> list[dict[str, Any]]:
    """DeviceTaintRules; none of a server that does not serve them."""
    try:
        rules: list[dict[str, Any]] = client.request("GET", f"/apis/{RESOURCE_VERSION}/devicetaintrules")["items"]
    except ApiError as error:
        if error.code != 404:
            raise
        return []
    return rules


def records_of(obj: dict[str, Any]) -> list[TaintRecord]:
    """One for each taint of a node or a rule, also for those nobody has kept a record of."""
    known = {r.identity: r for r in read_records((obj["metadata"].get("annotations") or {}).get(ANNOTATION))}
    records = []
    spec = obj.get("spec", {})
    taints = [spec["taint"]] if "taint" in spec else spec.get("taints") or []
    for taint in msgspec.convert(taints, list[Taint]):
        plain = TaintRecord(key=taint.key, value=taint.value, effect=taint.effect, added=taint.time_added)
        records.append(known.get(plain.identity, plain))
    return records


def row(whose: str, record: TaintRecord, now: Instant) -> tuple[str, ...]:
    """
    >>> row("n", TaintRecord(key="k", effect="NoSchedule", expires="1970-01-01T00:01:00Z"), 0.0)[:6]
    ('n', 'k:NoSchedule', '<unknown>', '<unknown>', '<unknown>', 'in 60s')
    """
    taint = str(Taint(key=record.key, value=record.value, effect=record.effect))
    expiry = expiry_or_none(record)
    return (
        whose,
        taint,
        human_span(now - from_time(record.added)) if record.added else "<unknown>",
        record.user or "<unknown>",
        record.manager or "<unknown>",
        "<never>" if expiry is None else f"in {human_span(expiry - now)}" if expiry > now else "now",
        record.reason or "<none>",
    )


def _whose(name: str) -> dict[str, str]:
    kind, sign, rule = name.partition("/")
    return {kind: rule} if sign else {"node": name}


def _print_documents(found: list[tuple[str, TaintRecord]], output: str) -> None:
    docs = [{**_whose(name), **msgspec.to_builtins(record)} for name, record in found]
    if output == "json":
        print(msgspec.json.format(msgspec.json.encode(docs), indent=4).decode())
    else:
        print(yaml.safe_dump(docs, sort_keys=True, allow_unicode=True), end="")
