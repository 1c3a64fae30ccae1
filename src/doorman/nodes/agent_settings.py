"""What the agent of simulated nodes can be told."""

from typing import Final

import msgspec

from doorman.base.clock import Instant

LEASE_RENEW_SECONDS_MIN: Final = 0.25
JOB_RUN_SECONDS: Final = 1.0


class PodLives(msgspec.Struct, frozen=True, kw_only=True):
    """What pods do whose annotations do not say."""

    startup_seconds: float = 0.0
    termination_seconds: float = 0.0
    job_run_seconds: float | None = JOB_RUN_SECONDS
    """Of a Job's pod; None: it runs until something ends it."""


class AgentSettings(msgspec.Struct, frozen=True, kw_only=True):
    comparison_operators: bool = True
    lease_duration_seconds: int = 40
    lease_renew_seconds: float = 10.0
    status_report_seconds: float = 300.0
    pod_lives: PodLives = PodLives()
    writes_leases: bool = True
    """False: those of nodes that speak are worked out by who needs them (`UnwrittenLeases`)."""
    resumed_at: Instant | None = None
    """The cluster was taken up as it was at this instant: nothing begins anew then, neither leases nor terminations."""

    def is_resuming(self, now: Instant) -> bool:
        return self.resumed_at is not None and now <= self.resumed_at


def agent_settings_for(
    monitor_grace_seconds: float,
    *,
    comparison_operators: bool,
    pod_lives: PodLives | None = None,
    writes_leases: bool = True,
    resumed_at: Instant | None = None,
) -> AgentSettings:
    """Leases are renewed four times in the time in which nodes must be heard of, or they would be given up for lost.

    >>> agent_settings_for(4.0, comparison_operators=True).lease_renew_seconds
    1.0
    """
    usual = AgentSettings(
        comparison_operators=comparison_operators,
        pod_lives=pod_lives or PodLives(),
        writes_leases=writes_leases,
        resumed_at=resumed_at,
    )
    if monitor_grace_seconds >= usual.lease_duration_seconds:
        return usual
    renew_seconds = max(monitor_grace_seconds / 4, LEASE_RENEW_SECONDS_MIN)
    duration_seconds = max(1, round(4 * renew_seconds))
    return msgspec.structs.replace(usual, lease_renew_seconds=renew_seconds, lease_duration_seconds=duration_seconds)
