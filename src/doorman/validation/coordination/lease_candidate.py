"""LeaseCandidates: who would hold a lease, and which version of the software they are."""

import re
from typing import Final

from doorman.base.errors import FieldError, invalid, required
from doorman.base.json_types import Document
from doorman.semantics.name_syntax import config_key_faults
from doorman.validation.context import Context, Validator, distinct
from doorman.validation.coordination.lease import strategy_errors
from doorman.validation.faults import fixed
from doorman.validation.metadata import validate_metadata, validate_metadata_update

_IDENTIFIER: Final = "[0-9A-Za-z-]+"
_VERSION: Final = re.compile(
    r"(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)"
    rf"(?:-({_IDENTIFIER}(?:\.{_IDENTIFIER})*))?(?:\+{_IDENTIFIER}(?:\.{_IDENTIFIER})*)?"
)
_NOT_SEMANTIC: Final = "must be a valid semantic version"

_Version = tuple[tuple[int, ...], tuple[tuple[int, int, str], ...]]
_ZERO: Final[_Version] = ((0, 0, 0), ((1, 0, ""),))


def version_or_none(text: str) -> _Version | None:
    """In a form that compares: numbers, then what comes before a release.

    >>> version_or_none("1.2.3-rc.1") < version_or_none("1.2.3"), version_or_none("1.2"), version_or_none("01.2.3")
    (True, None, None)
    """
    found = _VERSION.fullmatch(text)
    if found is None:
        return None
    numbers = tuple(int(part) for part in found.groups()[:3])
    if not found[4]:
        return numbers, ((1, 0, ""),)
    parts = found[4].split(".")
    if any(part.isdigit() and len(part) > 1 and part[0] == "0" for part in parts):
        return None
    # Numbers come before words, and both before the release itself.
    before = tuple((-1, int(part), "") if part.isdigit() else (0, 0, part) for part in parts)
    return numbers, before


def _errors(doc: Document) -> list[FieldError]:
    spec = doc.get("spec") or {}
    errors = [] if spec.get("leaseName") else [required("spec.leaseName")]
    emulated, binary = spec.get("emulationVersion") or "", spec.get("binaryVersion") or ""
    emulation = version_or_none(emulated) if emulated else _ZERO
    if emulation is None:
        errors.append(invalid("spec.emulationVersion", emulated, _NOT_SEMANTIC))
    version = version_or_none(binary) if binary else _ZERO
    if not binary:
        errors.append(required("spec.binaryVersion"))
    elif version is None:
        errors.append(invalid("spec.binaryVersion", binary, _NOT_SEMANTIC))
    if binary and emulated and (version or _ZERO) < (emulation or _ZERO):
        errors.append(invalid("spec.binaryVersion", binary, "must be greater than or equal to `emulationVersion`"))
    strategy = spec.get("strategy") or ""
    if not strategy:
        return [*errors, required("spec.strategy")]
    if strategy == "OldestEmulationVersion" and (emulation or _ZERO) == _ZERO:
        text = "must be specified when `strategy` is 'OldestEmulationVersion'"
        errors.append(required("spec.emulationVersion", text))
    return [*errors, *strategy_errors(strategy, "spec.strategy")]


def _create(doc: Document, _context: Context) -> list[FieldError]:
    return [*validate_metadata(doc, config_key_faults), *_errors(doc)]


def _update(new: Document, old: Document, _context: Context) -> list[FieldError]:
    errors = [*validate_metadata_update(new, old), *_errors(new)]
    after, before = new.get("spec") or {}, old.get("spec") or {}
    return distinct([*errors, *fixed({"leaseName": after.get("leaseName") or ""}, before, "leaseName", "spec")])


LEASE_CANDIDATE: Final = Validator(create=_create, update=_update)
