"""Every kind has a validator."""

from doorman.api.kinds import builtin_kinds
from doorman.validation.context import Context
from doorman.validation.table import DEFAULT, VALIDATORS, validator_of


def test_every_row_is_a_kind_that_is_served() -> None:
    assert set(VALIDATORS) <= {kind.storage for kind in builtin_kinds().rows}


def test_other_kinds_have_their_metadata_checked() -> None:
    assert validator_of("widgets.example.com") is DEFAULT
    assert [error.field for error in DEFAULT.create({"metadata": {}}, Context())] == ["metadata.name"]
