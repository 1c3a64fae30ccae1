"""Where it is decided whether a write may go without admission."""

from doorman.admission.plugin_contract import Operation, RequestPreview
from doorman.api.identity import User
from support.api import running_api

ADMIN = User(name="admin", groups=("system:masters",))
KUBELET = User(name="system:node:n1", groups=("system:nodes",))
STATUS = RequestPreview(user=ADMIN, operation=Operation.UPDATE, subresource="status")


async def test_status_of_a_pod_interests_no_plugin() -> None:
    async with running_api() as api:
        pods = api.cluster.kinds.named("pods")
        assert api.cluster.registry.shortcuts.may_skip_admission(pods, STATUS)


async def test_kubelet_may_report_of_its_own_pods_only() -> None:
    async with running_api() as api:
        pods, shortcuts = api.cluster.kinds.named("pods"), api.cluster.registry.shortcuts
        for node, may in (("n1", True), ("n2", False)):
            preview = RequestPreview(user=KUBELET, operation=Operation.UPDATE, subresource="status", node=node)
            assert shortcuts.may_skip_admission(pods, preview) is may


async def test_webhook_sees_everything() -> None:
    async with running_api() as api:
        hook = {
            "name": "a.example.com", "clientConfig": {"url": "https://127.0.0.1:1/"}, "sideEffects": "None",
            "admissionReviewVersions": ["v1"],
            "rules": [{"apiGroups": ["*"], "apiVersions": ["*"], "operations": ["*"], "resources": ["pods/status"]}],
        }  # fmt: skip
        body = {"metadata": {"name": "h"}, "webhooks": [hook]}
        await api.given("validatingwebhookconfigurations.admissionregistration.k8s.io", body)
        pods = api.cluster.kinds.named("pods")
        assert not api.cluster.registry.shortcuts.may_skip_admission(pods, STATUS)


async def test_switched_off_nothing_is_skipped() -> None:
    async with running_api(takes_shortcuts=False) as api:
        pods = api.cluster.kinds.named("pods")
        assert not api.cluster.registry.shortcuts.may_skip_admission(pods, STATUS)
