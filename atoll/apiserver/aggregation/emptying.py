"""Emptying namespaces behind this server: what servers there have in a namespace that is ending.

Each is told once to delete all that it has there. A namespace never waits for them: one server that
is dead would hold up the end of every namespace there is. What a server keeps because it could not
be told then stays with it, and is said in the log.
"""

import logging
from collections.abc import Iterator, Sequence

from atoll.apiserver.access.front_proxy import headers_of
from atoll.apiserver.aggregation.aggregator import AGGREGATOR, Aggregator
from atoll.apiserver.aggregation.finding import Findings
from atoll.apiserver.aggregation.remote import Remote
from atoll.apiserver.objects.view import metadata_of
from atoll.client.transport import Unreachable, whole
from atoll.errors import UsageError
from atoll.exchange import Request
from atoll.runtime.worklist import Worklist
from atoll.store.record import Event

log = logging.getLogger("atoll.aggregation")

NAMESPACES = "namespaces"


def swept(remote: Remote, found: Findings, namespace: str) -> Iterator[str]:
    """The collections that a server has in a namespace, as paths."""
    for resource in found.resources:
        verbs = resource.get("verbs") or ()
        if resource.get("scope") == "Namespaced" and "deletecollection" in verbs:
            yield f"{remote.root}/namespaces/{namespace}/{resource.get('resource')}"


class Emptying:
    """Tells servers behind this one of namespaces that are ending."""

    def __init__(self, aggregator: Aggregator) -> None:
        self._aggregator = aggregator
        self._work: Worklist[str] = Worklist("namespaces behind this server")

    def load(self) -> None:
        """Those that were ending before have been told of."""

    def follow(self, events: Sequence[Event]) -> None:
        if not self._aggregator.remotes:  # as mostly
            return
        for event in events:
            if event.after.collection == NAMESPACES and not event.removed and _has_ended(event):
                self._work.add(event.after.name)

    async def run(self) -> None:
        await self._work.run(self._empty)

    async def _empty(self, namespace: str) -> None:
        behind = self._aggregator.behind
        for place, remote in behind.remotes.items():
            found = behind.findings.get(place)
            if found is not None:
                await self._empty_one(remote, found, namespace)

    async def _empty_one(self, remote: Remote, found: Findings, namespace: str) -> None:
        for path in swept(remote, found, namespace):
            try:
                way = await self._aggregator.way(remote)
                if way is None:
                    raise Unreachable("it is nowhere to be found")
                request = Request("DELETE", path, headers=headers_of(AGGREGATOR))
                answer = await whole(await way.probing.send(request))
            except (Unreachable, UsageError) as error:
                said = {"apiservice": remote.name, "namespace": namespace, "err": error}
                log.warning("%(apiservice)s keeps what it has in %(namespace)s: %(err)s", said)
                return
            if answer.status >= 300:
                refused = {"apiservice": remote.name, "path": path, "status": answer.status}
                log.warning("%(apiservice)s refused to delete %(path)s: %(status)d", refused)


def _has_ended(event: Event) -> bool:
    """Whether a namespace has just begun to end."""
    before = event.before
    if before is not None and metadata_of(before).deletion_timestamp is not None:
        return False
    return metadata_of(event.after).deletion_timestamp is not None
