"""Asks scheduler extenders, in the words of kube-scheduler's extender protocol (JSON over HTTP).

Each question is a POST to `urlPrefix/verb`. Extenders filter one after the other, each what the one before left; they
score all at once, and whose scores cannot be had does not count. An extender that may be ignored is passed over when it
fails; any other's failure is the decision's failure. Keys of answers are read in any case, as Go reads them.
"""

import asyncio
import logging
import ssl
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec

from doorman.api.views.pods import Pod
from doorman.base.go_format import quote
from doorman.base.json_types import Document
from doorman.scheduler.extenders.extender import Extender, ExtenderTls
from doorman.scheduler.extenders.extender_result import ExtenderRejection, ExtenderResult, weighted_score
from doorman.scheduler.outcomes import AskExtenders, AskExtendersAboutVictims, NodeVictims, Placed

if TYPE_CHECKING:
    import httpx2  # loaded with the first question: most clusters have no extenders

Documents = Callable[[str, str, str], Document | None]
"""An object as JSON, by resource, namespace and name."""

FindPod = Callable[[str, str], Pod | None]
"""A pod by the node it is on and its uid."""

_log: Final = logging.getLogger("doorman.scheduler")


class ExtenderError(Exception):
    """An extender did not answer, or not as it should."""


_FAULTS: Final = (ExtenderError, TypeError, ValueError, AttributeError, KeyError)
"""An answer may hold anything where something else is expected."""


def _told(extender: Extender, error: Exception) -> str:
    if isinstance(error, ExtenderError):
        return str(error)
    return f"the answer of extender {quote(extender.url_prefix)} cannot be used: {error}"


class ExtenderCaller:
    """Owns the connections."""

    def __init__(self, documents: Documents, find_pod: FindPod) -> None:
        self._documents = documents
        self._find_pod = find_pod
        self._clients: dict[Extender, httpx2.AsyncClient] = {}
        self.in_flight = 0
        """Calls that are not answered yet."""

    async def extender_result(self, ask_extenders: AskExtenders) -> ExtenderResult | str:
        """Of all that are interested; a text when one failed that must not."""
        pod = self._pod(ask_extenders.pod)
        nodes: Sequence[str] = ask_extenders.nodes
        rejected: dict[str, ExtenderRejection] = {}
        for extender in ask_extenders.extenders:
            if not extender.filter_verb or not nodes:
                continue
            try:
                nodes = await self._filter(extender, pod, nodes, rejected)
            except _FAULTS as error:
                if not extender.ignorable:
                    return _told(extender, error)
                _log.info("extender %s is passed over: %s", extender.url_prefix, error)
        scores: dict[str, int] = {}
        if len(nodes) > 1:
            asked = [extender for extender in ask_extenders.extenders if extender.prioritize_verb]
            for found in await asyncio.gather(*(self._prioritize(extender, pod, nodes) for extender in asked)):
                for name, score in found.items():
                    scores[name] = scores.get(name, 0) + score
        return ExtenderResult(kept=frozenset(nodes), rejected=rejected, scores=scores)

    async def victims(self, ask_extenders: AskExtendersAboutVictims) -> Sequence[NodeVictims] | str:
        """Who must leave where, in the end; a text when an extender failed that must not."""
        candidates: Sequence[NodeVictims] = ask_extenders.candidates
        for extender in ask_extenders.extenders:
            if not candidates:
                break
            try:
                candidates = await self._preempt(extender, ask_extenders.pod, candidates)
            except _FAULTS as error:
                if not extender.ignorable:
                    return _told(extender, error)
                _log.info("extender %s is passed over: %s", extender.url_prefix, error)
        return candidates

    async def bind(self, extender: Extender, placed: Placed) -> None:
        """Have an extender bind the pod. Raises ExtenderError."""
        meta = placed.pod.metadata
        args = {"PodName": meta.name, "PodNamespace": meta.namespace, "PodUID": meta.uid, "Node": placed.node}
        answer = _object(await self._send(extender, extender.bind_verb, args))
        if error := _field(answer, "Error"):
            raise ExtenderError(str(error))

    async def close(self) -> None:
        for client in self._clients.values():
            await client.aclose()
        self._clients.clear()

    async def _filter(
        self, extender: Extender, pod: Document, nodes: Sequence[str], rejected: dict[str, ExtenderRejection]
    ) -> Sequence[str]:
        answer = _object(await self._send(extender, extender.filter_verb, self._args(extender, pod, nodes)))
        if error := _field(answer, "Error"):
            raise ExtenderError(str(error))
        names, listed = _field(answer, "NodeNames"), _field(answer, "Nodes")
        kept: list[str] = []
        if extender.node_cache_capable and names is not None:
            for name in names:
                if name not in nodes:
                    what = f"claims a filtered node {quote(name)} which is not found in the input node list"
                    raise ExtenderError(f"extender {quote(extender.url_prefix)} {what}")
                kept.append(name)
        elif listed is not None:
            kept = [node.get("metadata", {}).get("name", "") for node in listed.get("items") or ()]
        final: Mapping[str, str] = _field(answer, "FailedAndUnresolvableNodes") or {}
        failed: Mapping[str, str] = _field(answer, "FailedNodes") or {}
        rejected.update({name: ExtenderRejection(reason, True) for name, reason in final.items()})
        rejected.update(
            {name: ExtenderRejection(reason, False) for name, reason in failed.items() if name not in final}
        )
        return kept

    async def _prioritize(self, extender: Extender, pod: Document, nodes: Sequence[str]) -> dict[str, int]:
        try:
            answer = await self._send(extender, extender.prioritize_verb, self._args(extender, pod, nodes))
            if not isinstance(answer, list):
                raise ExtenderError("the answer is no list")
            found = {_field(one, "Host"): int(_field(one, "Score") or 0) for one in answer}
        except _FAULTS as error:
            _log.info("scores of extender %s do not count: %s", extender.url_prefix, error)
            return {}
        return {name: weighted_score(score, extender.weight) for name, score in found.items()}

    async def _preempt(self, extender: Extender, pod: Pod, candidates: Sequence[NodeVictims]) -> Sequence[NodeVictims]:
        args: dict[str, Any] = {"Pod": self._pod(pod), "NodeNameToVictims": None, "NodeNameToMetaVictims": None}
        if extender.node_cache_capable:
            args["NodeNameToMetaVictims"] = {
                one.node: _victims([{"UID": victim.metadata.uid} for victim in one.pods], one) for one in candidates
            }
        else:
            args["NodeNameToVictims"] = {
                one.node: _victims([self._pod(victim) for victim in one.pods], one) for one in candidates
            }
        answer = _object(await self._send(extender, extender.preempt_verb, args))
        chosen: Mapping[str, Any] = _field(answer, "NodeNameToMetaVictims") or {}
        found = []
        for node in sorted(chosen):
            uids = [_field(one, "UID") for one in (_field(chosen[node] or {}, "Pods") or ())]
            pods = [self._find_pod(node, uid) for uid in uids]
            for uid, one in zip(uids, pods, strict=True):
                if one is None:
                    what = f"claims to preempt pod (UID: {uid}) on node: {node}, but the pod is not found on that node"
                    raise ExtenderError(f"extender: {extender.url_prefix} {what}")
            if not pods:
                if extender.ignorable:
                    continue
                raise ExtenderError(f"expected at least one victim pod on node {quote(node)}")
            broken = int(_field(chosen[node], "NumPDBViolations") or 0)
            victims = tuple(one for one in pods if one is not None)
            found.append(NodeVictims(node=node, pods=victims, broken_budgets=broken))
        return found

    def _args(self, extender: Extender, pod: Document, nodes: Sequence[str]) -> dict[str, Any]:
        if extender.node_cache_capable:
            return {"Pod": pod, "Nodes": None, "NodeNames": list(nodes)}
        found = (self._documents("nodes", "", name) for name in nodes)
        return {
            "Pod": pod,
            "Nodes": {"metadata": {}, "items": [node for node in found if node is not None]},
            "NodeNames": None,
        }

    def _pod(self, pod: Pod) -> Document:
        """As it is stored now; as the scheduler knows it if it has gone."""
        meta = pod.metadata
        found = self._documents("pods", meta.namespace, meta.name)
        if found is not None and found["metadata"].get("uid") == meta.uid:
            return found
        return {"metadata": {"name": meta.name, "namespace": meta.namespace, "uid": meta.uid}, "spec": {}, "status": {}}

    async def _send(self, extender: Extender, verb: str, args: Mapping[str, Any]) -> Any:  # JSON
        import httpx2

        url = f"{extender.url_prefix.rstrip('/')}/{verb}"
        self.in_flight += 1
        try:
            client = self._client(extender)
            headers = {"Content-Type": "application/json"}
            server_name = extender.tls.server_name if extender.tls is not None else ""
            extensions = {"sni_hostname": server_name} if server_name else {}
            async with asyncio.timeout(extender.timeout_seconds):
                answer = await client.post(
                    url, content=msgspec.json.encode(args), headers=headers, extensions=extensions
                )
        except TimeoutError as error:
            raise ExtenderError(f"Post {quote(url)}: context deadline exceeded") from error
        except (httpx2.HTTPError, httpx2.InvalidURL, OSError, ValueError) as error:
            raise ExtenderError(f"Post {quote(url)}: {error}") from error
        finally:
            self.in_flight -= 1
        if answer.status_code != 200:
            raise ExtenderError(f"failed {verb} with extender at URL {url}, code {answer.status_code}")
        try:
            return msgspec.json.decode(answer.content)
        except msgspec.DecodeError as error:
            raise ExtenderError(f"the answer of {url} cannot be read: {error}") from error

    def _client(self, extender: Extender) -> "httpx2.AsyncClient":
        import httpx2

        found = self._clients.get(extender)
        if found is None:
            verify = tls_context(extender.tls) if extender.tls is not None else ssl.create_default_context()
            found = httpx2.AsyncClient(verify=verify, follow_redirects=False, trust_env=False, timeout=None)
            self._clients[extender] = found
        return found


def tls_context(tls: ExtenderTls) -> ssl.SSLContext:
    """Raises OSError or ValueError when files or data are no certificates."""
    authorities = tls.ca_data.decode() if tls.ca_data else None
    context = ssl.create_default_context(cafile=tls.ca_file or None, cadata=authorities)
    if tls.insecure:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    if tls.cert_data and tls.key_data:
        # The library loads a key from a file only.
        with tempfile.NamedTemporaryFile() as both:
            Path(both.name).write_bytes(tls.cert_data + b"\n" + tls.key_data)
            context.load_cert_chain(both.name)
    elif tls.cert_file:
        context.load_cert_chain(tls.cert_file, tls.key_file or None)
    return context


def _victims(pods: Sequence[Any], candidate: NodeVictims) -> dict[str, Any]:
    return {"Pods": list(pods), "NumPDBViolations": candidate.broken_budgets}


def _object(answer: Any) -> Mapping[str, Any]:  # JSON
    if not isinstance(answer, Mapping):
        raise ExtenderError("the answer is no object")
    return answer


def _field(answer: Mapping[str, Any], name: str) -> Any:  # JSON
    """
    >>> _field({"nodenames": ["a"]}, "NodeNames"), _field({"Error": ""}, "Error"), _field({}, "Nodes")
    (['a'], '', None)
    """
    if name in answer:
        return answer[name]
    folded = name.lower()
    return next((value for key, value in answer.items() if key.lower() == folded), None)
