"""What `doorman scheduler`, `controllers` and `nodes` can be told, but for what they do."""

from pathlib import Path
from typing import Any, Final

import msgspec

from doorman.api.well_known import SYSTEM_NAMESPACE
from doorman.client.leader_election import ElectionTimes

ALWAYS_ALLOWED: Final = ("/healthz", "/readyz", "/livez")


class ServingSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The port with health checks and metrics."""

    bind_address: str = "0.0.0.0"
    secure_port: int = 0
    """0: none."""
    tls_cert_file: Path | None = None
    tls_private_key_file: Path | None = None
    client_ca_file: Path | None = None
    asks_server: bool = False
    """Whether the API server is asked who may see more than the paths that everybody may."""
    always_allowed: tuple[str, ...] = ALWAYS_ALLOWED


class ElectionSettings(msgspec.Struct, frozen=True, kw_only=True):
    is_on: bool = True
    times: ElectionTimes = ElectionTimes()
    name: str = ""
    namespace: str = SYSTEM_NAMESPACE


class ComponentSettings(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    """`scheduler`, `controllers`, `nodes`."""
    kubeconfig: Path | None = None
    """None: what a pod is given."""
    context: str = ""
    master: str = ""
    qps: float = 50.0
    """0 or less: no limit."""
    burst: int = 100
    election: ElectionSettings = ElectionSettings()
    serving: ServingSettings = ServingSettings()

    def configuration(self) -> dict[str, Any]:  # JSON
        """What `/configz` says of the process, with upstream's names."""
        election, times = self.election, self.election.times
        return {
            "clientConnection": {"kubeconfig": str(self.kubeconfig or ""), "qps": self.qps, "burst": self.burst},
            "leaderElection": {
                "leaderElect": election.is_on,
                "leaseDuration": f"{times.lease_seconds:g}s",
                "renewDeadline": f"{times.renew_seconds:g}s",
                "retryPeriod": f"{times.retry_seconds:g}s",
                "resourceLock": "leases",
                "resourceName": election.name,
                "resourceNamespace": election.namespace,
            },
        }
