"""Versions of resource.k8s.io tell the same: what v1beta1 can say comes back from it unchanged."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from doorman.api.machinery.conversion import CONVERSIONS

Json = dict[str, Any]
_NAMES = st.sampled_from(["a", "b", "gpu-0"])
_TEXTS = st.sampled_from(["x", "example.com/y"])


def _some(**members: st.SearchStrategy[Any]) -> st.SearchStrategy[Json]:
    return st.fixed_dictionaries({}, optional=members)


_WANTED = st.fixed_dictionaries(
    {"deviceClassName": _TEXTS},
    optional={
        "selectors": st.lists(st.just({"cel": {"expression": "true"}}), min_size=1, max_size=2),
        "allocationMode": st.sampled_from(["All", "ExactCount"]),
        "count": st.integers(1, 3),
        "adminAccess": st.booleans(),
        "tolerations": st.lists(st.just({"operator": "Exists"}), min_size=1, max_size=2),
        "capacity": st.just({"requests": {"a": "1"}}),
    },
)
_REQUEST = st.one_of(
    st.fixed_dictionaries({"name": _NAMES, "exactly": _WANTED}),
    st.fixed_dictionaries({"name": _NAMES, "firstAvailable": st.lists(_WANTED, min_size=1, max_size=2)}),
    st.fixed_dictionaries({"name": _NAMES}),
)
_DEVICE = st.builds(
    lambda name, rest: {"name": name, **rest},
    _NAMES,
    _some(
        attributes=st.dictionaries(_NAMES, st.just({"int": 1}), min_size=1),
        capacity=st.dictionaries(_NAMES, st.just({"value": "1"}), min_size=1),
        taints=st.lists(st.just({"key": "k", "effect": "None"}), min_size=1),
        consumesCounters=st.lists(st.just({"counterSet": "c", "counters": {}}), min_size=1),
        nodeName=_NAMES,
        allNodes=st.booleans(),
        allowMultipleAllocations=st.booleans(),
        bindingConditions=st.lists(_NAMES),
    ),
)
_SLICE_SPEC = _some(
    driver=_TEXTS,
    pool=st.just({"name": "p", "generation": 1}),
    nodeName=_NAMES,
    allNodes=st.just(True),
    perDeviceNodeSelection=st.booleans(),
    devices=st.lists(_DEVICE),
)
_CLAIM_SPEC = _some(devices=_some(requests=st.lists(_REQUEST), constraints=st.just([{"matchAttribute": "a/b"}])))


def _comes_back(resource: str, doc: Json) -> None:
    conversion = CONVERSIONS[f"{resource}.resource.k8s.io/v1beta1"]
    shown = conversion.from_stored(doc)
    assert conversion.to_stored(shown) == doc
    assert conversion.from_stored(conversion.to_stored(shown)) == shown


@given(_some(spec=_SLICE_SPEC))
def test_slice_comes_back(doc: Json) -> None:
    _comes_back("resourceslices", doc)


@given(_some(spec=_CLAIM_SPEC, status=st.just({"allocation": {}})))
def test_claim_comes_back(doc: Json) -> None:
    _comes_back("resourceclaims", doc)


@given(_some(spec=_some(metadata=st.just({"labels": {"a": "b"}}), spec=_CLAIM_SPEC)))
def test_claim_template_comes_back(doc: Json) -> None:
    _comes_back("resourceclaimtemplates", doc)


def test_members_that_v1beta1_has_not_are_below_exactly() -> None:
    conversion = CONVERSIONS["resourceclaims.resource.k8s.io/v1beta1"]
    doc = {"spec": {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "c", "count": 2}}]}}}
    flat = {"spec": {"devices": {"requests": [{"name": "r", "deviceClassName": "c", "count": 2}]}}}
    assert conversion.from_stored(doc) == flat
