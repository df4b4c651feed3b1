"""A loop for each member, with workers of its own, so that one that hangs holds up nobody else."""

import asyncio
from collections.abc import Callable

from atoll.control.delivery.decide.events import Key
from atoll.control.loop import Loop
from atoll.runtime.children import Children

WORKERS = 4  # for each member


class Crews:
    """The loops of members, by cluster, each made when it is first asked for."""

    def __init__(self, make: Callable[[], Loop[Key]]) -> None:
        self._make = make
        self._loops: dict[str, Loop[Key]] = {}
        self._more = asyncio.Event()

    def of(self, cluster: str) -> Loop[Key]:
        """The loop of a member."""
        if cluster not in self._loops:
            self._loops[cluster] = self._make()
            self._more.set()
        return self._loops[cluster]

    def retire(self, cluster: str) -> None:
        """Nobody needs to work for a member any more."""
        if cluster in self._loops:
            self._loops.pop(cluster).close()
            self._more.set()

    async def run(self) -> None:
        """Work for every member there is and will be, each by workers of its own, for ever."""
        crews: dict[Loop[Key], list[asyncio.Task[None]]] = {}
        async with Children("delivery") as children:
            while True:
                self._more.clear()
                wanted = {loop: cluster for cluster, loop in self._loops.items()}
                for loop in [each for each in crews if each not in wanted]:
                    for task in crews.pop(loop):
                        task.cancel()
                for loop, cluster in wanted.items():
                    if loop not in crews:
                        crews[loop] = [
                            children.spawn(loop.run(), f"{cluster} {worker}")
                            for worker in range(WORKERS)
                        ]
                await self._more.wait()
