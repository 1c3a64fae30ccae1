"""A kube-apiserver, unmodified, and a Doorman over one etcd: what they share they share as equals.

Needs the binary: `scripts/test-reference FOLDER`, with kube-apiserver in the folder.
"""

import threading
from collections.abc import Iterator
from typing import Any

import pytest

from reference.both_servers import Both, both_over
from support.etcd import EtcdMember

SERVICES = "/api/v1/namespaces/default/services"
ADDRESSES = "/apis/networking.k8s.io/v1/ipaddresses"
ENDPOINTS = "/api/v1/namespaces/default/endpoints/kubernetes"
EACH = 40


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Both]:
    folder = tmp_path_factory.mktemp("both")
    with EtcdMember(folder, "--unsafe-no-fsync") as member, both_over(folder, member) as servers:
        yield servers


def service(name: str, **spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": name}, "spec": {"type": "NodePort", "ports": [{"port": 80}], **spec}}


def test_addresses_and_ports_are_given_out_once(both: Both) -> None:
    answers = both.together(SERVICES, [[service(f"{letter}{number}") for number in range(EACH)] for letter in "dk"])
    assert {status for one in answers for status, _ in one} == {201}
    specs = [doc["spec"] for one in answers for _, doc in one]
    assert len({spec["clusterIP"] for spec in specs}) == 2 * EACH
    assert all(spec["clusterIP"].startswith("10.0.") for spec in specs), "from the range there is"
    assert len({spec["ports"][0]["nodePort"] for spec in specs}) == 2 * EACH
    for number in (0, 1):
        listed = both.ask(number, "GET", ADDRESSES)[1]["items"]
        assert {spec["clusterIP"] for spec in specs} <= {one["metadata"]["name"] for one in listed}


def test_of_two_who_ask_for_the_same_one_gets_it(both: Both) -> None:
    def wishes(letter: str) -> list[Any]:
        return [
            service(f"{letter}-wish{n}", clusterIP=f"10.0.0.{n + 20}", ports=[{"port": 80, "nodePort": 30000 + n}])
            for n in range(EACH)
        ]

    for (first, one), (second, other) in zip(*both.together(SERVICES, [wishes("d"), wishes("k")]), strict=True):
        assert sorted((first, second)) == [201, 422], (one, other)


def test_what_one_gives_back_the_other_gives_out(both: Both) -> None:
    wish = service("given", clusterIP="10.0.0.200", ports=[{"port": 80, "nodePort": 30080}])
    for here, there in ((0, 1), (1, 0)) * 2:
        assert both.ask(here, "POST", SERVICES, wish)[0] == 201
        assert both.ask(there, "POST", SERVICES, {**wish, "metadata": {"name": "other"}})[0] == 422
        assert both.ask(there, "DELETE", f"{SERVICES}/given")[0] == 200


def test_both_are_behind_the_service(both: Both) -> None:
    pause = threading.Event()
    for _ in range(150):
        found = [one["ip"] for subset in both.ask(1, "GET", ENDPOINTS)[1]["subsets"] for one in subset["addresses"]]
        if found == ["192.0.2.1", "192.0.2.9"]:
            return
        pause.wait(0.2)
    raise AssertionError(found)
