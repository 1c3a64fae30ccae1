"""Volumes and claims when they are written."""

from typing import Any

import pytest

from doorman.registry.kinds.volume_strategy import match_sources

CLAIM = {"kind": "PersistentVolumeClaim", "name": "a"}
BOTH = {"apiGroup": None, **CLAIM}


@pytest.mark.parametrize(
    ("spec", "before", "expected"),
    [
        pytest.param({"dataSource": CLAIM}, {}, {"dataSource": CLAIM, "dataSourceRef": BOTH}, id="old-name"),
        pytest.param({"dataSourceRef": CLAIM}, {}, {"dataSource": BOTH, "dataSourceRef": CLAIM}, id="new-name"),
        pytest.param({"dataSource": {"kind": "Other", "name": "a"}}, {}, {}, id="what-the-old-name-cannot-mean"),
        pytest.param({"dataSourceRef": {**CLAIM, "namespace": "n"}}, {}, {}, id="another-namespace"),
        pytest.param(
            {"dataSource": {"kind": "Other", "name": "a"}},
            {"dataSource": {"kind": "Other", "name": "a"}},
            {
                "dataSource": {"kind": "Other", "name": "a"},
                "dataSourceRef": {"apiGroup": None, "kind": "Other", "name": "a"},
            },
            id="as-it-was",
        ),
    ],
)
def test_sources_match(spec: Any, before: Any, expected: Any) -> None:
    match_sources(spec, before)
    assert spec == expected
