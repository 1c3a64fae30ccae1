"""View of a request for a certificate."""

from doorman.api.views.meta import Condition, ObjectMeta, View


class CertificateSigningRequestSpec(View, frozen=True, kw_only=True):
    request: str = ""
    """A PEM certificate request, base64."""
    signer_name: str = ""
    usages: tuple[str, ...] = ()
    expiration_seconds: int | None = None
    username: str = ""
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: dict[str, tuple[str, ...]] = {}


class CertificateSigningRequestStatus(View, frozen=True, kw_only=True):
    certificate: str = ""
    conditions: tuple[Condition, ...] = ()

    def has(self, type_: str) -> bool:
        return any(condition.type == type_ for condition in self.conditions)


class CertificateSigningRequest(View, frozen=True, kw_only=True):
    metadata: ObjectMeta = ObjectMeta()
    spec: CertificateSigningRequestSpec = CertificateSigningRequestSpec()
    status: CertificateSigningRequestStatus = CertificateSigningRequestStatus()
