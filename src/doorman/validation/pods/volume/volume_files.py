"""Volumes made of files the server writes: secrets, config maps, the downward API, and all of them projected."""

from typing import Final

from doorman.base.errors import FieldError, forbidden, invalid, not_supported, required
from doorman.validation.certificates.signers import is_kubernetes_signer, signer_name_errors, trust_bundle_name_faults
from doorman.validation.document_paths import domain_key_errors, local_path_errors
from doorman.validation.faults import Part, each, needed
from doorman.validation.pods.container.field_references import field_errors, resource_field_errors
from doorman.validation.selectors import label_selector_errors

FILE_MODE: Final = "must be a number between 0 and 0777 (octal), both inclusive"
_USER_RANGE: Final = "must be between 0 and 2147483647, inclusive"
_FIELDS: Final = ("metadata.annotations", "metadata.labels", "metadata.name", "metadata.namespace", "metadata.uid")
_KEY_TYPES: Final = ("RSA3072", "RSA4096", "ECDSAP256", "ECDSAP384", "ECDSAP521", "ED25519")
_CERTIFICATE_PATHS: Final = ("credentialBundlePath", "keyPath", "certificateChainPath")
_TOKEN_SECONDS: Final = (600, 1 << 32)
_CERTIFICATE_SECONDS_MIN: Final = 3600
_CERTIFICATE_SECONDS_MAX: Final = 91 * 24 * 3600
_KUBERNETES_CERTIFICATE_SECONDS_MAX: Final = 24 * 3600


def mode_errors(part: Part, name: str, path: str) -> list[FieldError]:
    mode = part.get(name)
    return [] if mode is None or 0 <= mode <= 0o777 else [invalid(f"{path}.{name}", mode, FILE_MODE)]


def user_errors(part: Part, name: str, path: str) -> list[FieldError]:
    user = part.get(name)
    return [] if user is None or 0 <= user < 2**31 else [invalid(f"{path}.{name}", user, _USER_RANGE)]


def secret_errors(source: Part, path: str) -> list[FieldError]:
    return _items_errors(source, "secretName", path)


def config_map_errors(source: Part, path: str) -> list[FieldError]:
    return _items_errors(source, "name", path)


def _items_errors(source: Part, name: str, path: str) -> list[FieldError]:
    errors = [*needed(source, name, path), *_default_errors(source, path)]
    return [*errors, *each(source.get("items"), f"{path}.items", _item_errors)]


def _default_errors(source: Part, path: str) -> list[FieldError]:
    return [*mode_errors(source, "defaultMode", path), *user_errors(source, "defaultUser", path)]


def _item_errors(item: Part, path: str) -> list[FieldError]:
    errors = [*needed(item, "key", path), *needed(item, "path", path)]
    errors += local_path_errors(item.get("path") or "", f"{path}.path")
    return [*errors, *mode_errors(item, "mode", path), *user_errors(item, "user", path)]


def downward_errors(source: Part, path: str) -> list[FieldError]:
    """Files are not told apart by their number: what is wrong with one is said of the volume."""
    errors = _default_errors(source, path)
    for item in source.get("items") or ():
        errors += _downward_file_errors(item, path)
    return errors


def _downward_file_errors(item: Part, path: str) -> list[FieldError]:
    errors = needed(item, "path", path)
    errors += local_path_errors(item.get("path") or "", f"{path}.path")
    field, resource = item.get("fieldRef"), item.get("resourceFieldRef")
    if field is not None:
        errors += field_errors(field, f"{path}.fieldRef", _FIELDS)
        if resource is not None:
            text = "fieldRef and resourceFieldRef can not be specified simultaneously"
            errors.append(invalid(path, "resource", text))
    elif resource is not None:
        errors += resource_field_errors(resource, f"{path}.resourceFieldRef", is_volume=True)
    else:
        errors.append(required(path, "one of fieldRef and resourceFieldRef is required"))
    return [*errors, *mode_errors(item, "mode", path), *user_errors(item, "user", path)]


def projected_errors(source: Part, path: str) -> list[FieldError]:
    errors = _default_errors(source, path)
    paths = _Paths(path)
    for index, projection in enumerate(source.get("sources") or ()):
        at = f"{path}.sources[{index}]"
        present = [name for name in _PROJECTIONS if projection.get(name) is not None]
        for name in present:
            errors += _PROJECTIONS[name](projection[name], f"{at}.{name}", paths)
        if len(present) > 1:
            errors.append(forbidden(at, "may not specify more than 1 volume type per source"))
    return errors


class _Paths:
    """The paths of one volume, of which no two may be the same."""

    def __init__(self, volume: str) -> None:
        self.volume = volume
        self._taken: set[str] = set()

    def take(self, path: str, shown: str) -> list[FieldError]:
        if path in self._taken:
            return [invalid(self.volume, shown, "conflicting duplicate paths")]
        self._taken.add(path)
        return []


def _projected_items(source: Part, path: str, paths: _Paths) -> list[FieldError]:
    errors = needed(source, "name", path)
    for index, item in enumerate(source.get("items") or ()):
        errors += _item_errors(item, f"{path}.items[{index}]")
        if item.get("path"):
            errors += paths.take(item["path"], source.get("name") or "")
    return errors


def _projected_downward(source: Part, path: str, paths: _Paths) -> list[FieldError]:
    errors: list[FieldError] = []
    for item in source.get("items") or ():
        errors += _downward_file_errors(item, path)
        if item.get("path"):
            errors += paths.take(item["path"], item["path"])
    return errors


def _projected_token(source: Part, path: str, paths: _Paths) -> list[FieldError]:
    errors: list[FieldError] = []
    seconds = source.get("expirationSeconds")
    at = f"{path}.expirationSeconds"
    if seconds is None:
        errors.append(required(at))
    else:
        if seconds < _TOKEN_SECONDS[0]:
            errors.append(invalid(at, seconds, "may not specify a duration less than 10 minutes"))
        if seconds > _TOKEN_SECONDS[1]:
            errors.append(invalid(at, seconds, "may not specify a duration larger than 2^32 seconds"))
    if not source.get("path"):
        errors.append(required(f"{paths.volume}.path"))
    else:
        errors += local_path_errors(source["path"], f"{paths.volume}.path")
    return [*errors, *user_errors(source, "user", path)]


def _projected_bundle(source: Part, path: str, paths: _Paths) -> list[FieldError]:
    errors: list[FieldError] = []
    name, signer = source.get("name"), source.get("signerName")
    if name is not None and signer is not None:
        errors.append(invalid(path, source, "only one of name and signerName may be used"))
    elif name is not None:
        if not name:
            errors.append(required(f"{path}.name", "must be a valid object name"))
        head = "not a valid clustertrustbundlename: "
        errors += [invalid(f"{path}.name", name, head + fault) for fault in trust_bundle_name_faults(name)]
        if source.get("labelSelector") is not None:
            text = "labelSelector must be unset if name is specified"
            errors.append(invalid(f"{path}.labelSelector", source["labelSelector"], text))
    elif signer is not None:
        if not signer:
            errors.append(required(f"{path}.signerName", "must be a valid signer name"))
        errors += signer_name_errors(signer, f"{path}.signerName")
        errors += label_selector_errors(source.get("labelSelector"), f"{path}.labelSelector")
    else:
        errors.append(required(path, "either name or signerName must be specified"))
    errors += [*needed(source, "path", path), *user_errors(source, "user", path)]
    place = source.get("path") or ""
    return [*errors, *local_path_errors(place, f"{path}.path"), *paths.take(place, place)]


def _projected_certificate(source: Part, path: str, paths: _Paths) -> list[FieldError]:
    signer = source.get("signerName") or ""
    errors = signer_name_errors(signer, f"{path}.signerName")
    for key in source.get("userAnnotations") or ():
        errors += domain_key_errors(key.lower(), f"{path}.userAnnotations")
    errors += user_errors(source, "user", path)
    if (kind := source.get("keyType") or "") not in _KEY_TYPES:
        errors.append(not_supported(f"{path}.keyType", kind, _KEY_TYPES))
    seconds = source.get("maxExpirationSeconds")
    if seconds is not None:
        longest = _CERTIFICATE_SECONDS_MAX
        if is_kubernetes_signer(signer):
            longest = _KUBERNETES_CERTIFICATE_SECONDS_MAX
        at, head = f"{path}.maxExpirationSeconds", "if provided, maxExpirationSeconds must be"
        if seconds < _CERTIFICATE_SECONDS_MIN:
            errors.append(invalid(at, seconds, f"{head} >= {_CERTIFICATE_SECONDS_MIN}"))
        if seconds > longest:
            errors.append(invalid(at, seconds, f"{head} <= {longest}"))
    given = [name for name in _CERTIFICATE_PATHS if source.get(name)]
    for name in given:
        errors += local_path_errors(source[name], f"{path}.{name}")
        errors += paths.take(source[name], source[name])
    if not given:
        text = "specify at least one of credentialBundlePath, keyPath, and certificateChainPath"
        errors.append(required(path, text))
    return errors


_PROJECTIONS: Final = {
    "secret": _projected_items,
    "configMap": _projected_items,
    "downwardAPI": _projected_downward,
    "serviceAccountToken": _projected_token,
    "clusterTrustBundle": _projected_bundle,
    "podCertificate": _projected_certificate,
}
"""In the API's order."""
