"""Flags of kube-scheduler and kube-controller-manager that mean nothing here: known, so that their manifests work."""

from collections.abc import Sequence
from typing import Final

import click

SCHEDULER_VALUES: Final = frozenset(
    (
        "allow-metric-labels", "allow-metric-labels-manifest", "authentication-token-webhook-cache-ttl",
        "authorization-webhook-cache-authorized-ttl", "authorization-webhook-cache-unauthorized-ttl", "cert-dir",
        "disabled-metrics", "emulated-version", "http2-max-streams-per-connection", "kube-api-content-type",
        "log-flush-frequency", "log-json-info-buffer-size", "log-text-info-buffer-size", "logging-format",
        "min-compatibility-version", "pod-max-in-unschedulable-pods-duration", "requestheader-allowed-names",
        "requestheader-client-ca-file", "requestheader-extra-headers-prefix", "requestheader-group-headers",
        "requestheader-uid-headers", "requestheader-username-headers", "show-hidden-metrics-for-version",
        "tls-cipher-suites", "tls-curve-preferences", "tls-min-version", "tls-sni-cert-key", "vmodule",
        "write-config-to",
    )
)  # fmt: skip
SCHEDULER_SWITCHES: Final = frozenset(
    (
        "authentication-skip-lookup", "authentication-tolerate-lookup-failure", "contention-profiling",
        "disable-http2-serving", "log-json-split-stream", "log-text-split-stream", "permit-address-sharing",
        "permit-port-sharing", "profiling",
    )
)  # fmt: skip
CONTROLLERS_VALUES: Final = frozenset(
    (
        "allow-metric-labels", "allow-metric-labels-manifest", "attach-detach-reconcile-sync-period",
        "authentication-token-webhook-cache-ttl", "authorization-webhook-cache-authorized-ttl",
        "authorization-webhook-cache-unauthorized-ttl", "cert-dir", "cidr-allocator-type", "cloud-config",
        "cloud-provider", "cluster-cidr", "cluster-name", "cluster-signing-duration",
        "cluster-signing-kube-apiserver-client-cert-file", "cluster-signing-kube-apiserver-client-key-file",
        "cluster-signing-kubelet-client-cert-file", "cluster-signing-kubelet-client-key-file",
        "cluster-signing-kubelet-serving-cert-file", "cluster-signing-kubelet-serving-key-file",
        "cluster-signing-legacy-unknown-cert-file", "cluster-signing-legacy-unknown-key-file",
        "concurrent-cron-job-syncs", "concurrent-daemonset-syncs", "concurrent-deployment-syncs",
        "concurrent-device-taint-eviction-syncs", "concurrent-disruption-syncs", "concurrent-endpoint-syncs",
        "concurrent-ephemeralvolume-syncs", "concurrent-gc-syncs", "concurrent-horizontal-pod-autoscaler-syncs",
        "concurrent-job-syncs", "concurrent-namespace-syncs", "concurrent-rc-syncs", "concurrent-replicaset-syncs",
        "concurrent-resource-quota-syncs", "concurrent-resourceclaim-syncs", "concurrent-service-endpoint-syncs",
        "concurrent-serviceaccount-token-syncs", "concurrent-statefulset-syncs",
        "concurrent-ttl-after-finished-syncs", "concurrent-validating-admission-policy-status-syncs",
        "controller-shutdown-timeout", "controller-start-interval", "disabled-metrics", "emulated-version",
        "endpoint-updates-batch-period", "endpointslice-updates-batch-period", "external-cloud-volume-plugin",
        "flex-volume-plugin-dir", "horizontal-pod-autoscaler-cpu-initialization-period",
        "horizontal-pod-autoscaler-downscale-stabilization", "horizontal-pod-autoscaler-initial-readiness-delay",
        "horizontal-pod-autoscaler-sync-period", "horizontal-pod-autoscaler-tolerance",
        "http2-max-streams-per-connection", "kube-api-content-type", "leader-migration-config",
        "legacy-service-account-token-clean-up-period", "log-flush-frequency", "log-json-info-buffer-size",
        "log-text-info-buffer-size", "logging-format", "max-endpoints-per-slice", "min-compatibility-version",
        "min-resync-period", "mirroring-concurrent-service-endpoint-syncs",
        "mirroring-endpointslice-updates-batch-period", "mirroring-max-endpoints-per-subset",
        "namespace-sync-period", "node-cidr-mask-size", "node-cidr-mask-size-ipv4", "node-cidr-mask-size-ipv6",
        "pv-recycler-increment-timeout-nfs", "pv-recycler-minimum-timeout-hostpath",
        "pv-recycler-minimum-timeout-nfs", "pv-recycler-pod-template-filepath-hostpath",
        "pv-recycler-pod-template-filepath-nfs", "pv-recycler-timeout-increment-hostpath",
        "pvclaimbinder-sync-period", "requestheader-allowed-names", "requestheader-client-ca-file",
        "requestheader-extra-headers-prefix", "requestheader-group-headers", "requestheader-uid-headers",
        "requestheader-username-headers", "resource-quota-sync-period", "route-reconciliation-period",
        "service-account-private-key-file", "service-cluster-ip-range", "show-hidden-metrics-for-version",
        "tls-cipher-suites", "tls-curve-preferences", "tls-min-version", "tls-sni-cert-key", "vmodule",
    )
)  # fmt: skip
CONTROLLERS_SWITCHES: Final = frozenset(
    (
        "allocate-node-cidrs", "authentication-skip-lookup", "authentication-tolerate-lookup-failure",
        "configure-cloud-routes", "contention-profiling", "disable-attach-detach-reconcile-sync",
        "disable-http2-serving", "enable-dynamic-provisioning",
        "enable-garbage-collector", "enable-hostpath-provisioner", "enable-leader-migration",
        "log-json-split-stream", "log-text-split-stream", "permit-address-sharing", "permit-port-sharing",
        "profiling",
    )
)  # fmt: skip


def check_rest(rest: Sequence[str], values: frozenset[str], switches: frozenset[str]) -> None:
    """Of what is left of a command line: known flags get one warning that names them, others end it."""
    named: list[str] = []
    words = iter(rest)
    for word in words:
        name, equals, _ = word.removeprefix("--").partition("=")
        if not word.startswith("--") or (name not in values and name not in switches):
            raise click.UsageError(f"unknown flag: {word}\nhint: see --help")
        if name in values and not equals:
            next(words, None)
        named.append(f"--{name}")
    if named:
        click.echo(f"warning: {', '.join(dict.fromkeys(named))}: accepted and without meaning here", err=True)
