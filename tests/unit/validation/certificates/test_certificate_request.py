"""Certificate signing requests after they were made."""

import base64
from typing import Any

import pytest

from doorman.validation.certificates.certificate_request import CERTIFICATE_REQUEST, certificate_fault
from doorman.validation.context import Context
from support.certificates import authority

PEM = authority(now=1_800_000_000.0).pem
APPROVED = {"type": "Approved", "status": "True", "reason": "A"}
DENIED = {"type": "Denied", "status": "True"}
FAILED = {"type": "Failed", "status": "True"}
REMOVE = "status.conditions: Forbidden: updates may not remove a condition of type"
ADD = "status.conditions: Forbidden: updates may not add a condition of type"


def encoded(data: bytes) -> str:
    return base64.b64encode(data).decode()


def request(*conditions: dict[str, Any], certificate: str = "") -> dict[str, Any]:
    status = {"conditions": list(conditions), **({"certificate": certificate} if certificate else {})}
    return {"metadata": {"name": "r", "resourceVersion": "1", "uid": "u"}, "status": status}


@pytest.mark.parametrize(
    ("subresource", "old", "new", "faults"),
    [
        pytest.param("approval", request(), request(APPROVED), [], id="rule-2-approve"),
        pytest.param("approval", request(), request(DENIED), [], id="rule-2-deny"),
        pytest.param(
            "approval",
            request(APPROVED),
            request(APPROVED, DENIED),
            [
                'status.conditions: Invalid value: "{conditions[{\\"type\\": \\"Approved\\"}], conditions[{\\"type\\": '
                '\\"Denied\\"}]}": must specify at most one of: `conditions[{"type": "Approved"}]`, '
                '`conditions[{"type": "Denied"}]`'
            ],
            id="rule-1-both",
        ),
        pytest.param(
            "approval", request(), request(APPROVED, APPROVED),
            ['status.conditions[1].type: Duplicate value: "Approved"'], id="rule-1-twice",
        ),
        pytest.param(
            "approval",
            request(),
            request({"type": "Approved", "status": "False"}, {"type": "x"}, {"status": "Maybe"}),
            [
                'status.conditions[0].status: Unsupported value: "False": supported values: "True"',
                "status.conditions[1].status: Required value",
                "status.conditions[2].type: Required value",
                'status.conditions[2].status: Unsupported value: "Maybe": supported values: "False", "True", "Unknown"',
            ],
            id="rule-1-status",
        ),
        pytest.param("approval", request(APPROVED), request(), [f'{REMOVE} "Approved"'], id="rule-2-not-taken-back"),
        pytest.param("status", request(APPROVED), request(APPROVED, FAILED), [], id="rule-2-fails"),
        pytest.param("status", request(FAILED), request(), [f'{REMOVE} "Failed"'], id="rule-2-fails-for-good"),
        pytest.param("status", request(), request(APPROVED), [f'{ADD} "Approved"'], id="rule-2-wrong-place"),
        pytest.param(
            "",
            request(APPROVED),
            request({**APPROVED, "reason": "B"}),
            ['status.conditions: Forbidden: updates may not modify a condition of type "Approved"'],
            id="rule-2-changed",
        ),
        pytest.param("status", request(), request(certificate=encoded(PEM)), [], id="rule-3-signed"),
        pytest.param(
            "approval",
            request(),
            request(certificate=encoded(PEM)),
            ["status.certificate: Forbidden: updates may not set certificate content"],
            id="rule-3-wrong-place",
        ),
        pytest.param(
            "status",
            request(certificate=encoded(PEM)),
            request(certificate=encoded(PEM + PEM)),
            ["status.certificate: Forbidden: updates may not modify existing certificate content"],
            id="rule-3-once",
        ),
        pytest.param(
            "status",
            request(),
            request(certificate=encoded(b"foo")),
            [
                'status.certificate: Invalid value: "<certificate data>": '
                "must contain at least one CERTIFICATE PEM block"
            ],
            id="rule-3-no-certificate",
        ),
        pytest.param(
            "status", request(APPROVED, DENIED), request(APPROVED, DENIED, FAILED), [], id="rule-4-was-so-already"
        ),
    ],
)  # fmt: skip
def test_update(subresource: str, old: Any, new: Any, faults: list[str]) -> None:
    found = CERTIFICATE_REQUEST.update(new, old, Context(subresource=subresource))
    assert [str(error) for error in found] == faults


@pytest.mark.parametrize(
    ("data", "fault"),
    [
        pytest.param(b"", "", id="none"),
        pytest.param(PEM, "", id="one"),
        pytest.param(b"words before\n" + PEM + b"in between\n" + PEM, "", id="two"),
        pytest.param(
            b"-----BEGIN RSA KEY-----\nAAAA\n-----END RSA KEY-----\n",
            'only CERTIFICATE PEM blocks are allowed, found "RSA KEY"',
            id="key",
        ),
        pytest.param(
            b"-----BEGIN CERTIFICATE-----\na: b\n\nAAAA\n-----END CERTIFICATE-----\n",
            "no PEM block headers are permitted",
            id="headers",
        ),
        pytest.param(
            b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
            "x509: malformed certificate",
            id="garbage",
        ),
    ],
)
def test_certificate(data: bytes, fault: str) -> None:
    assert certificate_fault(encoded(data)) == fault
