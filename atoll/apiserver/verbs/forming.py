"""From what a client proposes to what is stored: the one pipeline of creations and updates.

metadata rules -> status kept apart -> defaults -> ownership of fields -> mutating hooks -> what the
server sets -> validation -> validating hooks. Pure but for what hooks look up, and done at once
unless somebody outside has to be asked.
"""

from dataclasses import dataclass, replace
from functools import partial

import orjson

from atoll.apiserver.admission import Admission, Operation
from atoll.apiserver.applying.updates import Writer, after_update, settled
from atoll.apiserver.fields import error as fields
from atoll.apiserver.fields.error import Errors, FieldError
from atoll.apiserver.objects.ending import is_over
from atoll.apiserver.objects.metadata import (
    carried_over,
    errors_of_update,
    metadata,
    with_generation,
)
from atoll.apiserver.options import WriteOptions, first
from atoll.apiserver.resource import Resource
from atoll.apiserver.status import invalid
from atoll.apiserver.verbs.beginning import Birth, finished, manager
from atoll.apiserver.verbs.call import Api, Call
from atoll.apiserver.verbs.sides import apart, keeps_metadata, untracked
from atoll.apiserver.verbs.writing import Drop, Leave, Save, Verdict, same
from atoll.wire import Wire


@dataclass(frozen=True, slots=True)
class Form:
    """What all steps of one write need to know."""

    api: Api
    call: Call
    options: WriteOptions
    applied: bool = False  # by server-side apply, which has settled ownership already
    name_is_made_up: bool = False  # of generateName

    @property
    def resource(self) -> Resource:
        return self.call.resource

    def writer(self) -> Writer:
        who = manager(self.call.request, self.options)
        return Writer(who, self.resource.api_version, self.call.subresource)


async def formed_new(form: Form, proposed: Wire, *, uid: str) -> Save:
    """A new object, ready to be stored; ApiError says why it may not be."""
    resource = form.resource
    birth = Birth(resource, form.call.namespace, uid, form.api.timestamp())
    obj = birth.fit(proposed) if form.applied else birth.begun(proposed, form.writer())
    asked = admission(form, "CREATE", metadata(obj).get("name", ""), obj)
    obj = await form.api.hooks.mutated(asked, birth.fit)
    finished(resource, obj)
    if obj is not asked.object:
        asked = replace(asked, object=obj)
    settle = await form.api.hooks.check(asked)
    form.call.warnings.extend(resource.strategy.warnings(obj))
    return Save(obj, settle)


async def formed_update(form: Form, proposed: Wire, old: Wire) -> Verdict:
    """What replacing `old` by what is proposed comes to; ApiError says why it may not be."""
    resource = form.resource
    now = form.api.timestamp()
    fit = partial(_succeeding, form, old)
    obj = fit(proposed)
    if not form.applied:
        ignored = untracked(resource, form.call.subresource)
        obj = after_update(resource.schema, old, obj, form.writer(), now, ignored=ignored)
    obj = await form.api.hooks.mutated(_changing(form, obj, old), fit)
    if not form.call.subresource:
        resource.strategy.prepare_update(obj, old)
    if form.call.subresource != "status":
        obj = with_generation(obj, old, resource)
    errors = [*errors_of_update(obj, old, resource), *_uid_errors(form, proposed, old)]
    errors += _rule_errors(form, obj, old)
    part_errors = resource.strategy.part_errors.get(form.call.subresource)
    errors += (part_errors or resource.strategy.update_errors)(obj, old)
    if errors:
        raise invalid(resource.kind, resource.group, metadata(obj)["name"], errors)
    settle = await form.api.hooks.check(_changing(form, obj, old))
    form.call.warnings.extend(resource.strategy.warnings(obj))
    if is_over(obj, resource):
        return Drop(obj, settle)
    unversioned = {**obj, "metadata": {**obj["metadata"]}}
    unversioned["metadata"]["resourceVersion"] = old["metadata"]["resourceVersion"]
    if same(unversioned, old) or settled(old, unversioned) is old:
        return Leave(old)
    return Save(obj, settle)


def _rule_errors(form: Form, obj: Wire, old: Wire) -> Errors:
    strategy, on_status = form.resource.strategy, form.call.subresource == "status"
    changed = strategy.changed_status_errors if on_status else strategy.changed_errors
    if changed is not None:
        return changed(obj, old, form.call.warnings)
    return strategy.status_errors(obj) if on_status else strategy.errors(obj)


def _succeeding(form: Form, old: Wire, proposed: Wire) -> Wire:
    """What is proposed, with what nobody can change taken from the old object, and defaults."""
    mine = apart(form.resource, form.call.subresource, proposed, old)
    obj = carried_over(mine, old, form.resource)
    form.resource.strategy.default(obj)
    return obj


def _uid_errors(form: Form, proposed: Wire, old: Wire) -> list[FieldError]:
    uid = metadata(proposed).get("uid")
    if not uid or uid == metadata(old)["uid"]:
        return []
    if keeps_metadata(form.resource, form.call.subresource):
        return []
    return [fields.invalid("metadata.uid", uid, "field is immutable")]


def _changing(form: Form, obj: Wire, old: Wire) -> Admission:
    return admission(form, "UPDATE", metadata(obj)["name"], obj, old)


def admission(
    form: Form, operation: Operation, name: str, obj: Wire, old: Wire | None = None
) -> Admission:
    """A write, as its hooks see it."""
    call = form.call
    return Admission(
        operation=operation,
        resource=form.resource,
        namespace=call.namespace,
        name=name,
        identity=call.identity,
        object=obj,
        old=old,
        subresource=call.subresource,
        dry_run=form.options.dry_run,
        is_unnamed=form.name_is_made_up,
        options=partial(_options, form, operation),
        warnings=call.warnings,
        others=partial(_stored, form),
    )


def _options(form: Form, operation: Operation) -> Wire:
    """The options of the request, as the client gave them."""
    said = {
        "fieldManager": form.options.field_manager,
        "fieldValidation": first(form.call.query, "fieldValidation"),
        "dryRun": ["All"] if form.options.dry_run else None,
    }
    kind = "CreateOptions" if operation == "CREATE" else "UpdateOptions"
    given = {key: value for key, value in said.items() if value}
    return {"kind": kind, "apiVersion": "meta.k8s.io/v1", **given}


def _stored(form: Form) -> list[Wire]:
    records = form.api.store.page(form.resource.collection).records
    return [orjson.loads(record.value) for record in records]
