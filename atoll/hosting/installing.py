"""Telling a host of us: what it must have is applied, and waited for.

Whatever is there already is brought up to date, whoever made it; an API of the same name that is
somebody else's is left alone, and told of. What is applied is said in `registering`.
"""

import asyncio
import base64
import logging
from collections.abc import Awaitable, Callable, Iterable
from typing import TypeVar

import orjson

from atoll.apiserver.objects.conditions import is_true
from atoll.client.api import ApiClient, Refused
from atoll.client.collection import Collection
from atoll.client.refusals import refusal
from atoll.client.transport import Unreachable
from atoll.errors import UsageError
from atoll.hosting.installation import NAME
from atoll.hosting.place import OUTSIDE, Place
from atoll.hosting.registering import (
    API_SERVICE,
    API_SERVICES,
    APPLIED,
    DEFINITIONS,
    Applied,
    Registration,
    definitions,
    registrations,
    roles,
    spaces,
)
from atoll.hosting.translating import SHOWN
from atoll.runtime.children import Children
from atoll.wire import Wire

T = TypeVar("T")

log = logging.getLogger("atoll.hosting")

MANAGER = "atoll"
_SELF_REVIEWS = Collection(
    "authentication.k8s.io/v1", "SelfSubjectReview", "selfsubjectreviews", namespaced=False
)
_HEADS = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
_FIRST_PAUSE_S = 0.2
_LONGEST_PAUSE_S = 10.0
_LOOK_S = 0.1
_KEEP_S = 60.0


async def patiently(what: str, ask: Callable[[], Awaitable[T]]) -> T:
    """Ask a host until it answers; UsageError if it refuses for what only a person can mend."""
    pause_s = _FIRST_PAUSE_S
    while True:
        try:
            return await ask()
        except Refused as refused:
            if not refused.may_pass:
                raise UsageError(f"{what}: the host refuses it: {refused}") from refused
            problem: Exception = refused
        except Unreachable as unreachable:
            problem = unreachable
        said = {"what": what, "err": problem, "again_s": pause_s}
        log.warning("%(what)s: %(err)s (again in %(again_s)g s)", said)
        await asyncio.sleep(pause_s)
        pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)


async def prepare(api: ApiClient, place: Place) -> None:
    """Have the namespaces that we live in."""
    await _apply(api, spaces(place))


class Installing:
    """Keeps a host told of us, for as long as we lead; `bundle` gives whom it is to trust."""

    def __init__(self, api: ApiClient, place: Place, bundle: Callable[[], bytes]) -> None:
        self._api = api
        self._place = place
        self._bundle = bundle
        self._me = ""

    async def install(self) -> None:
        """Have the host serve our kinds, and find us."""
        api = self._api
        await patiently("our API", lambda: _look_for_others(api))
        self._me = await patiently("who we are", lambda: _own_name(api))
        wanted = self._wanted()
        late = await patiently("definitions", lambda: _outdated(api, wanted))
        await _apply(api, late)
        await patiently("definitions", lambda: _established(api, late))
        await _apply(api, registrations(wanted))
        log.info("The host has our definitions, and finds us at %(place)s", {"place": self._place})

    async def keep(self) -> None:
        """Put back what was changed or removed, for ever; certificates change, too."""
        await self._give_roles()
        while True:
            await asyncio.sleep(_KEEP_S)
            wanted = self._wanted()
            try:
                for path, wire in (*await _outdated(self._api, wanted), *registrations(wanted)):
                    await self._api.apply(path, wire, MANAGER)
            except (Refused, Unreachable) as problem:
                log.warning("The host could not be told of us again: %(err)s", {"err": problem})

    def _wanted(self) -> Registration:
        return Registration(self._place, base64.b64encode(self._bundle()).decode(), self._me)

    async def _give_roles(self) -> None:
        """Have the roles of agents and people; where we may not give such rights, say so."""
        try:
            await _apply(self._api, [each for each in roles() if not await self._is_there(each[0])])
        except UsageError as refused:
            log.warning(
                "Clusters may not be able to register by themselves; an administrator gives the"
                " roles that are missing with: atoll install (%(err)s)",
                {"err": refused},
            )

    async def _is_there(self, path: str) -> bool:
        return await patiently(path, lambda: self._api.find(path)) is not None


async def _own_name(api: ApiClient) -> str:
    answer = await api.create(_SELF_REVIEWS, {"metadata": {}})
    name: str = answer["status"]["userInfo"]["username"]
    return name


async def _apply(api: ApiClient, objects: Iterable[Applied]) -> None:
    """Have the host know all of these; at once, for none needs another."""
    async with Children("installation") as children:
        tasks = [children.spawn(_apply_one(api, *each), each[0]) for each in objects]
        for task in tasks:
            if refused := await task:
                raise refused


async def _apply_one(api: ApiClient, path: str, wire: Wire) -> UsageError | None:
    """Why an object cannot be applied, if it cannot."""
    name = f"{wire['kind']} {wire['metadata']['name']}"
    try:
        await patiently(name, lambda: api.apply(path, wire, MANAGER))
    except UsageError as refused:
        return refused
    return None


async def _outdated(api: ApiClient, wanted: Registration) -> list[Applied]:
    """Those of our definitions that the host has not, or has otherwise."""
    answer = await api.read(DEFINITIONS.path(), headers={"accept": _HEADS})
    if answer.status != 200:
        raise refusal(answer.status, answer.body)
    known = {
        each["metadata"]["name"]: (each["metadata"].get("annotations") or {}).get(APPLIED)
        for each in orjson.loads(answer.body)["items"] or ()
    }
    return [
        (path, wire)
        for path, wire in definitions(wanted)
        if known.get(wire["metadata"]["name"]) != wire["metadata"]["annotations"][APPLIED]
    ]


async def _look_for_others(api: ApiClient) -> None:
    """UsageError if somebody else serves Clusters on this host."""
    if await api.find(DEFINITIONS.path(name=SHOWN.collection)):
        raise UsageError(
            f"the host has a CustomResourceDefinition {SHOWN.collection}, so our API cannot serve"
            " it; delete that first, which deletes the Clusters it has"
        )
    known = await api.find(API_SERVICES.path(name=API_SERVICE))
    service = known["spec"].get("service") if known else None
    if service and service.get("name") not in (NAME, OUTSIDE):
        where = f"{service.get('namespace')}/{service.get('name')}"
        raise UsageError(
            f"the host has an APIService {API_SERVICE} of another program, at Service {where};"
            " two planes cannot share a host"
        )


async def _established(api: ApiClient, defined: Iterable[Applied]) -> None:
    """Wait until the host serves all these kinds."""
    for path, wire in defined:
        while not is_true(await api.get(path), "Established"):
            log.debug("%(name)s is not served yet", {"name": wire["metadata"]["name"]})
            await asyncio.sleep(_LOOK_S)
