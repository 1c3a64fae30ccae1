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
            "workqueue_depth",
            "taint_eviction_controller_pod_deletions",
        ):
            assert name in families, sorted(families)
        nodes = [s.value for s in families["apiserver_storage_objects"].samples if s.labels["resource"] == "nodes"]
        assert nodes == [1]


@pytest.mark.parametrize("token", [pytest.param(None, id="anonymous"), pytest.param("wrong", id="wrong-token")])
def test_page_is_not_for_everybody(tmp_path: Path, token: str | None) -> None:
    with Server(tmp_path, "--nodes", "0") as server:
        assert fetch(server, "GET", "/metrics", token=token)[0] in (401, 403)
