"""PUT: another version of an object in place of the one there is, or whoever holds a namespace."""

from atoll.apiserver.fields import error as fields
from atoll.apiserver.objects.ending import is_over
from atoll.apiserver.objects.metadata import holder_errors, metadata
from atoll.apiserver.objects.paths import at
from atoll.apiserver.options import parse_revision, write_options
from atoll.apiserver.resource import Resource
from atoll.apiserver.status import MODIFIED, bad_request, conflict, invalid, not_found
from atoll.apiserver.verbs.beginning import check_namespace
from atoll.apiserver.verbs.call import Api, Call
from atoll.apiserver.verbs.forming import Form, formed_new, formed_update
from atoll.apiserver.verbs.intake import read_object
from atoll.apiserver.verbs.writing import (
    Drop,
    Leave,
    Save,
    Verdict,
    Written,
    same,
    write,
    write_admitted,
)
from atoll.wire import Wire


async def update(api: Api, call: Call) -> Written:
    """Replace an object by the one in the request's body."""
    options = write_options(call.query, "UpdateOptions")
    proposed = read_object(call, options.field_validation)
    check_namespace(call.resource, call.namespace, proposed)
    check_name(call, proposed)
    form = Form(api, call, options)

    async def decide(old: Wire | None) -> Verdict:
        if old is not None:
            check_current(call.resource, proposed, old)
            return await formed_update(form, proposed, old)
        if call.subresource or not call.resource.strategy.creates_on_update:
            raise not_found(call.resource.plural, call.resource.group, call.name)
        nobody = {"metadata": {"name": call.name, "uid": ""}}
        check_meant(call.resource, proposed, nobody, "uid")
        return await formed_new(form, proposed, uid=api.effects.chance.uuid("uid"))

    return await write_admitted(api, call.resource, call.key(), decide, dry_run=options.dry_run)


def check_name(call: Call, proposed: Wire) -> None:
    name = metadata(proposed).get("name")
    if not name:
        why = f"the name of the object ({call.name} based on URL) was undeterminable"
        raise bad_request(f"{why}: name must be provided")
    check_same_name(call, name)


def check_same_name(call: Call, name: str) -> None:
    """ApiError 400 unless the object's name is the one in the path."""
    if name != call.name:
        why = f"the name of the object ({name}) does not match the name on the URL ({call.name})"
        raise bad_request(why)


def check_current(resource: Resource, proposed: Wire, old: Wire) -> None:
    """ApiError 409 if the proposal was made for another version or another object of that name."""
    name = metadata(old)["name"]
    check_meant(resource, proposed, old, "uid")
    given = metadata(proposed).get("resourceVersion") or ""
    if parse_revision(given) == 0:
        if resource.strategy.unconditional_update:
            return
        error = fields.invalid("metadata.resourceVersion", 0, "must be specified for an update")
        raise invalid(resource.plural, resource.group, name, [error])
    if given != metadata(old)["resourceVersion"]:
        raise conflict(resource.plural, resource.group, name, MODIFIED)


_CALLED = {"uid": "UID", "resourceVersion": "ResourceVersion"}


def check_meant(resource: Resource, proposed: Wire, old: Wire, key: str) -> None:
    """ApiError 409 if the proposal was made for an object whose uid or version is another."""
    given, there, what = metadata(proposed).get(key), metadata(old)[key], _CALLED[key]
    if given and given != there:
        why = (
            f"Precondition failed: {what} in precondition: {given}, {what} in object meta: {there}"
        )
        raise conflict(resource.plural, resource.group, metadata(old)["name"], why)


async def finalize(api: Api, call: Call) -> Written:
    """Take the namespace's holders (spec.finalizers) from the request's body."""
    options = write_options(call.query, "UpdateOptions")
    proposed = read_object(call, options.field_validation)
    holders = at(proposed, ("spec", "finalizers")) or []
    if errors := [*holder_errors(holders, "spec.finalizers")]:
        raise invalid(call.resource.kind, call.resource.group, call.name, errors)

    def decide(old: Wire | None) -> Verdict:
        if old is None:
            raise not_found(call.resource.plural, call.resource.group, call.name)
        check_current(call.resource, proposed, old)
        return held_by(call, old, holders)

    return await write(api, call.resource, call.key(), decide, dry_run=options.dry_run)


def held_by(call: Call, old: Wire, holders: list[str]) -> Verdict:
    """The namespace with just these holders; gone, if it was waiting for the last of them."""
    spec = {key: value for key, value in (old.get("spec") or {}).items() if key != "finalizers"}
    if holders:
        spec["finalizers"] = holders
    obj = {**old, "spec": spec}
    if is_over(obj, call.resource):
        return Drop(obj)
    return Leave(old) if same(obj, old) else Save(obj)
