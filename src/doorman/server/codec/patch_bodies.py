"""Bodies of PATCH requests, by their media type."""

from doorman.api.kinds import Kind
from doorman.api.machinery.decode_errors import json_type
from doorman.api.well_known import MERGE_PATCH, STRATEGIC_MERGE_PATCH
from doorman.base.errors import ApiError, bad_request, unsupported_media_type
from doorman.registry.clean_documents import Body
from doorman.registry.patch_transforms import APPLY_PATCH, JSON_PATCH, PatchBody
from doorman.server.codec.request_bodies import BodyError, media_type, read_json, read_yaml


def patch_type_of(kind: Kind, content_type: str) -> str:
    """The media type of a patch, if the kind takes it."""
    accepted = [JSON_PATCH, MERGE_PATCH, STRATEGIC_MERGE_PATCH, APPLY_PATCH]
    if not kind.type_name or kind.is_custom:
        accepted.remove(STRATEGIC_MERGE_PATCH)
    wanted = media_type(content_type)
    if wanted not in accepted:
        if kind.is_custom:
            raise unsupported_media_type(accepted)
        # The route of a built-in kind does not take it at all.
        raise ApiError(415, "UnsupportedMediaType", "415: Unsupported Media Type", details={})
    return wanted


def read_patch(patch_type: str, body: bytes) -> PatchBody:
    if patch_type == APPLY_PATCH:
        try:
            read = read_yaml(body)
        except BodyError as error:
            raise bad_request(f"error decoding patch: error converting YAML to JSON: {error}") from error
        if read.value is None:
            read = Body({})
        if not isinstance(read.value, dict):
            fault = f"json: cannot unmarshal {json_type(read.value)} into Go value of type map[string]interface {{}}"
            raise bad_request(f"error decoding patch: error unmarshaling JSON: while decoding JSON: {fault}")
        return PatchBody(type=patch_type, body=read)
    try:
        read = read_json(body)
    except BodyError as error:
        raise bad_request("invalid JSON patch") from error
    return PatchBody(type=patch_type, body=read)
