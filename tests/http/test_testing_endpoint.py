"""The HTTPS endpoint of a cluster for tests: real connections, and a clock that only the test moves."""

import threading

from doorman.client.command_line.http_client import HttpClient
from doorman.testing import Cluster


def test_clients_see_the_clusters_time_and_are_answered_while_it_stands_still() -> None:
    with Cluster(nodes=2) as cluster:
        client = HttpClient(cluster.kubeconfig)
        try:
            created = client.request("POST", "/api/v1/namespaces", body={"metadata": {"name": "shop"}})
            assert created["metadata"]["creationTimestamp"] == "2026-01-01T00:00:00Z"
            cluster.advance("2h")
            created = client.request("POST", "/api/v1/namespaces", body={"metadata": {"name": "shop-2"}})
            assert created["metadata"]["creationTimestamp"] == "2026-01-01T02:00:00Z"
        finally:
            client.close()


def test_watch_over_https_shows_what_the_test_brings_about() -> None:
    with Cluster(nodes=1) as cluster:
        client = HttpClient(cluster.kubeconfig)
        seen: list[str] = []
        is_watching = threading.Event()

        def watch() -> None:
            for event in client.watch("/api/v1/nodes", query={}):
                ready = next(one for one in event["object"]["status"]["conditions"] if one["type"] == "Ready")
                seen.append(ready["status"])
                is_watching.set()
                if ready["status"] == "Unknown":
                    return

        watcher = threading.Thread(target=watch)
        watcher.start()
        assert is_watching.wait(30)
        cluster.fail("node-1")
        cluster.advance("5m")
        watcher.join(30)
        client.close()
        assert seen[0] == "True"
        assert seen[-1] == "Unknown"
