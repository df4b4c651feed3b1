"""From what a client proposes to what is stored: the one pipeline of creations and updates.

metadata rules -> status kept apart -> defaults -> ownership of fields -> mutating hooks -> what the
server sets -> validation -> validating hooks. Pure but for what hooks look up, and done at once
unless somebody outside has to be asked.
"""

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import orjson

from atoll.apiserver.admission import Admission, Operation
from atoll.apiserver.applying.updates import Writer, after_update, settled
from atoll.apiserver.fields import error as fields
from atoll.apiserver.fields.error import FieldError
from atoll.apiserver.objects.ending import is_over
from atoll.apiserver.objects.metadata import (
    carried_over,
    errors_of_new,
    errors_of_update,
    metadata,
    stamped,
    with_generation,
)
from atoll.apiserver.options import WriteOptions, first
from atoll.apiserver.resource import Resource
from atoll.apiserver.status import invalid
from atoll.apiserver.verbs.call import Api, Call
from atoll.apiserver.verbs.sides import apart, keeps_metadata, untracked
from atoll.apiserver.verbs.writing import Drop, Leave, Save, Verdict, same

Object = dict[str, Any]

_AGENT_MAX = 128


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
        return Writer(
            manager(self.call, self.options), self.resource.api_version, self.call.subresource
        )


def manager(call: Call, options: WriteOptions) -> str:
    """Who fields are attributed to: the manager named, else the program that asks."""
    if options.field_manager:
        return options.field_manager
    agent = call.request.headers.get("user-agent", "").partition("/")[0][:_AGENT_MAX]
    return agent or "unknown"


async def formed_new(form: Form, proposed: Object, *, uid: str) -> Save:
    """A new object, ready to be stored; ApiError says why it may not be."""
    resource, call = form.resource, form.call
    now = form.api.timestamp()
    fit = partial(_born, form, uid=uid, now=now)
    obj = fit(proposed)
    if not form.applied:
        obj = _owned(form, None, obj, now)
    # After ownership: nobody owns what the server sets.
    asked = _admission(form, "CREATE", obj, None)
    obj = await form.api.hooks.mutated(asked, fit)
    resource.strategy.prepare_create(obj)
    errors = errors_of_new(obj, resource) + resource.strategy.errors(obj)
    if errors:
        raise invalid(resource.kind, resource.group, metadata(obj).get("name", ""), errors)
    if obj is not asked.object:
        asked = replace(asked, object=obj)
    settle = await form.api.hooks.check(asked)
    call.warnings.extend(resource.strategy.warnings(obj))
    return Save(obj, settle)


def _born(form: Form, proposed: Object, *, uid: str, now: str) -> Object:
    """What is proposed, with what only the server says of a new object, and defaults."""
    obj = stamped(proposed, form.resource, namespace=form.call.namespace, uid=uid, now=now)
    if form.resource.strategy.has_status:
        obj.pop("status", None)
    form.resource.strategy.default(obj)
    return obj


async def formed_update(form: Form, proposed: Object, old: Object) -> Verdict:
    """What replacing `old` by what is proposed comes to; ApiError says why it may not be."""
    resource = form.resource
    now = form.api.timestamp()
    fit = partial(_succeeding, form, old)
    obj = fit(proposed)
    if not form.applied:
        obj = _owned(form, old, obj, now)
    obj = await form.api.hooks.mutated(_admission(form, "UPDATE", obj, old), fit)
    if not form.call.subresource:
        resource.strategy.prepare_update(obj, old)
    if form.call.subresource != "status":
        obj = with_generation(obj, old, resource)
    errors = errors_of_update(obj, old, resource) + _uid_errors(form, proposed, old)
    errors += _rule_errors(form, obj, old)
    part_errors = resource.strategy.part_errors.get(form.call.subresource)
    errors += (part_errors or resource.strategy.update_errors)(obj, old)
    if errors:
        raise invalid(resource.kind, resource.group, metadata(obj)["name"], errors)
    settle = await form.api.hooks.check(_admission(form, "UPDATE", obj, old))
    form.call.warnings.extend(resource.strategy.warnings(obj))
    if is_over(obj, resource):
        return Drop(obj, settle)
    unversioned = {**obj, "metadata": {**obj["metadata"]}}
    unversioned["metadata"]["resourceVersion"] = old["metadata"]["resourceVersion"]
    if same(unversioned, old) or settled(old, unversioned) is old:
        return Leave(old)
    return Save(obj, settle)


def _rule_errors(form: Form, obj: Object, old: Object) -> list[FieldError]:
    strategy, on_status = form.resource.strategy, form.call.subresource == "status"
    changed = strategy.changed_status_errors if on_status else strategy.changed_errors
    if changed is not None:
        return changed(obj, old, form.call.warnings)
    return strategy.status_errors(obj) if on_status else strategy.errors(obj)


def _succeeding(form: Form, old: Object, proposed: Object) -> Object:
    """What is proposed, with what nobody can change taken from the old object, and defaults."""
    mine = apart(form.resource, form.call.subresource, proposed, old)
    obj = carried_over(mine, old, form.resource)
    form.resource.strategy.default(obj)
    return obj


def _uid_errors(form: Form, proposed: Object, old: Object) -> list[FieldError]:
    uid = metadata(proposed).get("uid")
    if not uid or uid == metadata(old)["uid"]:
        return []
    if keeps_metadata(form.resource, form.call.subresource):
        return []
    return [fields.invalid("metadata.uid", uid, "field is immutable")]


def _owned(form: Form, old: Object | None, obj: Object, now: str) -> Object:
    ignored = untracked(form.resource, form.call.subresource)
    return after_update(form.resource.schema, old, obj, form.writer(), now, ignored=ignored)


def _admission(form: Form, operation: Operation, obj: Object, old: Object | None) -> Admission:
    call = form.call
    return Admission(
        operation=operation,
        resource=form.resource,
        namespace=call.namespace,
        name=metadata(obj).get("name", call.name),
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


def _options(form: Form, operation: Operation) -> Object:
    """The options of the request, as the client gave them."""
    said = {
        "fieldManager": form.options.field_manager,
        "fieldValidation": first(form.call.query, "fieldValidation"),
        "dryRun": ["All"] if form.options.dry_run else None,
    }
    kind = "CreateOptions" if operation == "CREATE" else "UpdateOptions"
    given = {key: value for key, value in said.items() if value}
    return {"kind": kind, "apiVersion": "meta.k8s.io/v1", **given}


def _stored(form: Form) -> list[Object]:
    records = form.api.store.page(form.resource.collection).records
    return [orjson.loads(record.value) for record in records]
