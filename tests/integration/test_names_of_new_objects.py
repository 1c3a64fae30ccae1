"""Whoever makes an object names it; who does not is told so, or the server finds a name, as Kubernetes v1.37 does."""

import re
from typing import Any

import pytest

from support.api import running_api

APPLY = {"content-type": "application/apply-patch+yaml"}
CONFIG_MAP = {"apiVersion": "v1", "kind": "ConfigMap", "data": {"a": "b"}}
PATH = "/api/v1/namespaces/default/configmaps/settings?fieldManager=f"


async def test_configuration_that_makes_an_object_has_its_name() -> None:
    async with running_api() as api:
        status, answer = await api.call("PATCH", PATH, CONFIG_MAP, headers=APPLY)
        assert (status, answer["reason"]) == (400, "BadRequest")
        assert answer["message"] == (
            "the name of the object (settings based on URL) was undeterminable: name must be provided"
        )
        named = {**CONFIG_MAP, "metadata": {"name": "settings"}}
        assert (await api.call("PATCH", PATH, named, headers=APPLY))[0] == 201
        status, answer = await api.call("PATCH", PATH, {**CONFIG_MAP, "data": {"a": "c"}}, headers=APPLY)
        assert (status, answer["data"]) == (200, {"a": "c"}), "an object that is there has its name"


async def test_limit_range_without_a_name_gets_one() -> None:
    async with running_api() as api:
        body = {"apiVersion": "v1", "kind": "LimitRange", "spec": {"limits": []}}
        status, answer = await api.call("POST", "/api/v1/namespaces/default/limitranges", body)
        assert status == 201, answer
        assert re.fullmatch(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", answer["metadata"]["name"])


@pytest.mark.parametrize(
    ("name", "fault"),
    [
        pytest.param("apps.deployments", None, id="group-and-resource"),
        pytest.param("deployments", "name must be in the form of <group>.<resource>", id="no-group"),
        pytest.param("UP.x", "the group segment a lowercase RFC 1123 subdomain must consist", id="bad-group"),
        pytest.param("apps.", "the resource segment a DNS-1035 label must consist", id="bad-resource"),
    ],
)
async def test_storage_version_is_named_by_what_it_is_about(name: str, fault: str | None) -> None:
    body: dict[str, Any] = {
        "apiVersion": "internal.apiserver.k8s.io/v1alpha1", "kind": "StorageVersion",
        "metadata": {"name": name}, "spec": {},
    }  # fmt: skip
    async with running_api() as api:
        status, answer = await api.call("POST", "/apis/internal.apiserver.k8s.io/v1alpha1/storageversions", body)
        if fault is None:
            assert status == 201, answer
        else:
            assert (status, fault in answer["message"]) == (422, True), answer
