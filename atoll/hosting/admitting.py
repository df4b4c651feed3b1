"""The webhooks that a host asks about writes: the very rules of the embedded plane.

A review comes in, an answer goes out (`reviewing`). Where a rule needs to know the other objects of
a kind, the host is asked for them; where a user's script is to be tried, that is waited for. A
question about a kind that we do not know is answered with yes: nobody is to be locked out.
"""

from collections.abc import Awaitable, Callable, Sequence

import orjson

from atoll.apiserver.admission import Admission, Kinds
from atoll.apiserver.fields.error import invalid as invalid_field
from atoll.apiserver.karmada.admission import KIND as CUSTOMIZATION
from atoll.apiserver.karmada.admission import refuse_protected
from atoll.apiserver.resource import Resource
from atoll.apiserver.status import ApiError, invalid
from atoll.client.api import ApiClient
from atoll.client.collection import Collection
from atoll.dialects.karmada.cluster_rules import name_problems
from atoll.exchange import Request, Response
from atoll.hosting.reviewing import Asked, allowed, asked_in, converted, refused, shown_place
from atoll.hosting.translating import SHOWN
from atoll.interpreting.asking import Known, Unanswered
from atoll.wire import Wire

Answer = Callable[[Asked], Awaitable[Wire]]

DEFAULTS, RULES, PROTECTION = "/admission/defaults", "/admission/rules", "/admission/protection"
CONVERSION = "/conversion"
_QUESTIONS_MAX = 50


class Admitting:
    """Answers what a host asks about writes."""

    def __init__(self, api: ApiClient, kinds: Kinds) -> None:
        self._api = api
        self._hooks = kinds.hooks
        self._resources = {
            (each.group, each.plural): each
            for each in kinds.resources
            if each.version == each.stored_version
        }
        self._paths: dict[str, Answer] = {
            DEFAULTS: self._defaulted,
            RULES: self._judged,
            PROTECTION: self._protected,
        }

    async def serve(self, request: Request) -> Response | None:
        """The answer to a review; None if there is no webhook at this path."""
        if request.path == CONVERSION:
            return _told(converted(request.body))
        answer = self._paths.get(request.path)
        if answer is None:
            return None
        asked = asked_in(request.body)
        try:
            return _told(await answer(asked))
        except ApiError as refusal:
            return _told(refused(asked, refusal))

    async def _defaulted(self, asked: Asked) -> Wire:
        seen = await self._seen(asked)
        if seen is None or seen.object is None:
            return allowed(asked)
        return allowed(asked, await self._hooks.mutated(seen, lambda obj: obj))

    async def _judged(self, asked: Asked) -> Wire:
        seen = await self._seen(asked)
        if seen is not None:
            _check_name(seen)
            await self._check(seen)
        return allowed(asked)

    async def _protected(self, asked: Asked) -> Wire:
        group, plural = asked.place
        refuse_protected(asked.old or {}, plural, group, asked.name)
        return allowed(asked)

    async def _check(self, seen: Admission) -> None:
        """ApiError from the first who refuses; what a rule has to ask first is asked."""
        held: list[Known] = []
        while True:
            try:
                await self._hooks.check(seen)
                return
            except Unanswered as question:
                if len(held) == _QUESTIONS_MAX:
                    raise
                held.append(await question.find_out())

    async def _seen(self, asked: Asked) -> Admission | None:
        resource = self._resources.get(shown_place(asked.place))
        return None if resource is None else asked.seen(resource, await self._others(resource))

    async def _others(self, resource: Resource) -> Sequence[Wire]:
        if resource.kind != CUSTOMIZATION:
            return ()
        place = Collection(resource.api_version, resource.kind, resource.plural, namespaced=False)
        return (await self._api.list(place))[0]


def _check_name(seen: Admission) -> None:
    """On the embedded plane this is looked at with the other metadata."""
    if seen.resource.kind != SHOWN.kind or seen.operation != "CREATE":
        return
    wrong = [invalid_field("metadata.name", seen.name, each) for each in name_problems(seen.name)]
    if wrong:
        raise invalid(seen.resource.kind, seen.resource.group, seen.name, wrong)


def _told(review: Wire) -> Response:
    return Response(200, {"Content-Type": "application/json"}, orjson.dumps(review))
