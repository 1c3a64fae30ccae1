"""Findings as text, JSON, SARIF 2.1.0 and GitHub's workflow commands."""

import hashlib
from collections.abc import Sequence
from typing import Any, Final

import msgspec

from doorman.api.well_known import FILES_API_VERSION
from doorman.lint.lint_rule import LintRule
from doorman.lint.linter import Finding
from doorman.version import __version__

SARIF_SCHEMA: Final = "https://json.schemastore.org/sarif-2.1.0.json"


def text_report(findings: Sequence[Finding], *, checked: int) -> str:
    lines = [_line(one) for one in findings]
    objects = f"{checked} object{'' if checked == 1 else 's'}"
    if not findings:
        return f"no findings in {objects}\n"
    found = f"{len(findings)} finding{'' if len(findings) == 1 else 's'}"
    hint = f"`doorman lint --explain {findings[0].rule.id}` says why and how to fix"
    return "\n".join((*lines, f"{found} in {objects}; {hint}", ""))


def _line(finding: Finding) -> str:
    """As compilers write it, so that editors find the place; objects of a cluster have none."""
    if not finding.file:
        return f"{finding.object}: {finding.rule.id} {finding.path}: {finding.message} ({finding.rule.name})"
    place = f"{finding.file}:{finding.line}:{finding.column}"
    return f"{place}: {finding.rule.id} {finding.object}: {finding.message} ({finding.rule.name})"


def json_report(findings: Sequence[Finding], *, checked: int) -> str:
    out = {
        "apiVersion": FILES_API_VERSION,
        "kind": "LintReport",
        "summary": {"objects": checked, "findings": len(findings)},
        "findings": [
            {
                "rule": one.rule.id,
                "name": one.rule.name,
                "severity": str(one.rule.severity),
                "message": one.message,
                "object": one.object,
                "path": one.path,
                **({"file": one.file, "line": one.line, "column": one.column} if one.file else {}),
                "fix": one.rule.fix,
            }
            for one in findings
        ],
    }
    return msgspec.json.format(msgspec.json.encode(out), indent=2).decode() + "\n"


def sarif_report(findings: Sequence[Finding], rules: Sequence[LintRule]) -> str:
    numbers = {rule.id: at for at, rule in enumerate(rules)}
    driver = {
        "name": "doorman lint",
        "version": __version__,
        "rules": [_sarif_rule(rule) for rule in rules],
    }
    results = [_sarif_result(one, numbers[one.rule.id]) for one in findings]
    run = {"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": results}
    out = {"$schema": SARIF_SCHEMA, "version": "2.1.0", "runs": [run]}
    return msgspec.json.format(msgspec.json.encode(out), indent=2).decode() + "\n"


def _sarif_rule(rule: LintRule) -> dict[str, Any]:
    return {
        "id": rule.id,
        "name": "".join(part.capitalize() for part in rule.name.split("-")),
        "shortDescription": {"text": rule.summary},
        "fullDescription": {"text": rule.why},
        "help": {"text": rule.fix, "markdown": f"{rule.why}\n\n**Fix.** {rule.fix}"},
        "defaultConfiguration": {"level": str(rule.severity)},
    }


def _sarif_result(finding: Finding, rule_index: int) -> dict[str, Any]:
    logical = [{"fullyQualifiedName": f"{finding.object}: {finding.path}", "kind": "resource"}]
    location: dict[str, Any] = {"logicalLocations": logical}
    if finding.file:
        location["physicalLocation"] = {
            "artifactLocation": {"uri": finding.file.replace("\\", "/")},
            "region": {"startLine": finding.line, "startColumn": finding.column},
        }
    same = "\0".join((finding.rule.id, finding.file, finding.object, finding.path, finding.message))
    return {
        "ruleId": finding.rule.id,
        "ruleIndex": rule_index,
        "level": str(finding.rule.severity),
        "message": {"text": f"{finding.object}: {finding.message}"},
        "locations": [location],
        "partialFingerprints": {"doorman/v1": hashlib.sha256(same.encode()).hexdigest()[:32]},
    }


def github_report(findings: Sequence[Finding]) -> str:
    """One workflow command a finding: GitHub shows them beside the lines of a pull request."""
    return "".join(f"{_command(one)}\n" for one in findings)


def _command(finding: Finding) -> str:
    properties = {"title": f"{finding.rule.id} {finding.rule.name}"}
    if finding.file:
        properties = {"file": finding.file, "line": str(finding.line), "col": str(finding.column), **properties}
    told = ",".join(f"{name}={_escaped(value, more=True)}" for name, value in properties.items())
    return f"::{finding.rule.severity} {told}::{_escaped(f'{finding.object}: {finding.message}')}"


def _escaped(text: str, *, more: bool = False) -> str:
    text = text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
    return text.replace(":", "%3A").replace(",", "%2C") if more else text
