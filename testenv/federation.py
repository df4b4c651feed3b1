"""A host and several members, started at once and stopped together.

In: how many members, and how many nodes each. Out: running clusters. A host has what Kubernetes
needs to be whole, and runs no workloads: what is written there is for others to carry out.
"""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from testenv.build import find
from testenv.cluster import HOST, Cluster, member, start_together, starting


@dataclass(frozen=True, slots=True)
class Federation:
    host: Cluster
    members: Mapping[str, Cluster]  # by their names: member1, member2, ...


@contextmanager
def federation(members: int = 3, nodes: int = 3) -> Iterator[Federation]:
    """Running clusters; raises Unavailable if not built, StartFailed with the log's tail."""
    binaries = find()
    names = [f"member{number}" for number in range(1, members + 1)]
    shapes = [HOST, *(member(nodes) for _ in names)]
    with ExitStack() as started:
        host, *others = start_together([starting(binaries, each, started) for each in shapes])
        yield Federation(host, dict(zip(names, others, strict=True)))
