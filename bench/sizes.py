"""How much of everything a run does. Every server does the same, so that memory compares too."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Sizes:
    """Counts per round, unless said otherwise."""

    rounds: int
    starts: int  # of each server, in all
    stored: int  # objects in the store that a start finds
    configmaps: int  # updated, patched; created `created` times as many
    deployments: int
    gets: int
    pool: int  # objects of each kind that are updated and read
    listed: int  # objects in the namespace that is listed
    lists: int
    bursts: int  # of one write per writer
    created: int = 1  # a round is to take a second, for it takes a moment to get going
    watchers: int = 500
    # Not all clients write: in bursts of 32 kube-apiserver ends the watches of those who fall
    # behind, every now and then, and then there is nothing to compare.
    writers: int = 8
    page: int = 500
    clients: int = 32
    bindings: int = 300  # of roles to others, among which that of the user is found
    list_clients: int = 4  # a list is megabytes; more at a time would measure the machine's memory


FULL = Sizes(
    rounds=5,
    starts=3,
    stored=100_000,
    configmaps=1_200,
    deployments=500,
    gets=3_000,
    pool=640,
    listed=10_000,
    lists=8,
    bursts=16,
    created=5,
)
QUICK = Sizes(
    rounds=2,
    starts=1,
    stored=20_000,
    configmaps=400,
    deployments=160,
    gets=1_000,
    pool=256,
    listed=2_000,
    lists=8,
    bursts=8,
)
