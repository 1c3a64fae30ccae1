"""`doorman lint`: tolerations, taints and budgets that do not do what they say, in files, snapshots or a cluster."""

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, NoReturn

import click

from doorman.base.errors import ApiError
from doorman.cli.error_output import told
from doorman.cli.paths import default_data_dir
from doorman.cli.server_connection import ClusterChoice, kubeconfig_option
from doorman.lint.lint_documents import LintDocument, Unlintable, cluster_documents, read_documents
from doorman.lint.lint_reports import github_report, json_report, sarif_report, text_report
from doorman.lint.lint_rule import LintRule
from doorman.lint.linter import Finding, lint
from doorman.lint.rule_table import RULES, UnknownRule, chosen_rules

SUFFIXES: Final = (".yaml", ".yml", ".json", ".jsonl")
STANDARD_INPUT: Final = "-"


@click.command("lint")
@click.argument("files", nargs=-1, metavar="[FILES...]")
@click.option("--from", "snapshot", type=click.Path(path_type=Path), help="A snapshot, or a dump of kubectl.")
@click.option(
    "-o", "--output", type=click.Choice(["text", "json", "sarif", "github"]), default="text", help="How to print."
)
@click.option(
    "--select", multiple=True, metavar="RULE", help="Only these rules: DM004, DM01, or a name; may be repeated."
)
@click.option("--ignore", multiple=True, metavar="RULE", help="All but these.")
@click.option("--rules", "shows_rules", is_flag=True, help="List the rules.")
@click.option("--explain", default="", metavar="RULE", help="Say why a rule is there and how to fix what it finds.")
@kubeconfig_option
def command(
    files: tuple[str, ...],
    snapshot: Path | None,
    output: str,
    select: tuple[str, ...],
    ignore: tuple[str, ...],
    shows_rules: bool,
    explain: str,
    cluster: ClusterChoice,
) -> None:
    """Find tolerations, taints and budgets that do not do what they say.

    \b
    doorman lint deploy/ pod.yaml                   files and folders; - is standard input
    doorman lint --kubeconfig ~/.kube/config        a cluster
    doorman lint --from cluster.snapshot            a snapshot, or kubectl get ... -o yaml
    doorman lint deploy/ --kubeconfig ~/.kube/config   files, held against the cluster's nodes

    Exit status 1: there are findings. 2: something could not be read. `# doorman: ignore DM004` keeps a line quiet.
    """
    if explain:
        print(
            "\n\n".join(
                f"{rule.id} {rule.name}: {rule.summary}\n{rule.why}\nFix: {rule.fix}" for rule in _rules([explain], [])
            )
        )
        return
    rules = _rules(select, ignore)
    if shows_rules:
        print("\n".join(f"{rule.id}  {rule.name:34}{rule.summary}" for rule in rules))
        return
    problems: list[str] = []
    documents = [one for name in files for one in _file(name, problems)]
    around = list(_file(str(snapshot), problems)) if snapshot is not None else []
    around += _cluster(cluster) if cluster.is_named else []
    if not files:
        if snapshot is None and not cluster.is_named:
            _refuse("nothing to lint", "give files, --kubeconfig FILE or --from SNAPSHOT")
        documents, around = around, []
    if problems:
        click.echo("\n".join(problems), err=True)
    findings = lint(documents, rules, around)
    if documents or not problems:
        sys.stdout.write(_report(findings, rules, output, checked=len(documents)))
    sys.exit(2 if problems else 1 if findings else 0)


def _rules(select: Sequence[str], ignore: Sequence[str]) -> list[LintRule]:
    try:
        return chosen_rules(*([part for text in texts for part in text.split(",")] for texts in (select, ignore)))
    except UnknownRule as error:
        _refuse(str(error), f"`doorman lint --rules` lists them, from {min(RULES)} to {max(RULES)}")


def _report(findings: Sequence[Finding], rules: Sequence[LintRule], output: str, *, checked: int) -> str:
    match output:
        case "json":
            return json_report(findings, checked=checked)
        case "sarif":
            return sarif_report(findings, rules)
        case "github":
            return github_report(findings)
        case _:
            return text_report(findings, checked=checked)


def _file(name: str, problems: list[str]) -> Iterator[LintDocument]:
    """What cannot be read is noted, and the other files are linted all the same."""
    for path in _paths(name):
        try:
            content = sys.stdin.buffer.read() if name == STANDARD_INPUT else path.read_bytes()
            yield from read_documents(content, "standard input" if name == STANDARD_INPUT else str(path))
        except OSError as error:
            problems.append(f"error: {path} cannot be read: {error.strerror}\nhint: is the path right?")
        except Unlintable as error:
            problems.append(f"error: {error}\nhint: {error.hint}")


def _paths(name: str) -> list[Path]:
    path = Path(name)
    if name == STANDARD_INPUT or not path.is_dir():
        return [path]
    return sorted(one for one in path.rglob("*") if one.suffix in SUFFIXES and one.is_file())


def _cluster(choice: ClusterChoice) -> list[LintDocument]:
    from doorman.cli.lint.cluster_objects import cluster_objects  # loaded when there is a cluster to talk to
    from doorman.client.command_line.http_client import HttpClient, find_kubeconfig
    from doorman.client.command_line.unreachable import Unreachable

    try:
        file = find_kubeconfig(choice.kubeconfig, default_data_dir() / "kubeconfig")
        client = HttpClient(file, choice.context, choice.options)
        return cluster_documents(cluster_objects(client))
    except (ApiError, Unreachable) as error:
        click.echo(told(error), err=True)
        sys.exit(2)


def _refuse(message: str, hint: str) -> NoReturn:
    click.echo(f"error: {message}\nhint: {hint}", err=True)
    sys.exit(2)
