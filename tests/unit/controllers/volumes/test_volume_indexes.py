"""Under what volumes and claims are filed."""

from typing import Any

import pytest

from doorman.controllers.volumes.volume_indexes import (
    ANY_CLASS,
    claim_reference_of,
    class_if_free,
    class_if_unbound,
    volume_name_of,
)
from support.volumes import bound_claim_view, claim_view, volume_view


def test_volume_is_filed_under_the_claim_that_it_is_kept_for_or_under_its_class() -> None:
    kept = volume_view("v", storageClassName="slow", claimRef={"namespace": "shop", "name": "data"})
    assert (list(claim_reference_of(kept)), list(class_if_free(kept))) == (["shop/data"], [])
    free = volume_view("v", storageClassName="slow")
    assert (list(claim_reference_of(free)), list(class_if_free(free))) == ([], ["slow"])


@pytest.mark.parametrize(
    ("claim", "volume", "classes"),
    [
        pytest.param(bound_claim_view("c", "v"), ["v"], [], id="has its volume"),
        pytest.param(claim_view(storageClassName="slow"), [], ["slow"], id="waits for one of a class"),
        pytest.param(claim_view(storageClassName=""), [], [""], id="waits for one without a class"),
        pytest.param(claim_view(), [], ["", ANY_CLASS], id="may get the default class"),
    ],
)
def test_claim_is_filed_under_what_it_waits_for(claim: Any, volume: list[str], classes: list[str]) -> None:
    assert (list(volume_name_of(claim)), list(class_if_unbound(claim))) == (volume, classes)
