"""The finalize subresource of namespaces: whoever holds a namespace says it is done with it."""

from atoll.apiserver.objects.ending import is_over
from atoll.apiserver.objects.metadata import holder_errors
from atoll.apiserver.objects.paths import at
from atoll.apiserver.options import write_options
from atoll.apiserver.status import invalid, not_found
from atoll.apiserver.verbs.call import Api, Call
from atoll.apiserver.verbs.intake import read_object
from atoll.apiserver.verbs.updating import check_current
from atoll.apiserver.verbs.writing import Drop, Leave, Save, Verdict, Written, same, write
from atoll.wire import Object


async def finalize(api: Api, call: Call) -> Written:
    """Take the namespace's holders (spec.finalizers) from the request's body."""
    options = write_options(call.query, "UpdateOptions")
    proposed = read_object(call, options.field_validation)
    holders = at(proposed, ("spec", "finalizers")) or []
    if errors := [*holder_errors(holders, "spec.finalizers")]:
        raise invalid(call.resource.kind, call.resource.group, call.name, errors)

    def decide(old: Object | None) -> Verdict:
        if old is None:
            raise not_found(call.resource.plural, call.resource.group, call.name)
        check_current(call.resource, proposed, old)
        return held_by(call, old, holders)

    return await write(api, call.resource, call.key(), decide, dry_run=options.dry_run)


def held_by(call: Call, old: Object, holders: list[str]) -> Verdict:
    """The namespace with just these holders; gone, if it was waiting for the last of them."""
    spec = {key: value for key, value in (old.get("spec") or {}).items() if key != "finalizers"}
    if holders:
        spec["finalizers"] = holders
    obj = {**old, "spec": spec}
    if is_over(obj, call.resource):
        return Drop(obj)
    return Leave(old) if same(obj, old) else Save(obj)
