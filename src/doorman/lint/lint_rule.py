"""A rule: its id for good, what it looks for, why, and how to mend it."""

from collections.abc import Callable, Iterable
from enum import StrEnum

import msgspec

from doorman.lint.lint_documents import LintDocument
from doorman.lint.surroundings import Surroundings
from doorman.lint.yaml_positions import YamlPath


class Severity(StrEnum):
    ERROR = "error"
    """The API refuses it, or it never does what it says."""
    WARNING = "warning"
    """It does something that few people mean."""


class Problem(msgspec.Struct, frozen=True):
    """What a rule found in a document."""

    path: YamlPath
    message: str


LintCheck = Callable[[LintDocument, Surroundings], Iterable[Problem]]


class LintRule(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    """`DM004`: never given to another rule."""
    name: str
    summary: str
    why: str
    fix: str
    check: LintCheck
    severity: Severity = Severity.WARNING
    needs_nodes: bool = False
    """It finds nothing unless nodes are known: from a cluster, a snapshot or Node manifests."""
