"""`doorman plan`: what a taint, a drain or a lost zone will do, before it is done."""

import sys
from collections.abc import Sequence
from pathlib import Path

import click
import msgspec

from doorman.base.json_types import Document
from doorman.cli.objects.apply import manifests_in
from doorman.cli.planning.cluster_source import bad_input
from doorman.cli.planning.plan_flags import FAIL_ON, PlanRequest, plan_flags, planned
from doorman.client.command_line.manifests import ManifestError
from doorman.plan.plan_actions import ApplyObjects, DrainNodes, LoseNodes, PlanAction, PlanError, Step
from doorman.plan.plan_result import Plan
from doorman.plan.plan_script import one_choice, parse_script, seconds_of, taint_action
from doorman.plan.reports.plan_html import plan_html
from doorman.plan.reports.plan_text import comparison_text, plan_text
from doorman.semantics.taints.taint_spec import TaintCommandError, split_arguments

FAILED_ON = 3
_SETTINGS = {"show_default": True, "max_content_width": 100}
_WITH_DASHES = {**_SETTINGS, "ignore_unknown_options": True}


@click.group("plan")
def command() -> None:
    """Ask before you act: who leaves, when, why, where they land, and what breaks.

    The real scheduler and controllers run on a copy of the cluster in virtual time. Nothing is changed.

    \b
    doorman plan taint node-1 maintenance:NoExecute
    doorman plan drain node-1 node-2
    doorman plan lose --zone a --node-monitor-grace-period 20s
    doorman plan script timeline.yaml --from cluster.jsonl.gz -o html > plan.html
    """


@command.command("taint", context_settings=_WITH_DASHES)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
@click.option("--overwrite", is_flag=True, help="Replace a taint of the same key and effect.")
@click.option("--all", "everything", is_flag=True, help="All nodes.")
@click.option("-l", "--selector", default="", help="Nodes with these labels.")
@plan_flags
def taint(arguments: tuple[str, ...], overwrite: bool, everything: bool, selector: str, request: PlanRequest) -> None:
    """NODE... KEY[=VALUE]:EFFECT..., as kubectl taint takes them; one more - takes a taint away.

    \b
    doorman plan taint node-1 maintenance:NoExecute
    doorman plan taint node-1 node-2 maintenance:NoExecute --horizon 10m
    """
    try:
        rest = arguments[1:] if arguments[:1] and arguments[0] in ("node", "nodes", "no") else arguments
        names, specs = split_arguments(("nodes", *rest))
        choice = one_choice(names=tuple(names[1:]), selector=selector, everything=everything)
        _tell(request, [_now(taint_action(choice, specs, overwrite=overwrite))])
    except TaintCommandError as error:
        bad_input(str(error), "doorman plan taint node-1 maintenance:NoExecute")
    except PlanError as error:
        bad_input(str(error), error.hint)


@command.command("drain", context_settings=_SETTINGS)
@click.argument("names", nargs=-1)
@click.option("-l", "--selector", default="", help="Nodes with these labels.")
@plan_flags
def drain(names: tuple[str, ...], selector: str, request: PlanRequest) -> None:
    """NODE...: as kubectl drain with every flag that lets it proceed; what it would ask for is told.

    \b
    doorman plan drain node-1
    doorman plan drain -l disk=old --fail-on budgets,pending
    """
    try:
        _tell(request, [_now(DrainNodes(nodes=one_choice(names=names, selector=selector)))])
    except PlanError as error:
        bad_input(str(error), error.hint)


@command.command("lose", context_settings=_SETTINGS)
@click.option("--zone", default="", help="All nodes of a zone.")
@click.option("--node", "names", multiple=True, help="A node; may be repeated.")
@click.option("-l", "--selector", default="", help="Nodes with these labels.")
@click.option("--for", "span", default="", metavar="DURATION", help="They are back after so long.  [default: never]")
@plan_flags
def lose(zone: str, names: tuple[str, ...], selector: str, span: str, request: PlanRequest) -> None:
    """Nodes fall silent: machines die, or the network to them does.

    \b
    doorman plan lose --node node-1
    doorman plan lose --zone b --for 10m -o html > plan.html
    """
    try:
        seconds = seconds_of(span, "--for") if span else None
        if seconds == 0:
            raise PlanError(f"--for: {span} is no time at all", "--for 10m; without it they stay lost")
        choice = one_choice(names=names, selector=selector, zone=zone)
        _tell(request, [_now(LoseNodes(nodes=choice, seconds=seconds))])
    except PlanError as error:
        bad_input(str(error), error.hint)


@command.command("apply", context_settings=_SETTINGS)
@click.option("-f", "--filename", "files", multiple=True, required=True, help="A file, a folder, or - for input.")
@plan_flags
def apply(files: tuple[str, ...], request: PlanRequest) -> None:
    """Objects are created or changed, as doorman apply does it.

    \b
    doorman plan apply -f deployment.yaml
    """
    try:
        objects = tuple(msgspec.json.encode(doc) for doc in _manifests(files))
        if not objects:
            raise PlanError(f"{', '.join(files)} holds no objects", "is it a manifest?")
        _tell(request, [_now(ApplyObjects(objects=objects))])
    except PlanError as error:
        bad_input(str(error), error.hint)


@command.command("script", context_settings=_SETTINGS)
@click.argument("file", type=click.Path(path_type=Path))
@plan_flags
def script(file: Path, request: PlanRequest) -> None:
    """A timeline in YAML: several actions, each at its time.

    \b
    doorman plan script timeline.yaml
    """

    def manifests(name: str) -> list[Document]:
        return _manifests([str(file.parent / name)])

    try:
        steps = parse_script(file.read_text(), str(file), manifests)
        _tell(request, steps)
    except OSError as error:
        bad_input(f"{file} cannot be read: {error.strerror}", "is the path right?")
    except UnicodeDecodeError as error:
        bad_input(f"{file} is no YAML: {error}", "docs/plan.md shows a script")
    except PlanError as error:
        bad_input(str(error), error.hint)


def _manifests(files: Sequence[str]) -> list[Document]:
    try:
        return list(manifests_in(files))
    except ManifestError as error:
        raise PlanError(str(error), error.hint or "is the path right?") from error


def _now(action: PlanAction) -> Step:
    return Step(action=action)


def _tell(request: PlanRequest, steps: Sequence[Step]) -> None:
    if request.compares and request.output == "html":
        raise PlanError("--compare has no page", "use -o text or -o json with it")
    found, other = planned(request, steps)
    click.echo(shown(found, other, request.output), nl=False)
    broken = [what for what in request.fail_on if getattr(found.summary, FAIL_ON[what])]
    if broken:
        click.echo(f"failed on {', '.join(broken)}", err=True)
        sys.exit(FAILED_ON)


def shown(found: Plan, other: Plan | None, output: str) -> str:
    """The plan, or two of them, as it was asked for."""
    if output == "html":
        return plan_html(found)
    if output == "text":
        return plan_text(found) if other is None else comparison_text(other, found)
    document = found if other is None else {"apiVersion": found.api_version, "kind": "PlanComparison",
                                            "before": other, "after": found}  # fmt: skip
    return msgspec.json.format(msgspec.json.encode(document), indent=2).decode() + "\n"
