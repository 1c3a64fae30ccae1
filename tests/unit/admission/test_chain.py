"""Which plugins run, and in which order."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pytest

from doorman.admission.chain import ORDER, AdmissionSettings, Chain, build_chain
from doorman.admission.plugin_contract import (
    ANY,
    CREATE,
    CREATE_AND_UPDATE,
    Attributes,
    ClusterReader,
    Docs,
    Interest,
    Operation,
    Weigh,
)
from doorman.api.identity import ADMIN
from doorman.base.clock import Instant
from doorman.semantics.pods.pod_resources import Amounts

SETTINGS = AdmissionSettings(suffix=lambda: "abcde")


class Nothing:
    def __init__(self) -> None:
        self.asked = 0

    def get(self, resource: str, namespace: str, name: str) -> Mapping[str, Any] | None:
        self.asked += 1
        return {"metadata": {"name": name}}

    def labels(self, resource: str, namespace: str, name: str) -> Mapping[str, str] | None:
        found = self.get(resource, namespace, name)
        return None if found is None else found["metadata"].get("labels", {})

    def total(self, resource: str, namespace: str, name: str, weigh: Weigh) -> Amounts:
        raise AssertionError(f"nobody counts {resource} here: {namespace}, {name}, {weigh}")

    def find_kind(self, api_version: str, kind: str) -> tuple[str, bool] | None:
        raise AssertionError(f"nobody asks for {api_version} {kind}")

    def converted(self, api_version: str, kind: str, docs: Docs) -> Docs:
        raise AssertionError(f"nobody shows {len(docs)} {api_version} {kind}")

    async def convert_ahead(self, api_version: str, kind: str, docs: Docs) -> None:
        raise AssertionError(f"nobody shows {len(docs)} {api_version} {kind}")

    def list(self, resource: str, namespace: str = "") -> Iterable[Mapping[str, Any]]:
        return []


class Noted:
    def __init__(self, name: str, log: list[str], interest: Interest) -> None:
        self.name = name
        self.interests: Sequence[Interest] = (interest,)
        self._log = log

    def admit(self, attributes: Attributes, cluster: ClusterReader, now: Instant) -> None:
        cluster.get("namespaces", "", "ns")
        self._log.append(f"admit {self.name}")


class NotedChecker(Noted):
    def validate(self, attributes: Attributes, cluster: ClusterReader, now: Instant) -> None:
        self._log.append(f"validate {self.name}")


def request(resource: str = "pods", operation: Operation = Operation.CREATE, subresource: str = "") -> Attributes:
    return Attributes(operation=operation, kind="K", resource=resource, subresource=subresource, user=ADMIN, obj={})


def test_default_set_is_everything_in_kubernetes_order() -> None:
    assert build_chain(SETTINGS).names == tuple(ORDER)
    assert list(ORDER)[:3] == ["NamespaceLifecycle", "LimitRanger", "ServiceAccount"]


def test_disabled_plugins_are_left_out() -> None:
    names = build_chain(SETTINGS, disabled=["PodTolerationRestriction", "ResourceQuota"]).names
    assert "PodTolerationRestriction" not in names
    assert "ResourceQuota" not in names


@pytest.mark.parametrize(
    ("enabled", "disabled", "message"),
    [
        pytest.param(["Nope"], [], 'enable-admission-plugins: plugin "Nope" is unknown', id="enable-unknown"),
        pytest.param([], ["Nope"], 'disable-admission-plugins: plugin "Nope" is unknown', id="disable-unknown"),
        pytest.param(["Priority"], ["Priority"], "Priority: in both", id="both"),
    ],
)
def test_bad_names_are_refused(enabled: list[str], disabled: list[str], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        build_chain(SETTINGS, enabled=enabled, disabled=disabled)


def test_names_of_plugins_that_run_elsewhere_are_taken() -> None:
    assert build_chain(SETTINGS, enabled=["MutatingAdmissionWebhook"]).names == tuple(ORDER)


def test_chain_asks_who_is_interested_in_order() -> None:
    log: list[str] = []
    chain = Chain(
        [
            Noted("one", log, Interest(resource="pods", operations=CREATE)),
            NotedChecker("two", log, Interest(resource=ANY, operations=CREATE_AND_UPDATE)),
            Noted("three", log, Interest(resource="nodes", operations=CREATE)),
        ]
    )
    cluster = Nothing()
    for attributes in (request(), request(operation=Operation.UPDATE), request(subresource="status"), request("nodes")):
        chain.admit(attributes, cluster, 0.0)
        chain.validate(attributes, cluster, 0.0)
        chain.limit(attributes, cluster, 0.0)
        log.append("-")
    assert log == [
        *("admit one", "admit two", "validate two", "-"),
        *("admit two", "validate two", "-"),
        "-",
        *("admit two", "admit three", "validate two", "-"),
    ]


def test_one_lookup_serves_all_plugins_of_a_phase() -> None:
    everything = Interest(resource=ANY, operations=CREATE)
    cluster = Nothing()
    Chain([Noted("a", [], everything), Noted("b", [], everything)]).admit(request(), cluster, 0.0)
    assert cluster.asked == 1
