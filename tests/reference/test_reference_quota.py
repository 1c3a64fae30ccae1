"""A kube-apiserver, unmodified, and a Doorman over one etcd give out the room of one quota.

Needs the binary: `scripts/test-reference FOLDER`, with kube-apiserver in the folder.
"""

from collections import Counter
from collections.abc import Iterator

import pytest

from reference.both_servers import Both, both_over
from support.etcd import EtcdMember

NAMESPACE = "/api/v1/namespaces/default"
CONFIG_MAPS = f"{NAMESPACE}/configmaps"
QUOTA = f"{NAMESPACE}/resourcequotas/q"
ROOM = 30
EACH = 60


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Both]:
    folder = tmp_path_factory.mktemp("both")
    with EtcdMember(folder, "--unsafe-no-fsync") as member, both_over(folder, member) as servers:
        yield servers


def test_both_together_let_in_what_there_is_room_for(both: Both) -> None:
    hard = {"configmaps": str(ROOM)}
    assert (
        both.ask(0, "POST", f"{NAMESPACE}/resourcequotas", {"metadata": {"name": "q"}, "spec": {"hard": hard}})[0]
        == 201
    )
    there = len(both.ask(0, "GET", CONFIG_MAPS)[1]["items"])
    quota = both.ask(1, "GET", QUOTA)[1]
    status = {"hard": hard, "used": {"configmaps": str(there)}}
    assert both.ask(1, "PUT", f"{QUOTA}/status", {**quota, "status": status})[0] == 200
    wish = {"metadata": {"generateName": "c-"}}
    answers = [answer for one in both.together(CONFIG_MAPS, [[wish] * EACH] * 2) for answer in one]
    made = Counter(code for code, _ in answers)
    assert set(made) == {201, 403}
    for number in (0, 1):
        assert len(both.ask(number, "GET", CONFIG_MAPS)[1]["items"]) == ROOM
        assert both.ask(number, "GET", QUOTA)[1]["status"]["used"] == {"configmaps": str(ROOM)}
