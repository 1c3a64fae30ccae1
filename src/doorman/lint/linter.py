"""Rules run over documents; what they find, in the order of files and lines."""

from collections.abc import Iterable, Sequence

import msgspec

from doorman.lint.lint_documents import LintDocument
from doorman.lint.lint_rule import LintRule
from doorman.lint.surroundings import Surroundings


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    rule: LintRule
    message: str
    file: str
    """Empty: the object comes from a cluster."""
    line: int
    column: int
    object: str
    """`Deployment shop/web`."""
    path: str
    """`spec.template.spec.tolerations[0]`."""


def lint(
    documents: Sequence[LintDocument], rules: Iterable[LintRule], around: Sequence[LintDocument] = ()
) -> list[Finding]:
    """What is wrong with the documents. `around` are more of the same cluster, which are not linted themselves."""
    surroundings = Surroundings((*documents, *around))
    order = {source: at for at, source in enumerate(dict.fromkeys(one.source for one in documents))}
    chosen = [rule for rule in rules if surroundings.nodes or not rule.needs_nodes]
    found = [finding for document in documents for finding in _findings(document, chosen, surroundings)]
    return sorted(
        found, key=lambda one: (order[one.file], one.line, one.object if not one.file else "", one.column, one.rule.id)
    )


def _findings(document: LintDocument, rules: Iterable[LintRule], around: Surroundings) -> Iterable[Finding]:
    for rule in rules:
        for problem in rule.check(document, around):
            at = document.position(problem.path)
            if document.ignores.covers(rule.id, at.line):
                continue
            yield Finding(
                rule=rule,
                message=problem.message,
                file=document.source,
                line=at.line,
                column=at.column,
                object=document.title,
                path=shown_path(problem.path),
            )


def shown_path(path: Iterable[str | int]) -> str:
    """
    >>> shown_path(("spec", "tolerations", 0, "key"))
    'spec.tolerations[0].key'
    """
    text = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)
    return text.removeprefix(".")
