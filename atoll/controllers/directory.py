"""Which kinds an API server has: read from its discovery, and again when asked.

`served` is also what a member cluster reports as its API enablements.
"""

from collections.abc import Iterable

from atoll.client.api import ApiClient, Collection, Missing, Refused, Wire


class Directory:
    """The collections of one server, by the kind's version and name."""

    def __init__(self, api: ApiClient) -> None:
        self._api = api
        self._served: dict[tuple[str, str], Collection] = {}
        self._deletable: list[Collection] = []

    @property
    def served(self) -> Iterable[Collection]:
        return self._served.values()

    @property
    def deletable(self) -> Iterable[Collection]:
        """The preferred collections whose objects users make, follow and delete."""
        return self._deletable

    async def read(self) -> None:
        """Ask the server anew; a group that cannot be read keeps what was known of it."""
        versions = ["v1"]
        preferred = {"v1"}
        for group in (await self._api.get("/apis")).get("groups") or ():
            versions += [each["groupVersion"] for each in group["versions"]]
            preferred.add(group["preferredVersion"]["groupVersion"])
        found: dict[tuple[str, str], Collection] = {}
        deletable: list[Collection] = []
        for version in versions:
            for collection, verbs in await self._resources(version):
                found[version, collection.kind] = collection
                if version in preferred and {"delete", "list", "watch"} <= verbs:
                    deletable.append(collection)
        self._served, self._deletable = found, deletable

    def find(self, api_version: str, kind: str) -> Collection | None:
        return self._served.get((api_version, kind))

    async def _resources(self, version: str) -> list[tuple[Collection, set[str]]]:
        root = "/apis" if "/" in version else "/api"
        try:
            answer = await self._api.get(f"{root}/{version}")
        except Missing:
            return []
        except Refused:
            known = [each for (found, _), each in self._served.items() if found == version]
            return [(each, {"delete", "list", "watch"}) for each in known]
        resources = answer.get("resources") or ()
        return [_collection(version, each) for each in resources if "/" not in each["name"]]


def _collection(version: str, resource: Wire) -> tuple[Collection, set[str]]:
    collection = Collection(
        version, resource["kind"], resource["name"], namespaced=resource["namespaced"]
    )
    return collection, set(resource["verbs"])
