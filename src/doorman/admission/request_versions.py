"""A request as a webhook or a policy sees it: in the version its rule names.

An object that is written in one version of its resource is converted for whoever asked for another one
(matchPolicy Equivalent); what a webhook makes of it is converted back. Most resources have one version, or versions
that look the same: nothing is converted then.
"""

import msgspec

from doorman.admission.plugin_contract import Attributes, GroupVersionForm
from doorman.api.machinery.schema import Document


def in_form(attributes: Attributes, form: GroupVersionForm) -> Attributes:
    """The request in that form. Raises `Unconvertible` when it takes a webhook to convert it, and none was asked."""
    forms = attributes.forms
    if forms is None:
        return attributes
    if form in attributes.prepared:
        return attributes.prepared[form]
    obj, old = (forms.show(doc, form) if doc is not None else None for doc in (attributes.obj, attributes.old))
    return _named(attributes, form, obj, old)


async def in_form_by_all_means(attributes: Attributes, form: GroupVersionForm) -> Attributes:
    """The same for whoever may wait."""
    forms = attributes.forms
    if forms is None:
        return attributes
    obj = await forms.ask_to_show(attributes.obj, form) if attributes.obj is not None else None
    old = await forms.ask_to_show(attributes.old, form) if attributes.old is not None else None
    return _named(attributes, form, obj, old)


async def prepare(attributes: Attributes) -> None:
    """Convert the objects, as they are now, for those who cannot wait: where it takes a webhook."""
    forms = attributes.forms
    if forms is not None and forms.needs_webhook:
        attributes.prepared = {form: await in_form_by_all_means(attributes, form) for form in forms.others}


def _named(attributes: Attributes, form: GroupVersionForm, obj: Document | None, old: Document | None) -> Attributes:
    return msgspec.structs.replace(
        attributes,
        group=form.group,
        version=form.version,
        resource=form.resource,
        kind=form.kind,
        kind_version=form.kind_version,
        requested=attributes.form,
        obj=obj,
        old=old,
        forms=None,
        prepared={},
    )
