"""ServiceAccount."""

from typing import Any

import pytest

from doorman.admission.plugins.service_account_admission import TOKEN_PATH, ServiceAccountPlugin
from doorman.base.errors import ApiError

MIRROR = {"annotations": {"kubernetes.io/config.mirror": "x"}}


def plugin() -> ServiceAccountPlugin:
    return ServiceAccountPlugin(lambda: "abcde")


def pod(metadata: dict[str, Any] | None = None, **spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": "p", **(metadata or {})}, "spec": {"containers": [{"name": "c"}], **spec}}


def account(name: str = "default", **fields: Any) -> dict[str, Any]:
    return {"metadata": {"name": name}, **fields}


def test_pod_runs_as_default_with_its_token(world: Any, asked: Any) -> None:
    doc = pod(initContainers=[{"name": "i"}])
    plugin().admit(asked(doc), world(serviceaccounts=[account(imagePullSecrets=[{"name": "s"}])]), 0.0)
    spec = doc["spec"]
    mount = {"name": "kube-api-access-abcde", "readOnly": True, "mountPath": TOKEN_PATH}
    assert (spec["serviceAccountName"], spec["serviceAccount"]) == ("default", "default")
    assert spec["containers"][0]["volumeMounts"] == spec["initContainers"][0]["volumeMounts"] == [mount]
    (volume,) = spec["volumes"]
    assert volume["name"] == "kube-api-access-abcde"
    assert [next(iter(source)) for source in volume["projected"]["sources"]] == [
        "serviceAccountToken",
        "configMap",
        "downwardAPI",
    ]
    assert spec["imagePullSecrets"] == [{"name": "s"}]


@pytest.mark.parametrize(
    ("on_pod", "on_account", "mounted"),
    [
        pytest.param(None, None, True, id="unsaid"),
        pytest.param(None, False, False, id="account-says-no"),
        pytest.param(True, False, True, id="pod-first"),
        pytest.param(False, True, False, id="pod-says-no"),
    ],
)
def test_automount(on_pod: bool | None, on_account: bool | None, mounted: bool, world: Any, asked: Any) -> None:
    doc, who = pod(), account()
    if on_pod is not None:
        doc["spec"]["automountServiceAccountToken"] = on_pod
    if on_account is not None:
        who["automountServiceAccountToken"] = on_account
    plugin().admit(asked(doc), world(serviceaccounts=[who]), 0.0)
    assert ("volumes" in doc["spec"]) is mounted


def test_own_mount_at_the_path_is_respected(world: Any, asked: Any) -> None:
    doc = pod(containers=[{"name": "c", "volumeMounts": [{"name": "v", "mountPath": TOKEN_PATH}]}])
    plugin().admit(asked(doc), world(serviceaccounts=[account()]), 0.0)
    assert "volumes" not in doc["spec"]


def test_second_round_changes_nothing(world: Any, asked: Any) -> None:
    doc, there = pod(), world(serviceaccounts=[account()])
    plugin().admit(asked(doc), there, 0.0)
    once = str(doc)
    plugin().admit(asked(doc), there, 0.0)
    assert str(doc) == once


def test_unknown_account_is_refused(world: Any, asked: Any) -> None:
    with pytest.raises(ApiError) as refused:
        plugin().admit(asked(pod(serviceAccountName="ghost")), world(), 0.0)
    assert refused.value.message == (
        'pods "p" is forbidden: error looking up service account ns/ghost: serviceaccount "ghost" not found'
    )


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        pytest.param({"serviceAccountName": "x"}, "may not reference service accounts", id="account"),
        pytest.param({"volumes": [{"name": "v", "secret": {}}]}, "may not reference secrets", id="secret"),
        pytest.param(
            {"containers": [{"envFrom": [{"secretRef": {"name": "x"}}]}]}, "may not reference secrets", id="environment"
        ),
        pytest.param({"imagePullSecrets": [{"name": "x"}]}, "may not reference secrets", id="pull-secret"),
        pytest.param(
            {"volumes": [{"name": "v", "csi": {"nodePublishSecretRef": {"name": "x"}}}]},
            "may not reference secrets",
            id="secret-of-a-driver",
        ),
        pytest.param(
            {"volumes": [{"name": "v", "projected": {"sources": [{"secret": {"name": "x"}}]}}]},
            "may not reference secrets",
            id="projected-secret",
        ),
        pytest.param(
            {"volumes": [{"projected": {"sources": [{"serviceAccountToken": {}}]}}]},
            "may not use ServiceAccountToken",
            id="token",
        ),
    ],
)
def test_mirror_pod_refers_to_nothing(spec: Any, message: str, world: Any, asked: Any) -> None:
    with pytest.raises(ApiError, match=f"a mirror pod {message}"):
        plugin().admit(asked(pod(MIRROR, **spec)), world(), 0.0)


def test_mirror_pod_is_left_as_it_is(world: Any, asked: Any) -> None:
    doc = pod(MIRROR)
    plugin().admit(asked(doc), world(), 0.0)
    assert doc == pod(MIRROR)
