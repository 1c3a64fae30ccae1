"""Files of a volume that would be at the same place, as Kubernetes v1.37 warns of them."""

from typing import Any

import pytest

from doorman.validation.pods.volume.volume_path_warnings import volume_path_warnings


def items(*paths: str) -> list[dict[str, str]]:
    return [{"key": f"k{index}", "path": path} for index, path in enumerate(paths)]


def projected(*sources: dict[str, Any]) -> dict[str, Any]:
    return {"projected": {"sources": list(sources)}}


@pytest.mark.parametrize(
    ("paths", "overlaps"),
    [
        pytest.param(["a", "ab"], [], id="beside"),
        pytest.param(["a", "a"], ['"a" with "a"'], id="twice"),
        pytest.param(["a", "a", "a"], ['"a" with "a"'], id="three-times-is-told-once"),
        pytest.param(["a/b", "a"], ['"a" with "a/b"'], id="above"),
        pytest.param(["a", "a/b", "a/c"], ['"a/b" with "a"', '"a/c" with "a"'], id="two-below"),
        pytest.param(["a/b", "a/c", "a"], ['"a" with "a/b"', '"a" with "a/c"'], id="above-two"),
        pytest.param(["a", "b", "a", "b/c", "c"], ['"a" with "a"', '"b/c" with "b"'], id="in-the-order-of-items"),
        pytest.param(["a", "a/b", "a"], ['"a/b" with "a"', '"a" with "a"', '"a" with "a/b"'], id="both-ways"),
        pytest.param(["a//", "a/b"], ['"a/b" with "a"'], id="slashes-at-the-end-go"),
        pytest.param(["a/./b", "a/b"], [], id="dots-are-names"),
    ],
)
def test_overlaps(paths: list[str], overlaps: list[str]) -> None:
    found = volume_path_warnings([{"name": "v", "configMap": {"name": "m", "items": items(*paths)}}])
    assert found == [f'volume "v" (ConfigMap "m"): overlapping paths: {text}' for text in overlaps]


@pytest.mark.parametrize(
    ("source", "warnings"),
    [
        pytest.param(
            {"secret": {"secretName": "s", "items": items("a", "a/b")}},
            ['volume "v" (Secret "s"): overlapping paths: "a/b" with "a"'],
            id="secret",
        ),
        pytest.param(
            {"downwardAPI": {"items": items("a", "a")}},
            ['volume "v" (DownwardAPI): overlapping paths: "a" with "a"'],
            id="downward-api",
        ),
        pytest.param(
            projected(
                {"configMap": {"name": "m", "items": items("a")}},
                {},
                {"secret": {"name": "s", "items": items("a/b")}},
                {"serviceAccountToken": {"path": "a/b/c"}},
            ),
            [
                'volume "v" (Projected) has no sources provided',
                'volume "v" (Projected): overlapping paths: "a/b" (Secret "s") with "a" (ConfigMap "m")',
                'volume "v" (Projected): overlapping paths: "a/b/c" (ServiceAccountToken) with "a" (ConfigMap "m")',
                'volume "v" (Projected): overlapping paths: "a/b/c" (ServiceAccountToken) with "a/b" (Secret "s")',
            ],
            id="projected",
        ),
        pytest.param(
            projected(
                {"clusterTrustBundle": {"name": "b", "path": "a"}},
                {"clusterTrustBundle": {"signerName": "x.example.com/y", "path": "a/b"}},
            ),
            [
                'volume "v" (Projected): overlapping paths: "a/b" (ClusterTrustBundle "x.example.com/y") with "a" '
                '(ClusterTrustBundle "b")'
            ],
            id="trust-bundles-by-name-or-signer",
        ),
        pytest.param(
            projected(
                {"podCertificate": {"credentialBundlePath": "a"}},
                {"podCertificate": {"keyPath": "a/b", "certificateChainPath": "a/c"}},
            ),
            [
                'volume "v" (Projected): overlapping paths: "a/c" (PodCertificate chain) with "a" '
                "(PodCertificate credential bundle)",
                'volume "v" (Projected): overlapping paths: "a/b" (PodCertificate key) with "a" '
                "(PodCertificate credential bundle)",
            ],
            id="parts-of-a-pod-certificate",
        ),
        pytest.param({"configMap": {"name": "m"}}, [], id="without-items"),
    ],
)
def test_sources(source: dict[str, Any], warnings: list[str]) -> None:
    assert volume_path_warnings([{"name": "v", **source}]) == warnings


def test_many_items_are_not_compared_with_each_other() -> None:
    many = [f"folder-{index}/file" for index in range(50_000)]
    found = volume_path_warnings([{"name": "v", "configMap": {"name": "m", "items": items(*many, "folder-7")}}])
    assert found == ['volume "v" (ConfigMap "m"): overlapping paths: "folder-7" with "folder-7/file"']
