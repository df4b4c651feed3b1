"""Telling a host of us: what it must have is applied, and waited for.

Whatever is there already is brought up to date, whoever made it; an API of the same name that is
somebody else's is left alone, and told of. What is applied is said in `registering`.
"""

import asyncio
import base64
import logging
from collections.abc import Awaitable, Callable, Iterable
from typing import TypeVar

from atoll.client.api import ApiClient, Missing, Refused, Wire
from atoll.client.collection import Collection
from atoll.client.transport import Unreachable
from atoll.errors import UsageError
from atoll.hosting.installation import NAME
from atoll.hosting.place import OUTSIDE, Place
from atoll.hosting.registering import (
    API_SERVICE,
    API_SERVICES,
    DEFINITIONS,
    Applied,
    Registration,
    definitions,
    registrations,
    spaces,
)
from atoll.hosting.translating import SHOWN

T = TypeVar("T")

log = logging.getLogger("atoll.hosting")

MANAGER = "atoll"
_SELF_REVIEWS = Collection(
    "authentication.k8s.io/v1", "SelfSubjectReview", "selfsubjectreviews", namespaced=False
)
_FIRST_PAUSE_S = 0.2
_LONGEST_PAUSE_S = 10.0
_LOOK_S = 0.1
_TOO_MANY = 429


async def patiently(what: str, ask: Callable[[], Awaitable[T]]) -> T:
    """Ask a host until it answers; UsageError if it refuses for what only a person can mend."""
    pause_s = _FIRST_PAUSE_S
    while True:
        try:
            return await ask()
        except Refused as refused:
            if refused.code < 500 and refused.code != _TOO_MANY:
                raise UsageError(f"{what}: the host refuses it: {refused}") from refused
            problem: Exception = refused
        except Unreachable as unreachable:
            problem = unreachable
        log.warning("%s: %s (again in %g s)", what, problem, pause_s)
        await asyncio.sleep(pause_s)
        pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)


async def prepare(api: ApiClient, place: Place) -> None:
    """Have the namespaces that we live in."""
    await _apply(api, spaces(place))


async def install(api: ApiClient, place: Place, bundle: bytes) -> None:
    """Have the host serve our kinds, and find us."""
    await patiently("our API", lambda: _look_for_others(api))
    me = await patiently("who we are", lambda: _own_name(api))
    wanted = Registration(place, base64.b64encode(bundle).decode(), me)
    await _apply(api, definitions(wanted))
    await patiently("definitions", lambda: _established(api, wanted))
    await _apply(api, registrations(wanted))
    log.info("The host has our definitions, and finds us at %s", place)


async def _own_name(api: ApiClient) -> str:
    answer = await api.create(_SELF_REVIEWS, {"metadata": {}})
    name: str = answer["status"]["userInfo"]["username"]
    return name


async def _apply(api: ApiClient, objects: Iterable[Applied]) -> None:
    for path, wire in objects:
        name = f"{wire['kind']} {wire['metadata']['name']}"

        async def apply(path: str = path, wire: Wire = wire) -> Wire:
            return await api.apply(path, wire, MANAGER)

        await patiently(name, apply)


async def _look_for_others(api: ApiClient) -> None:
    """UsageError if somebody else serves Clusters on this host."""
    try:
        await api.get(DEFINITIONS.path(name=SHOWN.collection))
    except Missing:
        pass
    else:
        raise UsageError(
            f"the host has a CustomResourceDefinition {SHOWN.collection}, so our API cannot serve"
            " it; delete that first, which deletes the Clusters it has"
        )
    try:
        known = await api.get(API_SERVICES.path(name=API_SERVICE))
    except Missing:
        return
    service = known["spec"].get("service") or {}
    if service and service.get("name") not in (NAME, OUTSIDE):
        where = f"{service.get('namespace')}/{service.get('name')}"
        raise UsageError(
            f"the host has an APIService {API_SERVICE} of another program, at Service {where};"
            " two planes cannot share a host"
        )


async def _established(api: ApiClient, wanted: Registration) -> None:
    """Wait until the host serves every kind of ours."""
    for path, wire in definitions(wanted):
        while not _is_established(await api.get(path)):
            log.debug("%s is not served yet", wire["metadata"]["name"])
            await asyncio.sleep(_LOOK_S)


def _is_established(definition: Wire) -> bool:
    conditions = (definition.get("status") or {}).get("conditions") or ()
    return any(each["type"] == "Established" and each["status"] == "True" for each in conditions)
