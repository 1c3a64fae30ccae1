"""Which servers there are: each keeps a Lease in kube-system that says who it is, and renews it every ten seconds.

As kube-apiserver does it, under a label value of our own: a kube-apiserver hands requests it cannot serve to servers
with its label, and collects their leases, so ours are none of its business, and we collect our own. Expired ones go
once an hour. The port is part of the name: several servers may run on one machine.
"""

import asyncio
import hashlib
import logging
import socket
from base64 import b32encode
from typing import Final

from doorman.api.views.coordination import Lease
from doorman.api.well_known import LEASES, SYSTEM_NAMESPACE
from doorman.base.clock import Clock, Instant
from doorman.base.errors import ApiError
from doorman.base.instants import from_time, to_micro_time
from doorman.base.json_types import Document
from doorman.client.actions import Create, Delete, Update
from doorman.client.client import Client
from doorman.registry.cache.collection import Collection
from doorman.runtime.defaults.default_objects import Existing

IDENTITY_LABEL: Final = "apiserver.kubernetes.io/identity"
IDENTITY: Final = "doorman"
PEER_ANNOTATION: Final = "kubernetes.io/peer-advertise-address"
LEASE_SECONDS: Final = 3600
RENEW_SECONDS: Final = 10.0
COLLECT_SECONDS: Final = 3600.0

_log: Final = logging.getLogger("doorman.runtime")


def identity_name(host: str, port: int) -> str:
    """
    >>> identity_name("host", 6443)
    'doorman-piprcybre4qwyleawco6qwktvm'
    """
    digest = hashlib.sha256(f"{host}:{port}".encode()).digest()[:16]
    return f"{IDENTITY}-{b32encode(digest).decode().rstrip('=').lower()}"


def is_expired(lease: Lease, now: Instant) -> bool:
    """Whether its server is gone; one that does not say when it was renewed is."""
    try:
        renewed = from_time(lease.spec.renew_time)
    except ValueError:
        return True
    return renewed + lease.spec.lease_duration_seconds < now


class IdentityLease:
    def __init__(
        self, client: Client, existing: Existing, leases: Collection, clock: Clock, *, address: str, port: int, uid: str
    ) -> None:
        self._client = client
        self._existing = existing
        self._leases = leases
        self._clock = clock
        self._host = socket.gethostname().lower()
        self.name = identity_name(self._host, port)
        self._holder = f"{self.name}_{uid}"
        self._peer = f"[{address}]:{port}" if ":" in address else f"{address}:{port}"

    async def run(self) -> None:
        collected = self._clock.now()
        while True:
            try:
                await self.renew()
                if self._clock.now() >= collected + COLLECT_SECONDS:
                    collected = self._clock.now()
                    await self.collect()
            except ApiError as error:
                _log.warning("the identity lease %s was not renewed: %s", self.name, error)
            await asyncio.sleep(RENEW_SECONDS)

    async def renew(self) -> None:
        found = self._existing(LEASES, SYSTEM_NAMESPACE, self.name)
        if found is None:
            await self._client.create(Create(resource=LEASES, namespace=SYSTEM_NAMESPACE, body=self._lease()))
            return
        new = self._lease()
        metadata = found["metadata"]
        for member in ("labels", "annotations"):
            metadata[member] = {**(metadata.get(member) or {}), **new["metadata"][member]}
        body = {**found, "metadata": metadata, "spec": {**(found.get("spec") or {}), **new["spec"]}}
        await self._client.update(
            Update(resource=LEASES, namespace=SYSTEM_NAMESPACE, name=self.name, body=body),
        )

    async def collect(self) -> None:
        """Delete those of servers that are gone."""
        now = self._clock.now()
        for stored in list(self._leases.objects.values()):
            lease: Lease = stored.view
            meta = lease.metadata
            is_ours = meta.namespace == SYSTEM_NAMESPACE and meta.labels.get(IDENTITY_LABEL) == IDENTITY
            if is_ours and is_expired(lease, now):
                await self._client.delete(
                    Delete(resource=LEASES, namespace=SYSTEM_NAMESPACE, name=meta.name, uid=meta.uid)
                )

    def _lease(self) -> Document:
        return {
            "metadata": {
                "name": self.name,
                "labels": {IDENTITY_LABEL: IDENTITY, "kubernetes.io/hostname": self._host},
                "annotations": {PEER_ANNOTATION: self._peer},
            },
            "spec": {
                "holderIdentity": self._holder,
                "leaseDurationSeconds": LEASE_SECONDS,
                "renewTime": to_micro_time(self._clock.now()),
            },
        }
