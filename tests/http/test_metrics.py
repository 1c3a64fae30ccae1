"""The metrics page of a running server has upstream's names in it."""

from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from support.server import Server, fetch


def test_page_tells_of_requests_objects_scheduler_and_controllers(tmp_path: Path) -> None:
    with Server(tmp_path, "--nodes", "1") as server:
        fetch(server, "GET", "/api/v1/nodes")
        status, headers, body = fetch(server, "GET", "/metrics")
        assert status == 200
        assert headers["content-type"].startswith("text/plain; version=0.0.4")
        families = {family.name: family for family in text_string_to_metric_families(body.decode())}
        for name in (
            "apiserver_request",
            "apiserver_request_duration_seconds",
            "apiserver_current_inflight_requests",
            "apiserver_storage_objects",
            "scheduler_pending_pods",
            "scheduler_schedule_attempts",
            "scheduler_scheduling_attempt_duration_seconds",
            "scheduler_scheduling_algorithm_duration_seconds",
            "scheduler_pod_scheduling_attempts",
            "scheduler_pod_scheduling_sli_duration_seconds",
            "scheduler_queue_incoming_pods",
            "scheduler_unschedulable_pods",
            "scheduler_preemption_attempts",
            "scheduler_preemption_victims",
            "scheduler_cache_size",
            "scheduler_goroutines",
            "scheduler_queued_entities",
            "scheduler_queue_incoming_entities",
            "scheduler_inflight_events",
            "scheduler_pod_scheduled_after_flush",
            "scheduler_preemption_pdb_violations",
            "scheduler_preemption_goroutines_duration_seconds",
            "scheduler_preemption_goroutines_execution",
            "scheduler_framework_extension_point_duration_seconds",
            "scheduler_plugin_execution_duration_seconds",
            "scheduler_plugin_evaluation",
            "scheduler_queueing_hint_execution_duration_seconds",
            "scheduler_event_handling_duration_seconds",
            "workqueue_depth",
            "workqueue_adds",
            "workqueue_retries",
            "workqueue_queue_duration_seconds",
            "workqueue_work_duration_seconds",
            "workqueue_unfinished_work_seconds",
            "workqueue_longest_running_processor_seconds",
            "taint_eviction_controller_pod_deletions",
        ):
            assert name in families, sorted(families)
        nodes = [s.value for s in families["apiserver_storage_objects"].samples if s.labels["resource"] == "nodes"]
        assert nodes == [1]
        queues = [s.labels["name"] for s in families["workqueue_depth"].samples]
        assert len(queues) == len(set(queues))
        assert {"noexec_taint_node", "noexec_taint_pod", "daemonset", "node_lifecycle_controller"} <= set(queues)
        events = {s.labels["event"] for s in families["scheduler_event_handling_duration_seconds"].samples}
        assert events <= {"NamespaceAdd", "NodeAdd", "NodeUpdate", "ServiceAdd"}, events


@pytest.mark.parametrize("token", [pytest.param(None, id="anonymous"), pytest.param("wrong", id="wrong-token")])
def test_page_is_not_for_everybody(tmp_path: Path, token: str | None) -> None:
    with Server(tmp_path, "--nodes", "0") as server:
        assert fetch(server, "GET", "/metrics", token=token)[0] in (401, 403)
