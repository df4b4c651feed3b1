"""A cluster that pulls shows its nodes: its agent publishes them, for the plane cannot look itself.

Once per round of the status, and only if something changed or nothing was said for long. A plane
that has no such kind is asked again at times; whatever else goes wrong is tried again next round.
"""

import asyncio
import logging

from atoll.client.api import Missing, Refused, Wire
from atoll.client.collection import Collection
from atoll.client.transport import Unreachable
from atoll.control.hub import CLUSTER, Hub
from atoll.dialects import cluster_nodes
from atoll.dialects.prices import API_VERSION
from atoll.dialects.wire import written_time
from atoll.model.action import Ref
from atoll.scheduling.nodes.table import NodeTable

log = logging.getLogger("atoll.agent")

PUBLISHED = Collection(API_VERSION, cluster_nodes.KIND, "clusternodes", namespaced=False)
_SOON_S = 1.0
CHARACTERS_MOST = 900_000
"""More than that is not published: an object must fit into a store's megabyte."""
RENEW_S = 300.0
"""So often it is published though nothing changed, for the plane to know that it still holds."""


class Publishing:
    """Publishes the nodes of one cluster."""

    def __init__(self, cluster: str, hub: Hub) -> None:
        self._cluster = cluster
        self._hub = hub
        self._last: tuple[NodeTable, cluster_nodes.Columns] | None = None
        self._at = 0.0
        self._trouble = ""

    async def run(self) -> None:
        """Publish them, for ever."""
        while True:
            trouble = ""
            try:
                trouble = await self.publish()
            except (Refused, Unreachable) as problem:
                trouble = f"they are published later: {problem}"
            if trouble and trouble != self._trouble:
                said = {"cluster": self._cluster, "err": trouble}
                log.warning("The nodes of %(cluster)s: %(err)s", said)
            self._trouble = trouble
            every_s = self._hub.times.cluster_status_update_frequency
            await asyncio.sleep(every_s if self._last or trouble else min(_SOON_S, every_s))

    async def publish(self) -> str:
        """Publish the nodes if there is news; what is in the way, or nothing."""
        seen = self._hub.observations.get(self._cluster)
        owner = self._hub.plane.find(Ref(CLUSTER, "Cluster", "", self._cluster))
        if seen is None or not seen.complete or owner is None:
            return ""
        table, now = seen.columns.table(), self._hub.now
        is_due = now - self._at >= RENEW_S
        known, said = self._last or (None, None)
        if table is known and not is_due:
            return ""
        columns = cluster_nodes.encode(table, self._last)
        if columns == said and not is_due:
            return ""
        if sum(map(len, columns)) > CHARACTERS_MOST:
            return f"{len(table)} are too many to be published; the plane goes by the summary"
        wire = cluster_nodes.wire(owner, columns, len(table), written_time(now))
        await self._write(wire)
        self._last, self._at = (table, columns), now
        return ""

    async def _write(self, wire: Wire) -> None:
        api = self._hub.plane.api
        try:
            known = await api.get(PUBLISHED.path("", self._cluster))
        except Missing:
            await api.create(PUBLISHED, wire)
            return
        version = known["metadata"]["resourceVersion"]
        metadata = {**wire["metadata"], "resourceVersion": version}
        await api.replace(PUBLISHED, {**wire, "metadata": metadata})
