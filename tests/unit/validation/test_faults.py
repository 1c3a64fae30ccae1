"""Faults that many kinds share."""

from doorman.validation.faults import one_of


def test_enumeration_is_shown_as_json() -> None:
    (fault,) = one_of({"policy": "<x>"}, "policy", "spec", ("File", "None"))
    assert str(fault) == 'spec.policy: Unsupported value: "\\u003cx\\u003e": supported values: "File", "None"'
