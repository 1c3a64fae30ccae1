"""The example webhook, serving for real."""

import asyncio
import importlib.util
import threading
from pathlib import Path
from types import ModuleType
from typing import Any

import yaml

from support.api import running_api

EXAMPLE = Path(__file__).parents[2] / "examples" / "dedicated-nodes"


def example() -> ModuleType:
    spec = importlib.util.spec_from_file_location("dedicated_nodes_webhook", EXAMPLE / "webhook.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


async def test_pods_of_the_namespace_are_sent_to_the_nodes_and_others_not() -> None:
    module = example()
    listening, ca = module.server("127.0.0.1", 0, "team", "ml")
    thread = threading.Thread(target=listening.serve_forever)
    thread.start()
    try:
        async with running_api() as api:
            await api.given("namespaces", {"metadata": {"name": "lab"}})
            for namespace in ("lab", "default"):
                await api.given_account("default", namespace=namespace)
            made = module.configuration(f"https://127.0.0.1:{listening.server_address[1]}/", ca, "lab")
            path = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations"
            assert (await api.call("POST", path, made))[0] == 201
            pod: dict[str, Any] = {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
            status, mine = await api.call("POST", "/api/v1/namespaces/lab/pods", pod)
            assert status == 201, mine
            assert {"key": "team", "operator": "Equal", "value": "ml", "effect": "NoSchedule"} in mine["spec"][
                "tolerations"
            ]
            term = mine["spec"]["affinity"]["nodeAffinity"][module.REQUIRED]["nodeSelectorTerms"][0]
            assert term["matchExpressions"] == [{"key": "team", "operator": "In", "values": ["ml"]}]
            status, other = await api.call("POST", "/api/v1/namespaces/default/pods", pod)
            assert status == 201, other
            assert "affinity" not in other["spec"]
    finally:
        await asyncio.to_thread(listening.shutdown)
        listening.server_close()
        thread.join()


async def test_built_in_manifests_are_valid() -> None:
    async with running_api() as api:
        for doc in yaml.safe_load_all((EXAMPLE / "built-in.yaml").read_text()):
            plural = {"DedicatedNodes": "dedicatednodes", "TolerationPolicy": "tolerationpolicies"}[doc["kind"]]
            status, made = await api.call("POST", f"/apis/doorman.dev/v1/{plural}", doc)
            assert status == 201, made
