"""ClusterTrustBundles."""

from typing import Any

import pytest

from doorman.validation.certificates.trust_bundle import TRUST_BUNDLE
from doorman.validation.context import Context

NOTHING = 'spec.trustBundle: Invalid value: "<value omitted>": at least one trust anchor must be provided'


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        pytest.param(("a.example:s:x", {"signerName": "a.example/s"}), [NOTHING], id="named-after-its-signer"),
        pytest.param(
            ("x", {"signerName": "a.example/s"}),
            [
                'metadata.name: Invalid value: "x": '
                "ClusterTrustBundle for signerName a.example/s must be named with prefix a.example:s:",
                NOTHING,
            ],
            id="other-name",
        ),
        pytest.param(
            ("a:b", {}),
            [
                'metadata.name: Invalid value: "a:b": '
                'ClusterTrustBundle without signer name must not have ":" in its name',
                NOTHING,
            ],
            id="no-signer",
        ),
        pytest.param(
            ("x", {"trustBundle": "-----BEGIN CERTIFICATE-----\nAA==\n-----END CERTIFICATE-----\n"}),
            ['spec.trustBundle: Invalid value: "<value omitted>": entry 0 does not parse as X.509'],
            id="no-certificate",
        ),
        pytest.param(
            ("x", {"trustBundle": "-----BEGIN KEY-----\nAA==\n-----END KEY-----\n"}),
            ['spec.trustBundle: Invalid value: "<value omitted>": entry 0 has bad block type: KEY'],
            id="no-certificate-block",
        ),
    ],
)
def test_trust_bundle(given: Any, expected: list[str]) -> None:
    assert [
        str(error) for error in TRUST_BUNDLE.create({"metadata": {"name": given[0]}, "spec": given[1]}, Context())
    ] == expected
