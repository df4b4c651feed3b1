"""An estimator as a process has it: one cluster followed, and served to those who ask.

A way to the cluster comes in; a port goes out at which Karmada's protocol is spoken for the length
of the block. The cluster may be out of reach, then or later: what was counted last is answered, and
nothing before the first count.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from atoll.client.api import ApiClient
from atoll.client.transport import Transport
from atoll.effects import Effects
from atoll.estimator.estimating import Estimating
from atoll.estimator.grpc import PORT, Trust
from atoll.estimator.serving import serving
from atoll.members.connection import Connection
from atoll.members.observing import Observation
from atoll.runtime.supervisor import Restart, Supervisor


@asynccontextmanager
async def estimating(
    cluster: str,
    member: Transport,
    effects: Effects,
    address: tuple[str, int] = ("", PORT),
    trust: Trust | None = None,
) -> AsyncIterator[int]:
    """Follow a cluster and answer for it; gives the port."""
    api = ApiClient(Connection(cluster, member, effects))
    observation = Observation(api, f"cluster {cluster}")
    answers = Estimating(cluster, api, observation, lambda: effects.now().timestamp())
    async with (
        Supervisor("estimator", effects.chance) as supervisor,
        serving(answers, *address, trust) as port,
    ):
        for each in observation.followings:
            supervisor.start(each.name, each.run, restart=Restart())
        yield port
