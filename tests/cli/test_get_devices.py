"""The rows of `doorman get devices`."""

import msgspec

from doorman.api.views.resource.devices import DeviceTaintRule
from doorman.cli.objects.get_devices import device_rows
from support.claims import a_claim, a_slice
from support.devices import DRIVER, device, taint


def test_devices_with_holders_taints_and_where_those_are_from() -> None:
    status = {
        "allocation": {"devices": {"results": [{"driver": DRIVER, "pool": "node-1", "device": "a"}]}},
        "reservedFor": [{"resource": "pods", "name": "p", "uid": "u"}],
    }
    claim = msgspec.structs.replace(a_claim(), status=msgspec.convert(status, type(a_claim().status)))
    named = {"deviceSelector": {"device": "b"}, "taint": taint("drain", effect="NoSchedule")}
    rules = [
        msgspec.convert({"metadata": {"name": "drain"}, "spec": named}, DeviceTaintRule),
        msgspec.convert({"metadata": {"name": "all"}, "spec": {"taint": taint(value="x")}}, DeviceTaintRule),
    ]
    rows = device_rows([a_slice("node-1", device("a", taint("hot")), "b")], [claim], rules)
    assert [(row.node, row.device, row.claims, row.taints) for row in rows] == [
        (
            "node-1", "a", ("default/c (p)",),
            ("hot:NoExecute (slice node-1-gpus)", "broken=x:NoExecute (rule all, not evicting)"),
        ),
        (
            "node-1", "b", (),
            ("drain:NoSchedule (rule drain)", "broken=x:NoExecute (rule all, not evicting)"),
        ),
    ]  # fmt: skip


def test_only_the_newest_generation_is_shown_and_withdrawn_devices_that_are_held() -> None:
    status = {"allocation": {"devices": {"results": [{"driver": DRIVER, "pool": "node-1", "device": "old"}]}}}
    claim = msgspec.structs.replace(a_claim(), status=msgspec.convert(status, type(a_claim().status)))
    slices = [a_slice("node-1", "old"), a_slice("node-1", "new", generation=2, name="newer")]
    rows = device_rows(slices, [claim], [])
    assert [(row.node, row.device) for row in rows] == [("<withdrawn>", "old"), ("node-1", "new")]
