"""AdmissionReview, version 1: what a webhook is sent, and what is made of its answer."""

import base64
import binascii
from typing import Any

import msgspec

from doorman.admission.plugin_contract import Attributes, VersionedResource
from doorman.api.identity import User
from doorman.api.patch.json_patch import json_patch
from doorman.api.views.meta import View
from doorman.base.errors import ApiError
from doorman.base.json_types import Document


class BadAnswer(Exception):
    """The answer is not one: the failure policy decides."""


class _Status(View, frozen=True, kw_only=True):
    code: int = 0
    message: str = ""
    reason: str = ""


class _Response(View, frozen=True, kw_only=True):
    uid: str = ""
    allowed: bool = False
    status: _Status | None = None
    patch: str | None = None
    patch_type: str | None = None
    warnings: tuple[str, ...] = ()


class _Review(View, frozen=True, kw_only=True):
    api_version: str = ""
    kind: str = ""
    response: _Response | None = None


class AdmissionResponse(msgspec.Struct, frozen=True, kw_only=True):
    """`refusal` is None when the request is let in."""

    refusal: ApiError | None = None
    operations: list[dict[str, Any]] | None = None
    warnings: tuple[str, ...] = ()


def review_of(attributes: Attributes, uid: str) -> Document:
    resource = attributes.versioned_resource
    requested = attributes.requested or resource
    user = attributes.user
    request: Document = {
        "uid": uid,
        "kind": _kind(resource),
        "resource": _resource(resource),
        "requestKind": _kind(requested),
        "requestResource": _resource(requested),
        "name": attributes.name,
        "operation": str(attributes.operation),
        "userInfo": _user_info(user),
        "object": _typed(attributes.obj, resource),
        "oldObject": _typed(attributes.old, resource),
        "dryRun": attributes.dry_run,
        "options": dict(attributes.options) if attributes.options else None,
    }
    if attributes.namespace:
        request["namespace"] = attributes.namespace
    if attributes.subresource:
        request["subResource"] = request["requestSubResource"] = attributes.subresource
    return {"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "request": request}


def verdict_of(answer: bytes, uid: str, hook: str) -> AdmissionResponse:
    """Raises BadAnswer."""
    try:
        review = msgspec.json.decode(answer, type=_Review)
    except (msgspec.DecodeError, RecursionError) as error:
        raise BadAnswer(f"couldn't decode webhook response: {error}") from error
    if review.kind != "AdmissionReview" or review.api_version != "admission.k8s.io/v1":
        raise BadAnswer(
            f"expected webhook response of admission.k8s.io/v1, Kind=AdmissionReview, got {review.api_version}, "
            f"Kind={review.kind}"
        )
    response = review.response
    if response is None:
        raise BadAnswer("webhook response was absent")
    if response.uid != uid:
        raise BadAnswer(f'expected response.uid="{uid}", got "{response.uid}"')
    if not response.allowed:
        return AdmissionResponse(refusal=_refusal(response.status, hook), warnings=response.warnings)
    return AdmissionResponse(operations=_operations(response), warnings=response.warnings)


def patched(doc: Document, operations: list[dict[str, Any]]) -> Document:
    """Raises BadAnswer when the patch does not fit."""
    try:
        found = json_patch(doc, operations)
    except ApiError as error:
        raise BadAnswer(f"unable to apply the patch: {_obstacle(doc, operations)}") from error
    if not isinstance(found, dict) or not isinstance(found.get("metadata"), dict):
        raise BadAnswer("unable to apply the patch: what is left is no object")
    return found


def _obstacle(doc: Document, operations: list[dict[str, Any]]) -> str:
    """The first operation that cannot be done."""
    for count, operation in enumerate(operations, start=1):
        try:
            json_patch(doc, operations[:count])
        except ApiError:
            return f"{operation.get('op')} {operation.get('path')} cannot be done"
    raise AssertionError("all of them together could not be done")


def _operations(response: _Response) -> list[dict[str, Any]] | None:
    if response.patch is None:
        if response.patch_type is not None:
            raise BadAnswer("webhook returned response.patchType but not response.patch")
        return None
    if response.patch_type != "JSONPatch":
        raise BadAnswer(f'webhook returned response.patch but response.patchType is "{response.patch_type or ""}"')
    try:
        return msgspec.json.decode(base64.b64decode(response.patch, validate=True), type=list[dict[str, Any]])
    except (binascii.Error, msgspec.DecodeError, RecursionError) as error:
        raise BadAnswer(f"the patch cannot be read: {error}") from error


def _refusal(status: _Status | None, hook: str) -> ApiError:
    head = f'admission webhook "{hook}" denied the request'
    if status is None:
        return ApiError(400, "", f"{head} without explanation")
    text = status.message or status.reason
    code = status.code if 400 <= status.code < 600 else 403
    told = f"{head}: {text}" if text else f"{head} without explanation"
    return ApiError(code, status.reason or ("Forbidden" if code == 403 else ""), told)


def _user_info(user: User) -> Document:
    found: Document = {"username": user.name, "groups": list(user.groups)}
    if user.uid:
        found["uid"] = user.uid
    if user.extra:
        found["extra"] = {name: list(values) for name, values in user.extra.items()}
    return found


def _kind(resource: VersionedResource) -> Document:
    group, _, version = resource.kind_version.rpartition("/")
    return {"group": group, "version": version, "kind": resource.kind}


def _resource(resource: VersionedResource) -> Document:
    return {"group": resource.group, "version": resource.version, "resource": resource.resource}


def _typed(doc: Document | None, resource: VersionedResource) -> Document | None:
    return {"kind": resource.kind, "apiVersion": resource.kind_version, **doc} if doc is not None else None
