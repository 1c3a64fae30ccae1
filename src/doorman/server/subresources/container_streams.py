"""What needs a container: logs are told by whoever runs it in name, everything else says why it cannot be."""

from typing import Final

from doorman.base.clock import Clock
from doorman.base.errors import ApiError, GroupResource, bad_request, method_not_allowed, not_found
from doorman.registry.pod_operations import check_streamed
from doorman.registry.registry import Registry
from doorman.server.request import Response
from doorman.server.request_context import RequestContext
from doorman.server.subresources.pod_logs import LogsOf, PodLogs, parse_log_options

CONTAINER_SUBRESOURCES: Final = {
    "log": "there is no container runtime behind this server, so there are no logs of nodes that are not simulated",
    "exec": "exec is not supported by this server: its nodes run pods in name only",
    "attach": "attach is not supported by this server: its nodes run pods in name only",
    "portforward": "port forwarding is not supported by this server: its nodes run pods in name only",
    "proxy": "proxying is not supported by this server: its nodes run pods in name only",
}
_NODES: Final = GroupResource("", "nodes")


class ContainerStreams:
    def __init__(self, registry: Registry, logs_of: LogsOf, clock: Clock) -> None:
        self._registry = registry
        self._logs = PodLogs(registry.cache.collection("pods"), logs_of, clock)

    def answer(self, call: RequestContext) -> Response:
        info = call.info
        if call.request.query.all("dryRun"):
            raise bad_request("dryRun is not supported")
        if info.subresource == "log":
            return self._log(call)
        stored = self._registry.get(call.kind, info.namespace, info.name)
        if call.kind.storage == "pods":
            check_streamed(stored.document(), info.subresource, call.request.query.get("container"))
        raise ApiError(501, "", CONTAINER_SUBRESOURCES[info.subresource])

    def _log(self, call: RequestContext) -> Response:
        info = call.info
        if info.verb != "get":
            raise method_not_allowed()
        options = parse_log_options(info.name, call.request.query)
        pod = self._registry.get(call.kind, info.namespace, info.name).document()
        check_streamed(pod, info.subresource, options.container)
        node = pod["spec"].get("nodeName")
        if not node:
            return Response(status=204)
        if self._registry.cache.collection("nodes").get(node) is None:
            raise not_found(_NODES, node)
        found = self._logs.answer(pod, options)
        if found is None:
            raise ApiError(501, "", CONTAINER_SUBRESOURCES["log"])
        return found
