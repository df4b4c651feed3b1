"""How a member is, by its own word: health, version, and the APIs it serves.

A client of the member comes in; plain findings go out, and never an exception: not to be answered
is a finding as well. Discovery is asked in its aggregated form, which says everything in two
answers, and costs next to nothing while it says the same; of a server that does not know that form
every group version is read, and only now and then.
"""

import asyncio
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from atoll.client.api import ApiClient
from atoll.client.collection import AGGREGATED
from atoll.client.transport import Unreachable
from atoll.dialects.karmada.cluster_status.enablements import Discovered, Kinds
from atoll.dialects.karmada.cluster_status.readiness import Health
from atoll.exchange import Response

ANSWER_WITHIN_S = 10.0
"""Whoever does not answer for so long is not reachable."""
PLAIN_EVERY = 30
"""So many rounds after which to read all group versions one by one again."""
_ACCEPT = {"accept": f"{AGGREGATED},application/json"}
_ROOTS = ("/api", "/apis")


async def health(api: ApiClient) -> Health:
    """Whether a member says that it is well."""
    answer = await _read(api, "/readyz")
    if answer is not None and answer.status == 404:
        answer = await _read(api, "/healthz")
    if answer is None:
        return Health.UNREACHABLE
    return Health.OK if answer.status == 200 else Health.FAILING


async def version(api: ApiClient) -> str | None:
    """The version of Kubernetes that a member says it is; None if it does not say."""
    found = _json(await _read(api, "/version"))
    told = found.get("gitVersion") if found is not None else None
    return told if isinstance(told, str) else None


class Discovery:
    """Which APIs a member serves, asked again and again."""

    def __init__(self, api: ApiClient) -> None:
        self._api = api
        self._marks: dict[str, str] = {}
        self._known: dict[str, Discovered] = {}
        self._plain_in = 0
        self._was_read = False

    async def read(self) -> Discovered | None:
        """What is served now; None if it is not time yet to read all of it, or for want of answers.

        One that was read before and does not answer now is busy rather than without APIs.
        """
        try:
            found = await self._read()
            silent = found is not None and not found.kinds and not found.groups_known
            self._was_read = self._was_read or not silent
            return None if silent and self._was_read else found
        except (KeyError, TypeError, AttributeError):  # an answer of another form than it should be
            self._known.clear()
            return Discovered(groups_known=False)

    async def _read(self) -> Discovered | None:
        found = [await self._aggregated(root) for root in _ROOTS]
        whole = [each for each in found if each is not None]
        if len(whole) == len(found):
            return _together(whole)
        self._plain_in -= 1
        if self._plain_in > 0:
            return None
        plain = await self._plain()
        self._plain_in = PLAIN_EVERY if plain.groups_known and not plain.unread else 0
        return plain

    async def _aggregated(self, root: str) -> Discovered | None:
        """All below a path in one answer; None if the server does not speak so."""
        headers = dict(_ACCEPT)
        if root in self._known:
            headers["if-none-match"] = self._marks[root]
        answer = await _read(self._api, root, headers)
        if answer is not None and answer.status == 304 and root in self._known:
            return self._known[root]
        self._known.pop(root, None)
        if answer is None:
            return Discovered(groups_known=False)
        content = _json(answer)
        if content is None or content.get("kind") != "APIGroupDiscoveryList":
            return None
        found = _of_groups(content)
        if answer.headers.get("etag"):
            self._marks[root], self._known[root] = answer.headers["etag"], found
        return found

    async def _plain(self) -> Discovered:
        """All group versions, one by one."""
        core, groups = [_json(await _read(self._api, root)) for root in _ROOTS]
        versions = [] if core is None else [str(each) for each in core.get("versions") or ()]
        for group in (groups or {}).get("groups") or ():
            versions += [str(each["groupVersion"]) for each in group.get("versions") or ()]
        kinds: dict[str, Kinds] = {}
        unread = []
        for each in versions:
            path = f"/apis/{each}" if "/" in each else f"/api/{each}"
            content = _json(await _read(self._api, path))
            if content is None:
                unread.append(each)
            else:
                kinds[each] = _plain_kinds(content)
        known = core is not None and groups is not None
        return Discovered(kinds, frozenset(unread), groups_known=known)


def _together(parts: list[Discovered]) -> Discovered:
    return Discovered(
        {version: kinds for part in parts for version, kinds in part.kinds.items()},
        frozenset().union(*(part.unread for part in parts)),
        groups_known=all(part.groups_known for part in parts),
    )


def _of_groups(content: Mapping[str, Any]) -> Discovered:
    """What the aggregated form says; versions whose server did not answer it are stale in it."""
    kinds: dict[str, Kinds] = {}
    unread = []
    for group in content.get("items") or ():
        name = (group.get("metadata") or {}).get("name") or ""
        for each in group.get("versions") or ():
            version = f"{name}/{each['version']}" if name else str(each["version"])
            if each.get("freshness") == "Stale":
                unread.append(version)
            else:
                kinds[version] = tuple(_aggregated_kinds(each))
    return Discovered(kinds, frozenset(unread))


def _aggregated_kinds(version: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for each in version.get("resources") or ():
        kind = (each.get("responseKind") or {}).get("kind")
        if kind:  # a resource that has only subresources is none of its own
            yield str(each["resource"]), str(kind)


def _plain_kinds(content: Mapping[str, Any]) -> Kinds:
    return tuple(
        (str(each["name"]), str(each["kind"]))
        for each in content.get("resources") or ()
        if "/" not in each["name"]
    )


async def _read(
    api: ApiClient, path: str, headers: Mapping[str, str] | None = None
) -> Response | None:
    """The answer at a path; None if there is none in time."""
    try:
        async with asyncio.timeout(ANSWER_WITHIN_S):
            return await api.read(path, headers=headers)
    except (Unreachable, TimeoutError):
        return None


def _json(answer: Response | None) -> dict[str, Any] | None:
    """What a good answer says; None if it is not good, or says nothing readable."""
    if answer is None or answer.status != 200:
        return None
    try:
        return msgspec.json.decode(answer.body, type=dict[str, Any])
    except msgspec.DecodeError:
        return None
