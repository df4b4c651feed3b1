"""Which kinds an API server has: read from its discovery, and again when asked.

`served` is also what a member cluster reports as its API enablements.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial

from atoll.client.api import ApiClient, Collection, Missing, Refused
from atoll.client.transport import Unreachable
from atoll.control.insisting import insist
from atoll.wire import Wire

Scope = Callable[[Collection], Collection]


def all_of(collection: Collection) -> Collection:
    """Nothing is left out."""
    return collection


class Directory:
    """The collections of one server, by the kind's version and name; `of` is who it is in the log.

    `scope` may make a collection smaller: whoever may not see all of it looks at a part.
    """

    def __init__(self, api: ApiClient, of: str, scope: Scope = all_of) -> None:
        self._api = api
        self._of = of
        self._scope = scope
        self._served: dict[tuple[str, str], Collection] = {}
        self._deletable: list[Collection] = []

    @property
    def served(self) -> Iterable[Collection]:
        return self._served.values()

    @property
    def deletable(self) -> Iterable[Collection]:
        """The preferred collections whose objects users make, follow and delete."""
        return self._deletable

    async def read(self) -> bool:
        """Ask the server anew until it answers; say if all of its groups could be read.

        One that is refused keeps what was known of it.
        """
        versions, preferred = await insist(f"Groups of kinds of {self._of}", self._versions)
        found: dict[tuple[str, str], Collection] = {}
        deletable: list[Collection] = []
        is_whole = True
        for version in versions:
            resources = await self._resources(version)
            if resources is None:
                is_whole = False
                resources = self._known(version)
            for whole, verbs in resources:
                collection = self._scope(whole)
                found[version, collection.kind] = collection
                if version in preferred and {"delete", "list", "watch"} <= verbs:
                    deletable.append(collection)
        self._served, self._deletable = found, deletable
        return is_whole

    def find(self, api_version: str, kind: str) -> Collection | None:
        return self._served.get((api_version, kind))

    async def _versions(self) -> tuple[list[str], set[str]]:
        """All versions of all groups, and which of them are preferred."""
        versions, preferred = ["v1"], {"v1"}
        groups = await self._api.get("/apis")
        with _making_sense("/apis"):
            for group in groups.get("groups") or ():
                versions += [each["groupVersion"] for each in group["versions"]]
                preferred.add(group["preferredVersion"]["groupVersion"])
        return versions, preferred

    async def _resources(self, version: str) -> list[tuple[Collection, set[str]]] | None:
        """The collections of a version; none if it is gone, None if the server will not say."""
        path = f"/apis/{version}" if "/" in version else f"/api/{version}"
        try:
            ask = partial(self._told, version, path)
            return await insist(f"Kinds of {version} of {self._of}", ask, despite=(Unreachable,))
        except Missing:
            return []
        except Refused:
            return None

    async def _told(self, version: str, path: str) -> list[tuple[Collection, set[str]]]:
        answer = await self._api.get(path)
        with _making_sense(path):
            resources = answer.get("resources") or ()
            return [_collection(version, each) for each in resources if "/" not in each["name"]]

    def _known(self, version: str) -> list[tuple[Collection, set[str]]]:
        deletable = {"delete", "list", "watch"}
        return [
            (each, deletable if each in self._deletable else set())
            for (found, _), each in self._served.items()
            if found == version
        ]


@contextmanager
def _making_sense(path: str) -> Iterator[None]:
    """An answer that is not of the form that API servers give is none; there may be one later."""
    try:
        yield
    except (AttributeError, KeyError, TypeError) as error:
        raise Unreachable(f"the answer to GET {path} makes no sense") from error


def _collection(version: str, resource: Wire) -> tuple[Collection, set[str]]:
    collection = Collection(
        version, resource["kind"], resource["name"], namespaced=resource["namespaced"]
    )
    return collection, set(resource["verbs"])
