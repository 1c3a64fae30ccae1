"""Servers of one etcd know of each other: endpoints of the service `kubernetes`, and identity leases."""

import json
import signal
import ssl
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from support.etcd import EtcdMember
from support.server import Server, authority_of, fetch

ENDPOINTS = "/api/v1/namespaces/default/endpoints"
SLICE = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices/kubernetes"
LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases"


@pytest.fixture
def member(tmp_path: Path) -> Iterator[EtcdMember]:
    with EtcdMember(tmp_path, "--unsafe-no-fsync") as running:
        yield running


def server_at(member: EtcdMember, folder: Path, address: str, *flags: str) -> Server:
    own = folder / address
    own.mkdir()
    place = ["--etcd-servers", member.url, "--data-dir", str(folder / "keys"), "--components=false"]
    return Server(own, *place, "--advertise-address", address, *flags, place=())


def awaited_addresses(server: Server, expected: list[str]) -> None:
    """Until the endpoints are these."""
    config = yaml.safe_load(server.kubeconfig.read_text())
    context = ssl.create_default_context(cadata=authority_of(config))
    url = f"{server.address}{ENDPOINTS}?watch=true&timeoutSeconds=40&fieldSelector=metadata.name%3Dkubernetes"
    request = urllib.request.Request(url, headers={"Authorization": f"Bearer {config['users'][0]['user']['token']}"})
    seen: list[list[str]] = []
    with urllib.request.urlopen(request, context=context, timeout=50) as lines:
        for line in lines:
            subsets = json.loads(line)["object"].get("subsets") or []
            seen.append([one["ip"] for subset in subsets for one in subset["addresses"]])
            if seen[-1] == expected:
                return
    raise AssertionError(f"{expected} never came: {seen}")


def asked(server: Server, path: str) -> Any:
    status, _, answer = fetch(server, "GET", path)
    assert status == 200, answer
    return json.loads(answer)


@pytest.mark.slow
def test_service_leads_to_the_servers_there_are(member: EtcdMember, tmp_path: Path) -> None:
    with server_at(member, tmp_path, "192.0.2.7") as first:
        awaited_addresses(first, ["192.0.2.7"])
        with server_at(member, tmp_path, "192.0.2.5") as second:
            awaited_addresses(second, ["192.0.2.5", "192.0.2.7"])
            second.stop()
            awaited_addresses(first, ["192.0.2.7"])
        with server_at(member, tmp_path, "192.0.2.9") as third:
            awaited_addresses(first, ["192.0.2.7", "192.0.2.9"])
            third.stop(signal.SIGKILL)
            awaited_addresses(first, ["192.0.2.7"])
        endpoints = asked(first, SLICE)["endpoints"]
        assert [one["addresses"] for one in endpoints] == [["192.0.2.7"]]
        leases = asked(first, f"{LEASES}?labelSelector=apiserver.kubernetes.io/identity%3Ddoorman")["items"]
        assert len(leases) == 3
        assert all(one["metadata"]["name"].startswith("doorman-") for one in leases)


def test_who_is_not_to_be_found_is_not(member: EtcdMember, tmp_path: Path) -> None:
    flags = ("--endpoint-reconciler-type", "none")
    with server_at(member, tmp_path, "192.0.2.7", *flags) as hidden:
        assert fetch(hidden, "GET", f"{ENDPOINTS}/kubernetes")[0] == 404
        assert fetch(hidden, "GET", "/api/v1/namespaces/default/services/kubernetes")[0] == 200
