"""A cluster that pulls is seen to the node: its agent publishes what the plane cannot look at."""

import asyncio

from sites import PATIENCE_S, until
from test_agent_whole import FAR, Far, pulled

from atoll.agent.attending import PUBLISHED
from atoll.control.answering import answer
from atoll.control.hub import CLUSTER

PATH = PUBLISHED.path("", "far")


async def _fits(far: Far) -> tuple[int, str]:
    """How many replicas of one CPU fit, and by whose word."""
    told = await answer(far.it.hub, "fits", {"cpu": "1"}) or {}
    fits, by = told["fits"], told["by"]
    assert isinstance(fits, dict)
    assert isinstance(by, dict)
    return fits.get("far", 0), by.get("far", "")


async def _until_told_by(far: Far, whose: str) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while (await _fits(far))[1] != whose:
            await asyncio.sleep(0.01)


def test_the_plane_knows_what_fits_on_the_nodes_of_a_cluster_that_pulls() -> None:
    async def main() -> None:
        async with pulled() as far, far.agent() as agent:
            hub = far.it.hub
            await _until_told_by(far, "node view")
            table = agent.observations["far"].columns.table()
            room = hub.nodes.view(hub.fleet, hub.now).rooms["far"]
            assert room.table.rows.names == table.rows.names
            assert (await _fits(far))[0] > 0
            assert "far" not in hub.observations
            written = await far.it.api.get(PATH)
            assert written["spec"]["nodes"] == len(table)
            owner = written["metadata"]["ownerReferences"][0]
            assert (owner["kind"], owner["name"]) == ("Cluster", "far")

    asyncio.run(main())


def test_what_was_published_has_no_say_once_the_agent_is_silent_and_goes_with_the_cluster() -> None:
    async def main() -> None:
        async with pulled() as far:
            hub = far.it.hub
            async with far.agent():
                await _until_told_by(far, "node view")
            await until(lambda: not hub.clusters["far"].ready)
            await _until_told_by(far, "cluster report")
            cluster = await far.it.api.get(hub.plane.collection(CLUSTER, "Cluster").path("", "far"))
            await far.it.delete(cluster)
            await until(lambda: hub.plane.find(FAR) is None)
            async with asyncio.timeout(PATIENCE_S):
                while (await far.it.api.read(PATH)).status == 200:
                    await asyncio.sleep(0.05)
            assert (await far.it.api.read(PATH)).status == 404

    asyncio.run(main())
