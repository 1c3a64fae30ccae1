"""Several Doormen over one etcd give out the room of a quota: nothing more than there is, and all of it."""

from collections import Counter

from support.two_servers import TwoServers, asked, posted_together

NAMESPACE = "/api/v1/namespaces/default"
CONFIG_MAPS = f"{NAMESPACE}/configmaps"
ROOM = 25
CLIENTS = 6
"""Of each server."""
EACH = 6
"""Wishes of a client: many more than there is room."""


def test_servers_together_let_in_what_there_is_room_for(servers: TwoServers) -> None:
    first, second = servers
    quota = {"metadata": {"name": "q"}, "spec": {"hard": {"configmaps": str(ROOM)}}}
    asked(first, "POST", f"{NAMESPACE}/resourcequotas", quota, 201)
    asked(second, "GET", f"{NAMESPACE}/resourcequotas/q")
    before = len(asked(first, "GET", CONFIG_MAPS)["items"])
    status = {"hard": {"configmaps": str(ROOM)}, "used": {"configmaps": str(before), "pods": "7"}}
    now = asked(first, "GET", f"{NAMESPACE}/resourcequotas/q")
    asked(first, "PUT", f"{NAMESPACE}/resourcequotas/q/status", {**now, "status": status})
    crowd = [(server, [{"metadata": {"generateName": "c-"}}] * EACH) for server in servers * CLIENTS]
    answers = [answer for one in posted_together(CONFIG_MAPS, crowd) for answer in one]
    assert Counter(code for code, _ in answers) == {201: ROOM - before, 403: 2 * CLIENTS * EACH - ROOM + before}
    refused = {doc["message"].partition(" is forbidden: ")[2] for code, doc in answers if code == 403}
    assert refused == {
        f"exceeded quota: q, requested: configmaps=1, used: configmaps={ROOM}, limited: configmaps={ROOM}"
    }
    assert len(asked(second, "GET", CONFIG_MAPS)["items"]) == ROOM
    used = asked(second, "GET", f"{NAMESPACE}/resourcequotas/q")["status"]["used"]
    assert used == {"configmaps": str(ROOM), "pods": "7"}, "what is used is told with what uses it"
    gone = next(doc["metadata"]["name"] for code, doc in answers if code == 201)
    asked(first, "DELETE", f"{CONFIG_MAPS}/{gone}")
    asked(second, "POST", CONFIG_MAPS, {"metadata": {"name": "again"}}, 403)  # before the controller has reported on it
    now = asked(first, "GET", f"{NAMESPACE}/resourcequotas/q")
    status["used"]["configmaps"] = str(ROOM - 1)
    asked(first, "PUT", f"{NAMESPACE}/resourcequotas/q/status", {**now, "status": status})
    asked(second, "POST", CONFIG_MAPS, {"metadata": {"name": "again"}}, 201)
    asked(first, "POST", CONFIG_MAPS, {"metadata": {"name": "too-many"}}, 403)
    asked(first, "POST", f"{CONFIG_MAPS}?dryRun=All", {"metadata": {"name": "too-many"}}, 403)


def test_what_no_quota_counts_leaves_them_alone(servers: TwoServers) -> None:
    first, second = servers
    quota = {"metadata": {"name": "of-secrets"}, "spec": {"hard": {"secrets": "10"}}}
    path = f"{NAMESPACE}/resourcequotas/of-secrets"
    asked(first, "POST", f"{NAMESPACE}/resourcequotas", quota, 201)
    before = asked(second, "GET", path)["metadata"]["resourceVersion"]
    asked(second, "POST", f"{NAMESPACE}/serviceaccounts", {"metadata": {"name": "s"}}, 201)
    asked(second, "POST", f"{NAMESPACE}/secrets?dryRun=All", {"metadata": {"name": "s"}}, 201)
    assert asked(first, "GET", path)["metadata"]["resourceVersion"] == before
    made = asked(second, "POST", f"{NAMESPACE}/secrets", {"metadata": {"name": "s"}}, 201)
    found = asked(first, "GET", path)
    assert found["metadata"]["resourceVersion"] == made["metadata"]["resourceVersion"], "one transaction"
    assert "status" not in found or "used" not in found["status"], "nobody has reported on it yet"
