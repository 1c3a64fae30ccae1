"""kubectl taint's arguments: their grammar, what they do to a list of taints, and the exact errors.

Rules
-----
1. An argument is about a taint when it holds `=` or `:` or ends in `-`; the others name resources and come first.
2. `key=value:Effect`, `key=:Effect` and `key:Effect` add; one more `-` at the end removes, and so does `key-`.
3. The effect is checked first, then the value, then the key.
4. A removal keeps key and effect; its value is checked and then forgotten. A removal without effect is for all effects.
5. An addition needs an effect. Two additions of one key and effect are an error; two removals are not.
6. Adding and removing the same taint in one command is an error.
7. Without overwriting, adding a taint that the node has already (by key and effect) is an error.
8. Additions come first in the new list; a replaced taint moves there.
9. Removing what is not there is an error, and then nothing is changed at all.
10. The verb: `modified` when overwriting or when taints were added and removed, else `tainted` when the list grew or
    shrank by the additions, else `untainted`.
"""

from collections.abc import Sequence
from enum import StrEnum
from typing import Final

import msgspec

from doorman.api.taints import Effect, Taint
from doorman.semantics.name_syntax import label_value_faults, qualified_name_faults
from doorman.semantics.taints.taint_lists import delete_taint, delete_taints_by_key, has_taint, is_same_taint

EFFECTS: Final = frozenset(effect.value for effect in Effect)


class TaintSpecError(ValueError):
    """An argument that is no taint. kubectl adds how to get help."""


class TaintCommandError(ValueError):
    """Arguments that do not fit together."""


class TaintVerb(StrEnum):
    TAINTED = "tainted"
    UNTAINTED = "untainted"
    MODIFIED = "modified"


class TaintChange(msgspec.Struct, frozen=True, kw_only=True):
    """What a command asks for. A removal without effect is for every effect."""

    additions: tuple[Taint, ...] = ()
    removals: tuple[Taint, ...] = ()


class Changed(msgspec.Struct, frozen=True, kw_only=True):
    taints: tuple[Taint, ...]
    verb: TaintVerb


class TaintRefused(msgspec.Struct, frozen=True, kw_only=True):
    """Nothing is changed on this node, and these are the reasons."""

    reasons: tuple[str, ...]


def split_arguments(arguments: Sequence[str]) -> tuple[list[str], list[str]]:
    """Resource arguments and taint arguments: rule 1.

    >>> split_arguments(["nodes", "n1", "k=v:NoSchedule", "old-"])
    (['nodes', 'n1'], ['k=v:NoSchedule', 'old-'])
    """
    resources: list[str] = []
    specs: list[str] = []
    for argument in arguments:
        if "=" in argument or ":" in argument or argument.endswith("-"):
            specs.append(argument)
        elif specs:
            raise TaintCommandError(f"all resources must be specified before taint changes: {argument}")
        else:
            resources.append(argument)
    if not resources:
        raise TaintCommandError("one or more resources must be specified as <resource> <name>")
    if not specs:
        raise TaintCommandError("at least one taint update is required")
    return resources, specs


def parse_taint(text: str) -> Taint:
    """One taint in kubectl's short form; the effect may be left out, and then the value must be too.

    >>> parse_taint("key1=value1:NoSchedule")
    Taint(key='key1', value='value1', effect='NoSchedule', time_added='')
    """
    head, *rest = text.split(":")
    if not rest:
        key, value, effect = text, "", ""
    elif len(rest) == 1:
        effect = rest[0]
        if effect not in EFFECTS:
            raise TaintSpecError(f"invalid taint effect: {effect}, unsupported taint effect")
        key, *values = head.split("=")
        if len(values) > 1:
            raise TaintSpecError(f"invalid taint spec: {text}")
        value = values[0] if values else ""
        if faults := label_value_faults(value):
            raise TaintSpecError(f"invalid taint spec: {text}, {'; '.join(faults)}")
    else:
        raise TaintSpecError(f"invalid taint spec: {text}")
    if faults := qualified_name_faults(key):
        raise TaintSpecError(f"invalid taint spec: {text}, {'; '.join(faults)}")
    return Taint(key=key, value=value, effect=effect)


def parse_taint_change(specs: Sequence[str]) -> TaintChange:
    """Rules 2 to 6."""
    additions: list[Taint] = []
    removals: list[Taint] = []
    for spec in specs:
        if spec.endswith("-"):
            taint = parse_taint(spec[:-1])
            removals.append(Taint(key=taint.key, effect=taint.effect))
            continue
        taint = parse_taint(spec)
        if not taint.effect:
            raise TaintSpecError(f"invalid taint spec: {spec}")
        if has_taint(additions, taint):
            shown = f"{{{taint.key} {taint.value} {taint.effect} <nil>}}"
            raise TaintSpecError(f"duplicated taints with the same key and effect: {shown}")
        additions.append(taint)
    return TaintChange(additions=tuple(additions), removals=tuple(removals))


def check_conflicts(change: TaintChange) -> None:
    """Rule 6. kubectl looks at this after it has made sure that the resource is a node."""
    both = [
        f"{removal.key}={removal.effect}"
        for addition in change.additions
        for removal in change.removals
        if removal.key == addition.key and removal.effect in ("", addition.effect)
    ]
    if both:
        listed = ", ".join(both)
        raise TaintCommandError(f"can not both modify and remove the following taint(s) in the same command: {listed}")


def apply_taint_change(
    taints: Sequence[Taint], change: TaintChange, *, node_name: str, overwrite: bool
) -> Changed | TaintRefused:
    """Rules 7 to 10, for one node.

    >>> apply_taint_change([], parse_taint_change(["k:NoSchedule"]), node_name="n1", overwrite=False).verb
    <TaintVerb.TAINTED: 'tainted'>
    """
    there = [taint.key for taint in change.additions if has_taint(taints, taint)]
    if there and not overwrite:
        reason = f"node {node_name} already has {','.join(there)} taint(s) with same effect(s) and --overwrite is false"
        return TaintRefused(reasons=(reason,))
    new = (*change.additions, *(old for old in taints if not any(is_same_taint(old, a) for a in change.additions)))
    grew = len(new) != len(taints)
    deleted = False
    missing = []
    for removal in change.removals:
        if removal.effect:
            new, deleted = delete_taint(new, removal)
        else:
            new, deleted = delete_taints_by_key(new, removal.key)
        if not deleted:
            missing.append(f'taint "{removal}" not found')
    if missing:
        return TaintRefused(reasons=tuple(missing))
    if overwrite or (grew and deleted):
        verb = TaintVerb.MODIFIED
    else:
        verb = TaintVerb.TAINTED if grew else TaintVerb.UNTAINTED
    return Changed(taints=new, verb=verb)
