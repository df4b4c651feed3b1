"""A cluster that pulls shows that it lives: its agent renews a Lease in the plane.

The plane cannot ask such a cluster, so it goes by this: a Lease that is not renewed for the grace
period makes the cluster unknown. A renewal that fails is tried again soon.
"""

import asyncio
import logging
from dataclasses import dataclass

from atoll.client.api import ApiClient, Missing, Refused, Wire
from atoll.client.collection import Collection
from atoll.client.transport import Unreachable
from atoll.config import Times
from atoll.dialects.karmada import names
from atoll.effects import Effects

log = logging.getLogger("atoll.agent")

LEASES = Collection("coordination.k8s.io/v1", "Lease", "leases", namespaced=True)
RENEWED_WITHIN = 0.25  # of its duration
_AGAIN_S = 1.0


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """Renews the Lease of one cluster."""

    cluster: str
    plane: ApiClient
    effects: Effects
    times: Times

    async def run(self) -> None:
        """Renew it, for ever."""
        pause_s = self.times.cluster_lease_duration * RENEWED_WITHIN
        while True:
            try:
                await self.renew()
            except (Refused, Unreachable) as problem:
                said = {"cluster": self.cluster, "err": problem}
                log.warning("The Lease of %(cluster)s is renewed later: %(err)s", said)
                await asyncio.sleep(min(_AGAIN_S, pause_s))
            else:
                await asyncio.sleep(pause_s)

    async def renew(self) -> None:
        """Say once that the cluster lives."""
        path = LEASES.path(names.CLUSTER_NAMESPACE, self.cluster)
        try:
            known = await self.plane.get(path)
        except Missing:
            metadata = {"name": self.cluster, "namespace": names.CLUSTER_NAMESPACE}
            await self.plane.create(LEASES, self._renewed({"metadata": metadata}))
        else:
            await self.plane.replace(LEASES, self._renewed(known))

    def _renewed(self, lease: Wire) -> Wire:
        spec = {
            **(lease.get("spec") or {}),
            "holderIdentity": self.cluster,
            "leaseDurationSeconds": max(1, round(self.times.cluster_lease_duration)),
            "renewTime": self.effects.now().strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
        }
        return {"apiVersion": LEASES.api_version, "kind": LEASES.kind, **lease, "spec": spec}
