"""Findings of a text, as `id:line`."""

from doorman.lint.lint_documents import read_documents
from doorman.lint.linter import Finding, lint
from doorman.lint.rule_table import chosen_rules


def findings(text: str, *, around: str = "", select: tuple[str, ...] = ()) -> list[Finding]:
    others = read_documents(around.encode(), "around.yaml") if around else []
    return lint(read_documents(text.encode(), "file.yaml"), chosen_rules(select), others)


def ids(text: str, *, around: str = "", select: tuple[str, ...] = ()) -> list[str]:
    return [f"{one.rule.id}:{one.line}" for one in findings(text, around=around, select=select)]


def workload(tolerations: str = "[]", *, kind: str = "Deployment", more: str = "{}", name: str = "web") -> str:
    """Its tolerations are on line 7; `more` is the rest of the pod's spec."""
    version = {"Pod": "v1", "Job": "batch/v1"}.get(kind, "apps/v1")
    spec = f"{{containers: [{{name: c, image: i}}], <<: {more}}}"
    if kind == "Pod":
        return (
            f"apiVersion: {version}\nkind: {kind}\nmetadata: {{name: {name}}}\nspec:\n  <<: {spec}\n  # line 6\n"
            f"  tolerations: {tolerations}\n"
        )
    return (
        f"apiVersion: {version}\nkind: {kind}\nmetadata: {{name: {name}}}\nspec: {{template: {{metadata: "
        f"{{labels: {{app: {name}}}}},\n  spec: {{\n  <<: {spec},\n  tolerations: {tolerations}}}}}}}\n"
    )


def node(name: str, *taints: str, labels: str = "{}") -> str:
    """Taints as `key=value:Effect`."""
    written = []
    for taint in taints:
        rest, _, effect = taint.rpartition(":")
        key, _, value = rest.partition("=")
        written.append(f"{{key: {key}, value: '{value}', effect: {effect}}}")
    return (
        f"---\napiVersion: v1\nkind: Node\nmetadata: {{name: {name}, labels: {labels}}}\n"
        f"spec: {{taints: [{', '.join(written)}]}}\n"
    )
