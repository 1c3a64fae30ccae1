"""Rules as docs/lint.md shows them."""

from doorman.lint.lint_rule import LintRule


def rule_section(rule: LintRule) -> str:
    needs = " It needs nodes to look at." if rule.needs_nodes else ""
    return f"""### {rule.id} {rule.name}

{rule.summary} ({rule.severity}){needs}

**Why.** {rule.why}

**Fix.** {rule.fix}
"""
