"""The public functions: typed values and plain JSON alike, and nothing loaded before it is used."""

import subprocess
import sys

import pytest

import doorman
from doorman import (
    Never,
    Taint,
    Toleration,
    eviction_time,
    min_toleration_seconds,
    parse_taint,
    tolerates,
    untolerated_taints,
)

TAINT = {"key": "k", "value": "5", "effect": "NoExecute"}
TOLERATION = {"key": "k", "operator": "Gt", "value": "4", "tolerationSeconds": 7}


def test_functions_take_plain_json_and_typed_values_alike() -> None:
    typed_taint = Taint(key="k", value="5", effect="NoExecute")
    typed_toleration = Toleration(key="k", operator="Gt", value="4", toleration_seconds=7)
    for taint in (TAINT, typed_taint):
        for toleration in (TOLERATION, typed_toleration):
            assert tolerates(toleration, taint)
            assert not tolerates(toleration, taint, comparison_operators=False)
            assert untolerated_taints([taint], [toleration]) == []
            assert untolerated_taints([taint], []) == [typed_taint]
            assert min_toleration_seconds([taint], [toleration]) == (True, 7)
            assert eviction_time([taint], [toleration], now=1.0) == eviction_time(
                [typed_taint], [typed_toleration], now=1.0
            )


def test_functions_read_null_as_absent() -> None:
    toleration = {"key": "k", "operator": None, "value": None, "effect": None, "tolerationSeconds": None}
    assert tolerates(toleration, {"key": "k", "value": None, "effect": "NoSchedule", "timeAdded": None})


def test_untolerated_taints_can_be_asked_for_other_effects() -> None:
    soft = parse_taint("a:PreferNoSchedule")
    assert untolerated_taints([soft], []) == []
    assert untolerated_taints([soft], [], effects=["PreferNoSchedule"]) == [soft]


def test_eviction_time_without_no_execute_taints_is_never() -> None:
    assert eviction_time([parse_taint("a:NoSchedule")], [], now=0.0) == Never()


def test_package_names_exactly_its_public_names() -> None:
    assert {"tolerates", "parse_taint"} <= set(dir(doorman))
    with pytest.raises(AttributeError, match="has no attribute 'nope'"):
        doorman.nope  # type: ignore[attr-defined] # noqa: B018


def test_import_alone_loads_nothing() -> None:
    code = "import sys, doorman; sys.exit(any(name.startswith(('doorman.', 'msgspec')) for name in sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
