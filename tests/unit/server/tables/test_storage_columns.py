"""Columns of storage: which class is the default one."""

import pytest

from doorman.base.clock import Instant
from doorman.server.tables.storage_columns import STORAGE_COLUMNS

MARK = "storageclass.kubernetes.io/is-default-class"
OLD_MARK = "storageclass.beta.kubernetes.io/is-default-class"


@pytest.mark.parametrize(
    ("annotations", "shown"),
    [
        pytest.param({}, "fast", id="without"),
        pytest.param({MARK: "true"}, "fast (default)", id="marked"),
        pytest.param({OLD_MARK: "true"}, "fast (default)", id="marked-as-of-old"),
        pytest.param({MARK: "false"}, "fast", id="marked-as-none"),
    ],
)
def test_name_of_a_class(annotations: dict[str, str], shown: str) -> None:
    column = STORAGE_COLUMNS["storageclasses.storage.k8s.io"][0]
    doc = {"metadata": {"name": "fast", "annotations": annotations}}
    assert column.cell(doc, Instant(0)) == shown
