"""Errors for clients: a `Status` as Kubernetes clients understand it, and field errors that go into it.

`FieldError` is a verdict (a value); `ApiError` is raised. Every message template of the API lives here, once.
"""

from collections.abc import Sequence
from enum import StrEnum
from typing import Any

import msgspec

from doorman.base.go_format import go_json, printed, quote


class FieldErrorType(StrEnum):
    """The `reason` of a cause."""

    REQUIRED = "FieldValueRequired"
    INVALID = "FieldValueInvalid"
    NOT_SUPPORTED = "FieldValueNotSupported"
    DUPLICATE = "FieldValueDuplicate"
    FORBIDDEN = "FieldValueForbidden"
    NOT_FOUND = "FieldValueNotFound"
    TOO_LONG = "FieldValueTooLong"
    TOO_MANY = "FieldValueTooMany"
    TYPE_INVALID = "FieldValueTypeInvalid"
    INTERNAL = "InternalError"


class FieldError(msgspec.Struct, frozen=True):
    """One thing wrong with one field. `body` is the text after the field's path."""

    type: FieldErrorType
    field: str
    body: str

    def __str__(self) -> str:
        return f"{self.field}: {self.body}"


class JsonText(msgspec.Struct, frozen=True):
    """Marks a string that Kubernetes prints as JSON (enumerations) rather than as a Go string."""

    value: object


def _shown(value: object) -> str:
    if isinstance(value, JsonText):
        return go_json(value.value)
    if isinstance(value, str):
        return quote(value)
    return printed(value) if isinstance(value, float) else go_json(value)


def _detailed(head: str, detail: str) -> str:
    return f"{head}: {detail}" if detail else head


def required(field: str, detail: str = "") -> FieldError:
    return FieldError(FieldErrorType.REQUIRED, field, _detailed("Required value", detail))


def invalid(field: str, value: object, detail: str = "") -> FieldError:
    return FieldError(FieldErrorType.INVALID, field, _detailed(f"Invalid value: {_shown(value)}", detail))


def type_invalid(field: str, value: object, detail: str = "") -> FieldError:
    return FieldError(FieldErrorType.TYPE_INVALID, field, _detailed(f"Invalid value: {_shown(value)}", detail))


def not_supported(field: str, value: object, supported: Sequence[str]) -> FieldError:
    listed = ", ".join(quote(s) for s in supported)
    return FieldError(
        FieldErrorType.NOT_SUPPORTED, field, f"Unsupported value: {_shown(value)}: supported values: {listed}"
    )


def duplicate(field: str, value: object, detail: str = "") -> FieldError:
    return FieldError(FieldErrorType.DUPLICATE, field, _detailed(f"Duplicate value: {_shown(value)}", detail))


def forbidden(field: str, detail: str = "") -> FieldError:
    return FieldError(FieldErrorType.FORBIDDEN, field, _detailed("Forbidden", detail))


def field_not_found(field: str, value: object, detail: str = "") -> FieldError:
    return FieldError(FieldErrorType.NOT_FOUND, field, _detailed(f"Not found: {_shown(value)}", detail))


def too_long(field: str, bytes_max: int) -> FieldError:
    return FieldError(FieldErrorType.TOO_LONG, field, f"Too long: may not be more than {bytes_max} bytes")


def too_many(field: str, count: int, count_max: int) -> FieldError:
    return FieldError(FieldErrorType.TOO_MANY, field, f"Too many: {count}: must have at most {count_max} items")


class Cause(msgspec.Struct, frozen=True, omit_defaults=True):
    reason: str = ""
    message: str = ""
    field: str = ""


class GroupResource(msgspec.Struct, frozen=True):
    """`pods`, or `deployments.apps`: how a resource is named in messages."""

    group: str
    resource: str

    def __str__(self) -> str:
        return f"{self.resource}.{self.group}" if self.group else self.resource


class ApiError(Exception):
    """An answer that is not success. Raised anywhere below the server, turned into a Status in one place."""

    def __init__(
        self,
        code: int,
        reason: str,
        message: str,
        *,
        details: dict[str, Any] | None = None,
        causes: Sequence[Cause] = (),
        retry_after_seconds: int = 0,
        continue_token: str = "",
    ) -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason
        self.message = message
        self.details = details
        self.causes = tuple(causes)
        self.retry_after_seconds = retry_after_seconds
        self.continue_token = continue_token

    def status(self) -> dict[str, Any]:
        """The Status object, members in the order clients are used to."""
        metadata = {"continue": self.continue_token} if self.continue_token else {}
        out: dict[str, Any] = {
            "kind": "Status", "apiVersion": "v1", "metadata": metadata, "status": "Failure", "message": self.message,
        }  # fmt: skip
        if self.reason:
            out["reason"] = self.reason
        if self.details is not None or self.causes or self.retry_after_seconds:
            details = dict(self.details or {})
            if self.causes:
                details["causes"] = [msgspec.to_builtins(cause) for cause in self.causes]
            if self.retry_after_seconds:
                details["retryAfterSeconds"] = self.retry_after_seconds
            out["details"] = details
        out["code"] = self.code
        return out


def _details(what: GroupResource, name: str) -> dict[str, Any]:
    found = {"name": name, "group": what.group, "kind": what.resource}
    return {key: value for key, value in found.items() if value}


def bad_request(message: str) -> ApiError:
    return ApiError(400, "BadRequest", message)


def unauthorized() -> ApiError:
    return ApiError(401, "Unauthorized", "Unauthorized")


def forbidden_request(what: GroupResource, name: str, why: str, *, causes: Sequence[Cause] = ()) -> ApiError:
    named = f"{what} {quote(name)}" if name else str(what)
    return ApiError(403, "Forbidden", f"{named} is forbidden: {why}", details=_details(what, name), causes=causes)


def not_found(what: GroupResource, name: str) -> ApiError:
    return ApiError(404, "NotFound", f"{what} {quote(name)} not found", details=_details(what, name))


def no_such_resource() -> ApiError:
    return ApiError(404, "NotFound", "the server could not find the requested resource", details={})


def already_exists(what: GroupResource, name: str, *, prefix: str = "") -> ApiError:
    message = f"{prefix}{what} {quote(name)} already exists"
    return ApiError(409, "AlreadyExists", message, details=_details(what, name))


def name_not_generated(what: GroupResource, name: str) -> ApiError:
    message = f"{what} {quote(name)} already exists, the server was not able to generate a unique name for the object"
    return ApiError(409, "AlreadyExists", message, details=_details(what, name), retry_after_seconds=1)


def conflict(what: GroupResource, name: str, why: str) -> ApiError:
    message = f"Operation cannot be fulfilled on {what} {quote(name)}: {why}"
    return ApiError(409, "Conflict", message, details=_details(what, name))


STALE = "the object has been modified; please apply your changes to the latest version and try again"


def stale(what: GroupResource, name: str) -> ApiError:
    """The optimistic lock failed."""
    return conflict(what, name, STALE)


def rejected() -> ApiError:
    """422 for a patch that cannot be followed."""
    return ApiError(422, "Invalid", "the server rejected our request due to an error in our request", details={})


def method_not_allowed() -> ApiError:
    return ApiError(
        405, "MethodNotAllowed", "the server does not allow this method on the requested resource", details={}
    )


def not_acceptable(message: str) -> ApiError:
    return ApiError(406, "NotAcceptable", message)


def expired(message: str, *, continue_token: str = "") -> ApiError:
    return ApiError(410, "Expired", message, continue_token=continue_token)


def too_large(message: str) -> ApiError:
    return ApiError(413, "RequestEntityTooLarge", f"Request entity too large: {message}")


def unsupported_media_type(accepted: Sequence[str]) -> ApiError:
    head = "the body of the request was in an unknown format - accepted media types include: "
    return ApiError(415, "UnsupportedMediaType", head + ", ".join(accepted))


def invalid_object(kind: str, group: str, name: str, errors: Sequence[FieldError]) -> ApiError:
    """422. Equal texts are said once in the message; every error given is a cause."""
    texts = list(dict.fromkeys(str(error) for error in errors))
    listed = texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"
    shown = f"{kind}.{group}" if group else kind
    details = {key: value for key, value in {"name": name, "group": group, "kind": kind}.items() if value}
    causes = [Cause(reason=error.type, message=error.body, field=error.field) for error in errors]
    return ApiError(422, "Invalid", f"{shown} {quote(name)} is invalid: {listed}", details=details, causes=causes)


def too_many_requests(message: str, *, retry_after_seconds: int = 0, causes: Sequence[Cause] = ()) -> ApiError:
    return ApiError(429, "TooManyRequests", message, causes=causes, retry_after_seconds=retry_after_seconds)


def internal(message: str) -> ApiError:
    return ApiError(
        500, "InternalError", f"Internal error occurred: {message}", details={}, causes=[Cause(message=message)]
    )


def timeout(message: str, *, retry_after_seconds: int = 0, causes: Sequence[Cause] = ()) -> ApiError:
    return ApiError(
        504, "Timeout", f"Timeout: {message}", details={}, causes=causes, retry_after_seconds=retry_after_seconds
    )
