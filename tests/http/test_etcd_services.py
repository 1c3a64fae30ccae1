"""Several Doormen over one etcd give out addresses and node ports of services: nothing twice."""

from typing import Any

from support.server import fetch
from support.two_servers import TwoServers, asked, posted_together

SERVICES = "/api/v1/namespaces/default/services"
ADDRESSES = "/apis/networking.k8s.io/v1/ipaddresses"
EACH = 40


def service(name: str, **spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": name}, "spec": {"type": "NodePort", "ports": [{"port": 80}], **spec}}


def test_servers_that_choose_at_the_same_time_choose_differently(servers: TwoServers) -> None:
    bodies = [[service(f"{letter}{number}") for number in range(EACH)] for letter in "ab"]
    answers = posted_together(SERVICES, list(zip(servers, bodies, strict=True)))
    assert {status for one in answers for status, _ in one} == {201}
    specs = [doc["spec"] for one in answers for _, doc in one]
    assert len({spec["clusterIP"] for spec in specs}) == 2 * EACH
    assert len({spec["ports"][0]["nodePort"] for spec in specs}) == 2 * EACH
    found = {one["metadata"]["name"]: one["spec"]["parentRef"] for one in asked(servers[0], "GET", ADDRESSES)["items"]}
    assert all(found[spec["clusterIP"]]["resource"] == "services" for spec in specs)


def test_of_two_who_ask_for_the_same_one_gets_it(servers: TwoServers) -> None:
    # Of the parts of the ranges from which nothing is chosen.
    wishes = [(f"10.96.0.{number + 20}", 30000 + number) for number in range(EACH)]
    bodies = [
        [
            service(f"{letter}-wish{number}", clusterIP=address, ports=[{"port": 80, "nodePort": port}])
            for number, (address, port) in enumerate(wishes)
        ]
        for letter in "xy"
    ]
    answers = posted_together(SERVICES, list(zip(servers, bodies, strict=True)))
    for (first, one), (second, other) in zip(*answers, strict=True):
        assert sorted((first, second)) == [201, 422], (one, other)
        refusal = other if second == 422 else one
        assert "already allocated" in refusal["message"]


def test_what_one_gives_back_the_other_gives_out(servers: TwoServers) -> None:
    first, second = servers
    wish = service("given", clusterIP="10.96.0.200", ports=[{"port": 80, "nodePort": 30080}])
    for here, there in ((first, second), (second, first)) * 3:
        asked(here, "POST", SERVICES, wish, 201)
        asked(there, "POST", SERVICES, {**wish, "metadata": {"name": "other"}}, 422)
        asked(there, "DELETE", f"{SERVICES}/given")
    asked(first, "POST", SERVICES, wish, 201)
    status, _, answer = fetch(
        second,
        "PATCH",
        f"{SERVICES}/given",
        body=b'{"spec":{"type":"ClusterIP"}}',
        headers={"Content-Type": "application/merge-patch+json"},
    )
    assert status == 200, answer
    asked(first, "POST", SERVICES, service("port", ports=[{"port": 80, "nodePort": 30080}]), 201)
    asked(first, "DELETE", f"{SERVICES}/given")
    asked(first, "DELETE", f"{SERVICES}/port")


def test_dry_run_and_refusal_claim_nothing(servers: TwoServers) -> None:
    first, second = servers
    wish = service("dry", clusterIP="10.96.0.201", ports=[{"port": 80, "nodePort": 30081}])
    asked(first, "POST", f"{SERVICES}?dryRun=All", wish, 201)
    asked(second, "GET", f"{ADDRESSES}/10.96.0.201", expected=404)
    made = asked(first, "POST", SERVICES, wish, 201)
    asked(second, "POST", SERVICES, {**wish, "spec": {"type": "NodePort", "ports": [{"port": 80}]}}, 409)
    taken = {doc["metadata"]["name"] for doc in asked(first, "GET", ADDRESSES)["items"]}
    own = {doc["spec"]["clusterIP"] for doc in asked(second, "GET", SERVICES)["items"]}
    assert taken == own, "what was claimed for a service that is there already was given back"
    asked(second, "DELETE", f"{SERVICES}/dry")
    asked(first, "GET", f"{ADDRESSES}/{made['spec']['clusterIP']}", expected=404)
