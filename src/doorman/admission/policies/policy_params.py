"""Which objects a policy is asked about with: those its binding refers to.

Rules
-----
1. A policy without a kind of parameters, or a binding without a reference, is asked once, with none.
2. A namespaced parameter comes from the reference's namespace, else from that of the request. A request about an object
   of the cluster cannot do without the former; a parameter of the cluster cannot have it.
3. By name it is one, by labels all that have them. None found refuses the request, unless the binding allows it.
4. A parameter is seen in the version the policy names. Where it takes a definition's webhook to convert it, that is
   done before (`prepare_params`).
"""

import contextlib
from collections.abc import Mapping, Sequence
from typing import Any, Final

from doorman.admission.plugin_contract import Attributes, ClusterReader, Docs, Unconvertible
from doorman.api.machinery.label_selectors import matches
from doorman.api.views.admissionregistration import BINDINGS, POLICIES, Binding, ParamKind, ParamRef, Policy
from doorman.api.views.meta import to_view
from doorman.base.errors import ApiError
from doorman.semantics.cel.cel_errors import CelError

_NONE_FOUND: Final = "no params found for policy binding with `Deny` parameterNotFoundAction"
_NO_NAMESPACE: Final = "cannot use namespaced paramRef in policy binding that matches cluster-scoped resources"
_NAMESPACE_GIVEN: Final = "paramRef.namespace must not be provided for a cluster-scoped `paramKind`"


class Misconfigured(CelError):
    """Policy and binding do not fit together: nothing can be evaluated."""


def params_of(
    kind: ParamKind | None, ref: ParamRef | None, attributes: Attributes, cluster: ClusterReader
) -> Sequence[Mapping[str, Any] | None]:
    """Raises Misconfigured."""
    if kind is None or ref is None:
        return [None]
    try:
        return cluster.converted(kind.api_version, kind.kind, _found(kind, ref, attributes, cluster))
    except Unconvertible as error:
        raise _misconfigured(str(error)) from error


async def prepare_params(
    kind: ParamKind | None, ref: ParamRef | None, attributes: Attributes, cluster: ClusterReader
) -> None:
    """What is wrong with them is found out when they are asked for."""
    if kind is None or ref is None:
        return
    with contextlib.suppress(Misconfigured, ApiError):
        await cluster.convert_ahead(kind.api_version, kind.kind, _found(kind, ref, attributes, cluster))


async def prepare_all_params(attributes: Attributes, cluster: ClusterReader) -> None:
    """Those of all validating policies."""
    for raw in cluster.list(BINDINGS):
        spec = raw.get("spec") or {}
        if not spec.get("paramRef"):
            continue
        policy = cluster.get(POLICIES, "", spec.get("policyName", ""))
        if policy is not None:
            kind = to_view(policy, Policy).spec.param_kind
            await prepare_params(kind, to_view(raw, Binding).spec.param_ref, attributes, cluster)


def _found(kind: ParamKind, ref: ParamRef, attributes: Attributes, cluster: ClusterReader) -> Docs:
    """As they are stored. Raises Misconfigured."""
    found = cluster.find_kind(kind.api_version, kind.kind)
    if found is None:
        wanted = f"{kind.api_version}, Kind={kind.kind}"
        raise Misconfigured(f"failed to configure policy: failed to find resource referenced by paramKind: '{wanted}'")
    resource, is_namespaced = found
    if not is_namespaced and ref.namespace:
        raise _misconfigured(_NAMESPACE_GIVEN)
    namespace = (ref.namespace or attributes.namespace) if is_namespaced else ""
    if is_namespaced and not namespace:
        raise _misconfigured(_NO_NAMESPACE)
    if ref.name:
        one = cluster.get(resource, namespace, ref.name)
        params = [one] if one is not None else []
    else:
        listed = cluster.list(resource, namespace)
        params = [doc for doc in listed if matches(ref.selector, doc["metadata"].get("labels") or {})]
    if not params and ref.parameter_not_found_action != "Allow":
        raise _misconfigured(_NONE_FOUND)
    return params


def _misconfigured(why: str) -> Misconfigured:
    return Misconfigured(f"failed to configure binding: {why}")
