"""A new object that was made ready before this server was asked: a gate's draft.

Whoever may refuse is asked as ever. Where anybody is who may change it, or if anything else about
the request is unusual, the draft is left, and the object made here from the request's body: there
is one author of every refusal.
"""

from atoll.apiserver.objects.ending import is_ending
from atoll.apiserver.objects.unread import Unread
from atoll.apiserver.resource import Object
from atoll.apiserver.status import already_exists
from atoll.apiserver.verbs.beginning import may_be_drafted
from atoll.apiserver.verbs.forming import Form, admission
from atoll.apiserver.verbs.writing import Save, Verdict, Written, write_admitted
from atoll.exchange import Draft


class _Left(Exception):
    """The draft is of no use."""


async def created_as_drafted(form: Form, draft: Draft) -> Written | None:
    """Store the draft; None, with nothing done, if it has to be made here after all."""
    call, resource, hooks = form.call, form.resource, form.api.hooks
    if form.options.dry_run or not may_be_drafted(resource):
        return None
    obj = Unread(draft.head, draft.tail)
    asked = admission(form, "CREATE", draft.name, obj)

    async def decide(old: Object | None) -> Verdict:
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
