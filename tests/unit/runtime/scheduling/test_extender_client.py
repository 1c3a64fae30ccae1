"""Questions to extenders and their answers, over real HTTP."""

import asyncio
import ssl
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import pytest

from doorman.api.views.pods import Pod
from doorman.base.clock import SystemClock
from doorman.base.json_types import Document
from doorman.runtime.access.credentials import load_or_make
from doorman.runtime.scheduling.extender_client import ExtenderCaller, ExtenderError, tls_context
from doorman.scheduler.extenders.extender import Extender, ExtenderTls
from doorman.scheduler.extenders.extender_result import ExtenderRejection, ExtenderResult
from doorman.scheduler.outcomes import AskExtenders, AskExtendersAboutVictims, NodeVictims, Placed
from support.extender import FakeExtender
from support.scheduling import make_pod

T = TypeVar("T")
POD = make_pod("p")
VICTIM = make_pod("v", node="a")
NODES = ("a", "b", "c")


def documents(resource: str, namespace: str, name: str) -> Document | None:
    if resource == "nodes":
        return {"metadata": {"name": name}, "status": {"seen": True}}
    return {"metadata": {"name": name, "namespace": namespace, "uid": f"uid-{name}"}, "spec": {"seen": True}}


def find_pod(node: str, uid: str) -> Pod | None:
    return VICTIM if (node, uid) == ("a", "uid-v") else None


def ask(question: Callable[[ExtenderCaller], Awaitable[T]]) -> T:
    async def main() -> T:
        caller = ExtenderCaller(documents, find_pod)
        try:
            return await question(caller)
        finally:
            await caller.close()

    return asyncio.run(main())


def result(*extenders: Extender) -> ExtenderResult | str:
    return ask(
        lambda caller: caller.extender_result(AskExtenders(pod=POD, profile="x", extenders=extenders, nodes=NODES))
    )


def names(args: dict[str, Any]) -> list[str]:
    return [node["metadata"]["name"] for node in args["Nodes"]["items"]]


def test_filter_is_sent_whole_objects_and_keeps_what_comes_back() -> None:
    with FakeExtender(
        filter=lambda args: {
            "Nodes": {"items": [node for node in args["Nodes"]["items"] if node["metadata"]["name"] != "b"]},
            "FailedNodes": {"b": "full"},
        }
    ) as fake:
        found = result(Extender(url_prefix=fake.url, filter_verb="filter"))
    assert found == ExtenderResult(kept=frozenset({"a", "c"}), rejected={"b": ExtenderRejection("full", False)})
    ((verb, args),) = fake.asked
    assert verb == "filter"
    assert args["Pod"] == documents("pods", "default", "p")
    assert args["Nodes"]["items"][0] == {"metadata": {"name": "a"}, "status": {"seen": True}}
    assert args["NodeNames"] is None


def test_filter_by_names_in_any_case_with_final_reasons() -> None:
    answer = {"nodenames": ["c"], "failedNodes": {"a": "x", "b": "y"}, "failedAndUnresolvableNodes": {"a": "never"}}
    with FakeExtender(filter=lambda _: answer) as fake:
        found = result(Extender(url_prefix=f"{fake.url}/", filter_verb="filter", node_cache_capable=True))
    assert found == ExtenderResult(
        kept=frozenset({"c"}), rejected={"a": ExtenderRejection("never", True), "b": ExtenderRejection("y", False)}
    )
    assert fake.asked[0][1]["NodeNames"] == ["a", "b", "c"]
    assert fake.asked[0][1]["Nodes"] is None


def test_extenders_filter_what_the_one_before_left_and_scores_add_up() -> None:
    with FakeExtender(
        filter=lambda args: {"NodeNames": args["NodeNames"][1:]},
        prioritize=lambda args: [{"Host": name, "Score": 5} for name in args["NodeNames"]],
    ) as first, FakeExtender(
        filter=lambda args: {"NodeNames": args["NodeNames"]},
        prioritize=lambda _: [{"host": "c", "score": 10}],
    ) as second:  # fmt: skip
        found = result(
            *(
                Extender(
                    url_prefix=fake.url, filter_verb="filter", prioritize_verb="prioritize", weight=weight,
                    node_cache_capable=True,
                )
                for fake, weight in ((first, 1), (second, 2))
            )
        )  # fmt: skip
    assert found == ExtenderResult(kept=frozenset({"b", "c"}), scores={"b": 50, "c": 50 + 200})
    assert second.asked[0][1]["NodeNames"] == ["b", "c"]


def test_single_node_is_not_scored() -> None:
    with FakeExtender(filter=lambda _: {"NodeNames": ["a"]}) as fake:
        extender = Extender(
            url_prefix=fake.url, filter_verb="filter", prioritize_verb="p", weight=1, node_cache_capable=True
        )
        assert result(extender) == ExtenderResult(kept=frozenset({"a"}))


@pytest.mark.parametrize(
    ("answer", "fault"),
    [
        pytest.param({"Error": "gone mad"}, "gone mad", id="says-so"),
        pytest.param(500, "failed filter with extender at URL {url}/filter, code 500", id="status"),
        pytest.param([], "the answer is no object", id="no-object"),
        pytest.param(
            {"NodeNames": ["x"]},
            'extender "{url}" claims a filtered node "x" which is not found in the input node list',
            id="unknown-node",
        ),
        pytest.param({"NodeNames": 7}, 'the answer of extender "{url}" cannot be used', id="no-list"),
    ],
)
@pytest.mark.parametrize("ignorable", [pytest.param(False, id="counts"), pytest.param(True, id="ignorable")])
def test_filter_that_fails(answer: Any, fault: str, ignorable: bool) -> None:
    with FakeExtender(filter=lambda _: answer) as fake:
        found = result(
            Extender(url_prefix=fake.url, filter_verb="filter", node_cache_capable=True, ignorable=ignorable)
        )
    if ignorable:
        assert found == ExtenderResult(kept=frozenset(NODES))
    else:
        assert isinstance(found, str)
        assert found.startswith(fault.format(url=fake.url))


@pytest.mark.parametrize("answer", [500, {}, [7], [{"Host": "a", "Score": "many"}]], ids=repr)
def test_scores_that_cannot_be_had_do_not_count(answer: Any) -> None:
    with FakeExtender(prioritize=lambda _: answer) as fake:
        found = result(Extender(url_prefix=fake.url, prioritize_verb="prioritize", weight=1))
    assert found == ExtenderResult(kept=frozenset(NODES))


def test_extender_that_is_not_there() -> None:
    found = result(Extender(url_prefix="http://127.0.0.1:9", filter_verb="filter"))
    assert isinstance(found, str)
    assert found.startswith('Post "http://127.0.0.1:9/filter": ')


def test_extender_that_takes_too_long() -> None:
    async def silent(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await over.wait()
        writer.close()

    over = asyncio.Event()

    async def main() -> ExtenderResult | str:
        server = await asyncio.start_server(silent, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        extender = Extender(url_prefix=f"http://127.0.0.1:{port}", filter_verb="f", timeout_seconds=0.05)
        caller = ExtenderCaller(documents, find_pod)
        found = await caller.extender_result(AskExtenders(pod=POD, profile="x", extenders=(extender,), nodes=NODES))
        over.set()
        await caller.close()
        server.close()
        await server.wait_closed()
        return found

    found = asyncio.run(main())
    assert isinstance(found, str)
    assert found.endswith('/f": context deadline exceeded')


def victims(*extenders: Extender) -> Any:
    candidates = (NodeVictims(node="a", pods=(VICTIM,), broken_budgets=1), NodeVictims(node="b", pods=(VICTIM,)))
    return ask(
        lambda caller: caller.victims(
            AskExtendersAboutVictims(pod=POD, profile="x", extenders=extenders, candidates=candidates)
        )
    )


@pytest.mark.parametrize("knows_nodes", [pytest.param(True, id="by-uid"), pytest.param(False, id="whole-pods")])
def test_victims_are_sent_and_chosen_by_uid(knows_nodes: bool) -> None:
    answer = {"NodeNameToMetaVictims": {"a": {"Pods": [{"UID": "uid-v"}], "NumPDBViolations": 3}}}
    with FakeExtender(preempt=lambda _: answer) as fake:
        found = victims(Extender(url_prefix=fake.url, preempt_verb="preempt", node_cache_capable=knows_nodes))
    assert found == [NodeVictims(node="a", pods=(VICTIM,), broken_budgets=3)]
    args = fake.asked[0][1]
    if knows_nodes:
        assert args["NodeNameToMetaVictims"]["a"] == {"Pods": [{"UID": "uid-v"}], "NumPDBViolations": 1}
        assert args["NodeNameToVictims"] is None
    else:
        assert args["NodeNameToVictims"]["b"] == {"Pods": [documents("pods", "default", "v")], "NumPDBViolations": 0}
        assert args["NodeNameToMetaVictims"] is None


@pytest.mark.parametrize(
    ("chosen", "fault"),
    [
        pytest.param(
            {"b": {"Pods": [{"UID": "uid-v"}]}},
            "extender: {url} claims to preempt pod (UID: uid-v) on node: b, but the pod is not found on that node",
            id="stranger",
        ),
        pytest.param({"a": {"Pods": []}}, 'expected at least one victim pod on node "a"', id="nobody"),
        pytest.param({"a": None}, 'expected at least one victim pod on node "a"', id="nothing"),
    ],
)
def test_victims_that_cannot_be(chosen: dict[str, Any], fault: str) -> None:
    with FakeExtender(preempt=lambda _: {"NodeNameToMetaVictims": chosen}) as fake:
        assert victims(Extender(url_prefix=fake.url, preempt_verb="preempt")) == fault.format(url=fake.url)


def test_extender_that_leaves_no_candidate() -> None:
    with FakeExtender(preempt=lambda _: {}) as fake:
        assert victims(Extender(url_prefix=fake.url, preempt_verb="preempt")) == []


def test_bind() -> None:
    placed = Placed(pod=POD, profile="x", node="a")
    with FakeExtender(bind=lambda _: {}) as fake:
        ask(lambda caller: caller.bind(Extender(url_prefix=fake.url, bind_verb="bind"), placed))
    assert fake.asked == [
        ("bind", {"PodName": "p", "PodNamespace": "default", "PodUID": "uid-p", "Node": "a"}),
    ]
    with FakeExtender(bind=lambda _: {"error": "not today"}) as fake, pytest.raises(ExtenderError, match="not today"):
        ask(lambda caller: caller.bind(Extender(url_prefix=fake.url, bind_verb="bind"), placed))


def test_pod_that_has_gone_is_sent_as_it_was_known() -> None:
    stranger = msgspec.structs.replace(POD, metadata=msgspec.structs.replace(POD.metadata, uid="other"))
    with FakeExtender(filter=lambda _: {}) as fake:
        ask_extenders = AskExtenders(
            pod=stranger, profile="x", extenders=(Extender(url_prefix=fake.url, filter_verb="filter"),), nodes=NODES
        )
        ask(lambda caller: caller.extender_result(ask_extenders))
    assert fake.asked[0][1]["Pod"]["metadata"] == {"name": "p", "namespace": "default", "uid": "other"}


@pytest.mark.parametrize(
    ("trust", "answers"),
    [
        pytest.param("ca_data", True, id="authority"),
        pytest.param("ca_file", True, id="authority-in-a-file"),
        pytest.param("insecure", True, id="anybody"),
        pytest.param("", False, id="stranger"),
    ],
)
def test_https(tmp_path: Path, trust: str, answers: bool) -> None:
    made = load_or_make(None, "127.0.0.1", datetime.fromtimestamp(SystemClock().now(), UTC))
    for name, content in (
        ("crt", made.server_certificate),
        ("key", made.server_key),
        ("ca", made.ca_certificate),
    ):
        (tmp_path / name).write_bytes(content)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "crt", tmp_path / "key")
    tls = {
        "ca_data": ExtenderTls(ca_data=made.ca_certificate),
        "ca_file": ExtenderTls(ca_file=str(tmp_path / "ca")),
        "insecure": ExtenderTls(insecure=True),
        "": ExtenderTls(),
    }[trust]
    with FakeExtender(tls=context, filter=lambda _: {"NodeNames": ["a"]}) as fake:
        extender = Extender(url_prefix=fake.url, filter_verb="filter", node_cache_capable=True, tls=tls)
        found = result(extender)
    assert isinstance(found, ExtenderResult) is answers
    assert answers or "certificate verify failed" in str(found)


def test_certificate_of_its_own_is_loaded_from_data(tmp_path: Path) -> None:
    made = load_or_make(None, "127.0.0.1", datetime.fromtimestamp(SystemClock().now(), UTC))
    (tmp_path / "crt").write_bytes(made.server_certificate)
    (tmp_path / "key").write_bytes(made.server_key)
    tls_context(ExtenderTls(cert_data=made.server_certificate, key_data=made.server_key))
    tls_context(ExtenderTls(cert_file=str(tmp_path / "crt"), key_file=str(tmp_path / "key")))
    with pytest.raises(ssl.SSLError):
        tls_context(ExtenderTls(cert_data=b"none", key_data=b"none"))
