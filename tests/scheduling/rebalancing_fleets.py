"""Small fleets to rebalance, and a naive judge of moves that shares no code with the search."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from hypothesis import strategies as st

from atoll.model.amount import Amount
from atoll.model.cluster import Cluster, Free
from atoll.model.demand import Demand
from atoll.model.price import Price
from atoll.scheduling.prices import replica_cost
from atoll.scheduling.rebalancing.problem import Goal, Placement, Problem, Range

NAMES = ("east", "north", "west")
Held = Mapping[tuple[int, str], int]


def make_demand(**units: int) -> Demand:
    return Demand(tuple((name, Amount(count * 1000)) for name, count in sorted(units.items())))


def make_cluster(name: str, price: int | None = None, pods: int = 100, **free: int) -> Cluster:
    """A cluster with so many units of each resource left, at a price per CPU and GPU."""
    offered = {resource: Amount(count * 1000) for resource, count in free.items()}
    rate = None if price is None else Price(cpu=price, others={"gpu": 10 * price})
    return Cluster(name=name, free=Free(offered, pods), price=rate)


def make_placement(name: str, demand: Demand | None = None, **replicas: int) -> Placement:
    """A placement that may run in all clusters, and runs so many replicas in some."""
    return Placement(
        key=("shop", name),
        demand=make_demand(cpu=1) if demand is None else demand,
        replicas=replicas,
        feasible=frozenset(NAMES),
    )


rarely = st.sampled_from((False,) * 9 + (True,))


@st.composite
def clusters(draw: st.DrawFn, name: str) -> Cluster:
    """Mostly with room for a replica or two, at times overdrawn; rarely silent or unpriced."""
    cpu, gpu, pods = (draw(st.integers(low, 5)) for low in (-1, 0, 0))
    free = Free({"cpu": Amount(cpu * 750), "gpu": Amount(gpu * 1000)}, pods)
    price = Price(cpu=draw(st.integers(0, 9)), others={"gpu": draw(st.integers(0, 9))})
    return Cluster(
        name=name,
        free=None if draw(rarely) else free,
        price=None if draw(rarely) else price,
    )


@st.composite
def placements(draw: st.DrawFn, number: int) -> Placement:
    """Two or three clusters hold it and may; rarely bounded, of unknown demand, or pinned."""
    demand = make_demand(cpu=draw(st.integers(0, 2)), gpu=draw(st.sampled_from((0, 0, 1))))
    bounds = {}
    if draw(rarely) or draw(rarely):
        least, more = draw(st.integers(0, 3)), draw(st.integers(0, 4))
        bounds[draw(st.sampled_from(NAMES))] = Range(least, least + more if more < 4 else None)
    return Placement(
        key=("shop", f"app-{number}"),
        demand=None if draw(rarely) else demand,
        replicas={name: draw(st.integers(0, 3)) for name in NAMES[:2]},
        feasible=frozenset(NAMES) - {draw(st.sampled_from((*NAMES, "", "")))},
        bounds=bounds,
        movable=not draw(rarely),
    )


@st.composite
def problems(draw: st.DrawFn) -> Problem:
    count = draw(st.integers(1, 3))
    return Problem(
        tuple(draw(clusters(name)) for name in NAMES),
        tuple(draw(placements(number)) for number in range(count)),
    )


@dataclass(frozen=True)
class Judge:
    """Says of an assignment what it comes to, and of a move whether it can be made."""

    problem: Problem
    goal: Goal

    def start(self) -> dict[tuple[int, str], int]:
        return {
            (number, cluster.name): placement.replicas.get(cluster.name, 0)
            for number, placement in enumerate(self.problem.placements)
            for cluster in self.problem.clusters
        }

    def refusal(self, held: Held, number: int, source: str, target: str, count: int) -> str:
        """Why so many replicas of a placement cannot move now; empty if they can."""
        placement, start = self.problem.placements[number], self.start()
        by_name = {cluster.name: cluster for cluster in self.problem.clusters}
        bounds = placement.bounds
        if not placement.movable or placement.demand is None or source == target:
            return "does not move"
        if target not in placement.feasible or by_name[target].free is None:
            return "not feasible"
        for name in (source, target):
            if self.goal is Goal.COST and self.cost(number, name) is None:
                return "cost unknown"
        if by_name[source].free is None and self.goal is Goal.BALANCE:
            return "share unknown"
        fewest = min(bounds.get(source, Range()).least, start[number, source])
        if held[number, source] - count < fewest:
            return "too few stay"
        most, reached = bounds.get(target, Range()).most, held[number, target] + count
        if most is not None and reached > max(most, start[number, target]):
            return "too many arrive"
        if reached < bounds.get(target, Range()).least:
            return "too few arrive"
        return self.lacking(held, number, target, count)

    def lacking(self, held: Held, number: int, target: str, count: int) -> str:
        demand = self.problem.placements[number].demand
        assert demand is not None
        wanted = {name: amount.milli for name, amount in demand.requests if amount.milli}
        for resource, each in {**wanted, "pods": 1}.items():
            free = self.free(target, resource)
            moved_in = self.used(held, target, resource) - self.used(self.start(), target, resource)
            if free < 0 or moved_in + each * count > free:
                return f"lacks {resource}"
        return ""

    def free(self, name: str, resource: str) -> int:
        (cluster,) = (each for each in self.problem.clusters if each.name == name)
        assert cluster.free is not None
        if resource == "pods":
            return cluster.free.pods
        amount = cluster.free.resources.get(resource, Amount(0)).milli
        return amount if resource == "cpu" else amount // 1000 * 1000

    def used(self, held: Held, name: str, resource: str) -> int:
        total = 0
        for number, placement in enumerate(self.problem.placements):
            requests = dict(placement.demand.requests) if placement.demand else {}
            each = 1 if resource == "pods" else requests.get(resource, Amount(0)).milli
            total += each * held[number, name]
        return total

    def cost(self, number: int, name: str) -> int | None:
        (cluster,) = (each for each in self.problem.clusters if each.name == name)
        return replica_cost(cluster.price, self.problem.placements[number].demand)

    def value(self, held: Held) -> tuple[int, int]:
        """The cost; or the largest share and the sum of squares."""
        if self.goal is Goal.COST:
            return sum(count * (self.cost(*cell) or 0) for cell, count in held.items()), 0
        shares = [self.share(held, each.name) for each in self.problem.clusters if each.free]
        return max(shares, default=0), sum(share * share for share in shares)

    def share(self, held: Held, name: str) -> int:
        largest = 0.0
        for resource in ("cpu", "gpu", "pods"):
            free, before = self.free(name, resource), self.used(self.start(), name, resource)
            whole = max(free, 0) + before
            if whole:
                largest = max(largest, self.used(held, name, resource) / whole)
        return round(largest * 1_000_000)

    def steps(self, held: Held, left: int) -> Iterator[dict[tuple[int, str], int]]:
        """Every assignment one move away, if no replica moves twice."""
        start = self.start()
        for (number, source), count in held.items():
            for target in NAMES:
                there = (number, target)
                if count > start[number, source] or held[there] < start[there]:
                    continue
                for moved in range(1, min(count, left) + 1):
                    if not self.refusal(held, number, source, target, moved):
                        changed = {(number, source): count - moved, there: held[there] + moved}
                        yield {**held, **changed}

    def best(self, moves_most: int) -> tuple[int, int]:
        """The best value that can be reached, by trying everything."""
        start = self.start()
        seen, todo, best = {tuple(start.values())}, [(start, moves_most)], self.value(start)
        while todo:
            held, left = todo.pop()
            for after in self.steps(held, left):
                key = tuple(after.values())
                if key not in seen:
                    seen.add(key)
                    best = min(best, self.value(after))
                    moved = sum(max(after[cell] - start[cell], 0) for cell in start)
                    todo.append((after, moves_most - moved))
        return best
