"""From what a client proposes to what is stored: the one pipeline of creations and updates.

metadata rules -> status kept apart -> defaults -> ownership of fields -> mutating hooks -> what the
server sets -> validation -> validating hooks. Pure but for what hooks look up, and done at once
unless somebody outside has to be asked.
"""

from dataclasses import dataclass
from functools import partial
from typing import Any

import orjson

from atoll.apiserver.admission import Admission, Operation
from atoll.apiserver.applying.updates import Writer, after_update
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
from atoll.apiserver.resource import Path, Resource
from atoll.apiserver.status import invalid
from atoll.apiserver.verbs.call import Api, Call
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


def untracked(resource: Resource, subresource: str) -> tuple[Path, ...]:
    """The fields that a write through this endpoint cannot touch, and so never owns."""
    if subresource == "status":
        return tuple((key,) for key in resource.schema.fields if key not in _ALWAYS) or (("spec",),)
    return (("status",),) if resource.strategy.has_status else ()


_ALWAYS = frozenset(["status", "apiVersion", "kind"])


async def formed_new(form: Form, proposed: Object, *, uid: str) -> Save:
    """A new object, ready to be stored; ApiError says why it may not be."""
    resource, call = form.resource, form.call
    now = form.api.timestamp()
    fit = partial(_born, form, uid=uid, now=now)
    obj = fit(proposed)
    if not form.applied:
        obj = _owned(form, None, obj, now)
    # After ownership: nobody owns what the server sets.
    obj = await form.api.hooks.mutated(_admission(form, "CREATE", obj, None), fit)
    resource.strategy.prepare_create(obj)
    errors = errors_of_new(obj, resource) + resource.strategy.errors(obj)
    if errors:
        raise invalid(resource.kind, resource.group, metadata(obj).get("name", ""), errors)
    settle = await form.api.hooks.check(_admission(form, "CREATE", obj, None))
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
    obj = with_generation(obj, old, resource)
    on_status = form.call.subresource == "status"
    rules = resource.strategy.status_errors if on_status else resource.strategy.errors
    errors = _uid_errors(proposed, old) + errors_of_update(obj, old) + rules(obj)
    errors += resource.strategy.update_errors(obj, old)
    if errors:
        raise invalid(resource.kind, resource.group, metadata(obj)["name"], errors)
    settle = await form.api.hooks.check(_admission(form, "UPDATE", obj, old))
    form.call.warnings.extend(resource.strategy.warnings(obj))
    if is_over(obj, resource):
        return Drop(obj, settle)
    unversioned = {**obj, "metadata": {**obj["metadata"]}}
    unversioned["metadata"]["resourceVersion"] = old["metadata"]["resourceVersion"]
    return Leave(old) if same(unversioned, old) else Save(obj, settle)


def _succeeding(form: Form, old: Object, proposed: Object) -> Object:
    """What is proposed, with what nobody can change taken from the old object, and defaults."""
    obj = carried_over(_apart(form, proposed, old), old, form.resource)
    form.resource.strategy.default(obj)
    return obj


def _uid_errors(proposed: Object, old: Object) -> list[FieldError]:
    uid = metadata(proposed).get("uid")
    if not uid or uid == metadata(old)["uid"]:
        return []
    return [fields.invalid("metadata.uid", uid, "field is immutable")]


def _apart(form: Form, proposed: Object, old: Object) -> Object:
    """Keep spec and status apart: each endpoint changes its own side and no other."""
    if form.call.subresource == "status":
        fields = metadata(proposed).get("managedFields")
        kept = {**old, "metadata": {**metadata(old)}}
        if form.applied and fields is not None:
            kept["metadata"]["managedFields"] = fields
        if "status" in proposed:
            kept["status"] = proposed["status"]
        else:
            kept.pop("status", None)
        return kept
    if form.call.subresource in form.resource.strategy.parts:
        return form.resource.strategy.parts[form.call.subresource](proposed, old)
    if not form.resource.strategy.has_status:
        return dict(proposed)
    kept = {key: value for key, value in proposed.items() if key != "status"}
    if "status" in old:
        kept["status"] = old["status"]
    return kept


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
