"""POST: a new object, with a name of its own or one the server makes up.

A gate may have drafted it. Whoever may refuse is asked as ever; where anybody is who may change it,
or anything else is unusual, the draft is left: there is one author of every refusal.
"""

from dataclasses import replace

from atoll.apiserver.objects.ending import is_ending
from atoll.apiserver.objects.metadata import (
    GENERATED_ALPHABET,
    GENERATED_PREFIX_MAX,
    metadata,
    repeated_owners,
)
from atoll.apiserver.objects.unread import Unread
from atoll.apiserver.options import write_options
from atoll.apiserver.status import already_exists, plain_500
from atoll.apiserver.verbs.beginning import check_namespace, may_be_drafted
from atoll.apiserver.verbs.call import Api, Call
from atoll.apiserver.verbs.forming import Form, admission, formed_new
from atoll.apiserver.verbs.intake import read_object
from atoll.apiserver.verbs.writing import Save, Verdict, Written, write_admitted
from atoll.exchange import Draft
from atoll.wire import Wire


class _Left(Exception):
    """The draft is of no use."""


async def created_as_drafted(form: Form, draft: Draft) -> Written | None:
    """Store the draft; None, with nothing done, if it has to be made here after all."""
    call, resource, hooks = form.call, form.resource, form.api.hooks
    if form.options.dry_run or not may_be_drafted(resource):
        return None
    obj = Unread(draft.head, draft.tail)
    asked = admission(form, "CREATE", draft.name, obj)

    async def decide(old: Wire | None) -> Verdict:
        if hooks.may_change(asked):
            raise _Left
        settle = await hooks.check(asked)
        if old is not None:
            taken, group = resource.plural, resource.group
            raise already_exists(taken, group, draft.name, deleting=is_ending(old))
        return Save(obj, settle, lambda revision: _encoded(draft, revision))

    try:
        written = await write_admitted(form.api, resource, call.key(draft.name), decide)
    except _Left:
        return None
    call.warnings.extend(draft.warnings)
    return written


def _encoded(draft: Draft, revision: int) -> bytes:
    return b'%b,"resourceVersion":"%d"%b' % (draft.head, revision, draft.tail)


_NAME_ATTEMPTS = 8


async def create(api: Api, call: Call) -> Written:
    """Store the object in the request's body as a new one."""
    form = Form(api, call, write_options(call.query, "CreateOptions"))
    if call.request.draft is not None:
        written = await created_as_drafted(form, call.request.draft)
        if written is not None:
            return written
    proposed = read_object(call, form.options.field_validation)
    check_namespace(call.resource, call.namespace, proposed)
    return await create_object(form, proposed)


async def create_object(form: Form, proposed: Wire) -> Written:
    """Store a proposed object as a new one; a made-up name that is taken is made up again."""
    meta = metadata(proposed)
    if meta.get("name") or not meta.get("generateName"):
        return await _create_named(form, proposed)
    for _ in range(_NAME_ATTEMPTS):
        named = {**proposed, "metadata": {**meta, "name": _made_up(form.api, meta["generateName"])}}
        name = named["metadata"]["name"]
        if form.api.store.latest(form.resource.collection, form.call.key(name)) is None:
            return await _create_named(replace(form, name_is_made_up=True), named)
    error = already_exists(form.resource.plural, form.resource.group, meta["generateName"])
    assert error.details is not None
    error.details["retryAfterSeconds"] = 1
    raise error


async def _create_named(form: Form, proposed: Wire) -> Written:
    resource = form.resource
    if repeated := repeated_owners(proposed):
        form.call.warnings.append(_REPEATED_OWNERS + ", ".join(repeated))
    name = metadata(proposed).get("name") or ""
    uid = form.api.effects.chance.uuid("uid")

    async def decide(old: Wire | None) -> Verdict:
        verdict = await formed_new(form, proposed, uid=uid)
        if metadata(proposed).get("resourceVersion") and not form.options.dry_run:
            raise plain_500("resourceVersion should not be set on objects to be created")
        if old is not None:
            raise already_exists(resource.plural, resource.group, name, deleting=is_ending(old))
        return verdict

    # An object without a name has no place in the store, but its other faults are told too.
    if not name:
        await formed_new(form, proposed, uid=uid)
    return await write_admitted(
        form.api, resource, form.call.key(name), decide, dry_run=form.options.dry_run
    )


_REPEATED_OWNERS = (
    ".metadata.ownerReferences contains duplicate entries; API server dedups owner references in"
    " 1.20+, and may reject such requests as early as 1.24; please fix your requests; duplicate"
    " UID(s) observed: "
)


def _made_up(api: Api, prefix: str) -> str:
    chance = api.effects.chance.of("names")
    letters = "".join(chance.choice(GENERATED_ALPHABET) for _ in range(5))
    return prefix[:GENERATED_PREFIX_MAX] + letters
