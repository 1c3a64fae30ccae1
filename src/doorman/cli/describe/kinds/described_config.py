"""ConfigMaps and Secrets as kubectl describes them: of a Secret only how long its values are."""

import base64
from typing import Final

from doorman.cli.describe.description import Description, Doc
from doorman.cli.describe.related_objects import RelatedObjects

_TOKEN_TYPE: Final = "kubernetes.io/service-account-token"
_TOKEN: Final = "token"


def describe_config_map(out: Description, doc: Doc, _related: RelatedObjects) -> None:
    out.head(doc)
    out.line("\nData\n====")
    for key, text in sorted((doc.get("data") or {}).items()):
        out.line(f"{key}:\n----\n{text}\n")
    out.line("\nBinaryData\n====")
    for key, text in sorted((doc.get("binaryData") or {}).items()):
        out.line(f"{key}: {len(base64.b64decode(text))} bytes")
    out.line("")


def describe_secret(out: Description, doc: Doc, _related: RelatedObjects) -> None:
    out.head(doc)
    out.line(f"\nType:\t{doc.get('type', '')}")
    out.line("\nData\n====")
    for key, text in sorted((doc.get("data") or {}).items()):
        value = base64.b64decode(text)
        is_shown = key == _TOKEN and doc.get("type") == _TOKEN_TYPE
        out.pair(key, value.decode(errors="replace") if is_shown else f"{len(value)} bytes")
