"""What a host says of its clusters, and of who may go to them; asked anew for each who does.

Only roles and their bindings are followed: who may go where follows from all of them.
"""

from collections.abc import Awaitable, Callable, Sequence

from atoll.client.api import ApiClient
from atoll.client.collection import Collection
from atoll.client.mirror import Mirror
from atoll.dialects.karmada.proxy_access import Subjects, let_through
from atoll.hosting.translating import KEPT, shown_object
from atoll.members.objects import ROLE_BINDINGS, ROLES, SECRETS
from atoll.wire import Wire

RECORDS = Collection(KEPT.api_version, KEPT.kind, KEPT.plural, namespaced=False)


class HostRegistry:
    """A host as the way to its clusters needs to know it."""

    def __init__(self, api: ApiClient) -> None:
        self._api = api
        self._roles = Mirror(api, ROLES)
        self._bindings = Mirror(api, ROLE_BINDINGS)
        self.services: dict[str, Callable[[], Awaitable[None]]] = {
            "roles": self._roles.run,
            "role bindings": self._bindings.run,
        }
        """What is to be run for as long as it is asked."""

    async def names(self) -> Sequence[str]:
        return [each["metadata"]["name"] for each in (await self._api.list(RECORDS))[0]]

    async def cluster(self, name: str) -> Wire | None:
        kept = await self._api.find(RECORDS.path(name=name))
        shown: Wire | None = shown_object(kept)
        return shown

    async def secret(self, namespace: str, name: str) -> Wire | None:
        return await self._api.find(SECRETS.path(namespace, name)) if name else None

    async def subjects(self, cluster: str) -> Subjects:
        for each in (self._roles, self._bindings):
            await each.ready.wait()
        return let_through(cluster, self._roles, self._bindings)
