"""A request in the version that somebody asked for."""

from typing import Any

import msgspec
import pytest

from doorman.admission.plugin_contract import Attributes, GroupVersionForm, Unconvertible
from doorman.admission.request_versions import in_form, in_form_by_all_means, prepare

NEW, OLD = {"metadata": {"name": "p"}, "n": 1}, {"metadata": {"name": "p"}, "n": 0}


class Marked:
    """Every object says in which version it is shown."""

    others: tuple[GroupVersionForm, ...] = ()
    needs_webhook = True

    def show(self, doc: dict[str, Any], form: GroupVersionForm) -> dict[str, Any]:
        if form.version == "v3":
            raise Unconvertible("not at once")
        return {**doc, "shown": form.version}

    def take(self, doc: dict[str, Any], form: GroupVersionForm) -> dict[str, Any]:
        raise AssertionError(f"nothing is taken from {form.version}: {doc}")

    async def ask_to_show(self, doc: dict[str, Any], form: GroupVersionForm) -> dict[str, Any]:
        return {**doc, "shown": f"{form.version}, later"}

    async def ask_to_take(self, doc: dict[str, Any], form: GroupVersionForm) -> dict[str, Any]:
        return self.take(doc, form)


def in_version(attributes: Attributes, version: str) -> GroupVersionForm:
    return msgspec.structs.replace(attributes.form, version=version, kind_version=version)


def test_without_other_versions_the_request_is_shown_as_it_is(asked: Any) -> None:
    attributes = asked(NEW)
    assert in_form(attributes, attributes.form) is attributes


async def test_objects_are_converted_and_the_request_says_what_was_asked_for(asked: Any) -> None:
    attributes = asked(NEW, old=OLD)
    attributes.forms = Marked()
    form = in_version(attributes, "v2")
    seen = in_form(attributes, form)
    assert (seen.obj, seen.old) == ({**NEW, "shown": "v2"}, {**OLD, "shown": "v2"})
    assert (seen.form, seen.requested) == (form, attributes.form)
    assert attributes.obj == NEW
    later = await in_form_by_all_means(attributes, form)
    assert later.obj == {**NEW, "shown": "v2, later"}


async def test_what_was_prepared_is_there_for_who_cannot_wait(asked: Any) -> None:
    attributes = asked(NEW)
    attributes.forms = forms = Marked()
    form = in_version(attributes, "v3")
    forms.others = (form,)
    await prepare(attributes)
    assert in_form(attributes, form).obj == {**NEW, "shown": "v3, later"}


def test_who_cannot_wait_is_told(asked: Any) -> None:
    attributes = asked(NEW)
    attributes.forms = Marked()
    with pytest.raises(Unconvertible):
        in_form(attributes, in_version(attributes, "v3"))
