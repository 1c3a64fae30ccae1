"""StatefulSets shaped as the public examples of databases and the like are: they apply, get their volumes and run."""

from typing import Any

import pytest

from doorman.api.views.storage.csi import ATTACHMENTS
from doorman.client.actions import Create
from support.cluster import Story, run_story
from support.volumes import VolumeStory, claim_spec

Json = dict[str, Any]
PAUSE = "registry.k8s.io/pause:3.10"


def container(*mounts: str, name: str = "main", **more: Any) -> Json:
    mounted = [{"name": mount, "mountPath": f"/{mount}"} for mount in mounts]
    return {"name": name, "image": PAUSE, "volumeMounts": mounted, **more}


def template(name: str = "data", *, annotations: Json | None = None, **spec: Any) -> Json:
    return {"metadata": {"name": name, "annotations": annotations or {}}, "spec": claim_spec(**spec)}


def stateful_set(replicas: int, pod: Json, *templates: Json, **more: Any) -> Json:
    labels = {"app": "db"}
    spec = {
        "replicas": replicas, "serviceName": "db", "selector": {"matchLabels": labels},
        "template": {"metadata": {"labels": labels}, "spec": pod}, "volumeClaimTemplates": list(templates), **more,
    }  # fmt: skip
    return {"metadata": {"name": "db"}, "spec": spec}


def apart(topology_key: str = "kubernetes.io/hostname") -> Json:
    term = {"labelSelector": {"matchLabels": {"app": "db"}}, "topologyKey": topology_key}
    return {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}


FAST: Json = {"metadata": {"name": "fast"}, "provisioner": "k8s.io/minikube-hostpath", "parameters": {"type": "ssd"}}
"""It binds at once, by default."""
PROBE = {"exec": {"command": ["/ready"]}, "initialDelaySeconds": 15, "timeoutSeconds": 5}
IP = {"name": "POD_IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}}
SEED = {"secretKeyRef": {"name": "seed", "key": "token"}}

RING = stateful_set(
    3,
    {
        "terminationGracePeriodSeconds": 500,
        "containers": [
            container(
                "data",
                env=[{"name": "HEAP", "value": "100M"}, IP],
                lifecycle={"preStop": {"exec": {"command": ["/stop"]}}},
                resources={"limits": {"cpu": "500m", "memory": "1Gi"}},
                securityContext={"capabilities": {"add": ["IPC_LOCK"]}},
                readinessProbe=PROBE,
            )
        ],
    },
    template(storageClassName="fast"),
)
OLD_RING = stateful_set(
    3,
    {"containers": [container("data")]},
    template(annotations={"volume.beta.kubernetes.io/storage-class": "fast"}),
)
ENSEMBLE = stateful_set(
    3,
    {
        "affinity": apart(),
        "securityContext": {"runAsUser": 1000, "fsGroup": 1000},
        "containers": [container("data", command=["sh", "-c", "start"], livenessProbe=PROBE, readinessProbe=PROBE)],
    },
    template(size="10Gi"),
    updateStrategy={"type": "RollingUpdate"},
    podManagementPolicy="OrderedReady",
)
PRIMARY = stateful_set(
    3,
    {
        "initContainers": [container("conf", "config-map", name="init"), container("data", "conf", name="clone")],
        "containers": [
            container("data", "conf", env=[{"name": "EMPTY", "value": "1"}]),
            container("data", "conf", name="backup"),
        ],
        "volumes": [{"name": "conf", "emptyDir": {}}, {"name": "config-map", "configMap": {"name": "settings"}}],
    },
    template(),
)
WEB = stateful_set(2, {"containers": [container("www", ports=[{"containerPort": 80, "name": "web"}])]}, template("www"))
PARALLEL = stateful_set(2, {"containers": [container("www")]}, template("www"), podManagementPolicy="Parallel")
TWO_DISKS = stateful_set(
    4,
    {
        "affinity": apart(),
        "containers": [container("logs", "data", envFrom=[{"configMapRef": {"name": "settings"}}])],
    },
    template("data", size="20Gi"),
    template("logs", modes=("ReadWriteOncePod",)),
    persistentVolumeClaimRetentionPolicy={"whenDeleted": "Delete", "whenScaled": "Retain"},
)
BROKER = stateful_set(
    1,
    {
        "containers": [
            container("data", "all", env=[{"name": "TOKEN", "valueFrom": SEED}], securityContext={"runAsUser": 999})
        ],
        "volumes": [
            {
                "name": "all",
                "projected": {"sources": [{"configMap": {"name": "settings"}}, {"secret": {"name": "seed"}}]},
            }
        ],
    },
    template(modes=("ReadWriteOnce", "ReadOnlyMany")),
    minReadySeconds=10,
)


@pytest.mark.parametrize(
    ("body", "disks"),
    [
        pytest.param(RING, 1, id="ring, class of its own"),
        pytest.param(OLD_RING, 1, id="ring, class by annotation"),
        pytest.param(ENSEMBLE, 1, id="ensemble, one a node"),
        pytest.param(PRIMARY, 1, id="primary and replicas"),
        pytest.param(WEB, 1, id="web"),
        pytest.param(PARALLEL, 1, id="web, in parallel"),
        pytest.param(TWO_DISKS, 2, id="two disks each"),
        pytest.param(BROKER, 1, id="broker"),
    ],
)
def test_stateful_set_gets_its_volumes_and_runs(body: Json, disks: int) -> None:
    async def story(cluster: Story) -> None:
        for resource, namespace, other in (
            ("storageclasses.storage.k8s.io", "", FAST),
            ("configmaps", "default", {"metadata": {"name": "settings"}, "data": {"k": "v"}}),
            ("secrets", "default", {"metadata": {"name": "seed"}, "data": {"token": "dA=="}}),
            ("statefulsets.apps", "default", body),
        ):
            await cluster.client.create(Create(resource=resource, namespace=namespace, body=other))
        await cluster.advance(60)
        replicas = body["spec"]["replicas"]
        for at in range(replicas):
            cluster.expect_running(f"db-{at}")
        volumes = VolumeStory(cluster)
        for one in body["spec"]["volumeClaimTemplates"]:
            for at in range(replicas):
                assert volumes.claim(f"{one['metadata']['name']}-db-{at}").status.phase == "Bound"
        attached = [one for one in cluster.cluster.informers.lister(ATTACHMENTS).list() if one.status.attached]
        assert len(attached) == disks * replicas

    run_story(story, nodes=4, plays_provisioners=True)
