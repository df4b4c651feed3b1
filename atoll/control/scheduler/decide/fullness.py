"""How full clusters are, of CPU or of memory, whichever is scarcer: by their reports and by moves.

Clusters come in with what they offer, what is free, and what is on its way to them; shares go out,
in thousandths, so that what makes no difference to anybody counts as none.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from atoll.model.amount import CPU, MEMORY, Resources
from atoll.model.assumed import Assumed
from atoll.model.binding import Binding, Target
from atoll.scheduling.fleet import Fleet
from atoll.scheduling.units import running

WHOLE = 1000
_Amounts = Mapping[str, int]


class Level(NamedTuple):
    """How full the fullest cluster is, and how uneven all are; what is lower is more even."""

    highest: int
    squares: int
    fullest: str = ""


@dataclass(frozen=True, slots=True)
class Fullness:
    """By cluster that reports it, what is offered and what is taken."""

    offered: Mapping[str, _Amounts]
    taken: Mapping[str, _Amounts]

    @classmethod
    def of(
        cls, fleet: Fleet, offers: Mapping[str, Resources], assumed: Iterable[Assumed]
    ) -> "Fullness":
        """What is taken by clusters' own reports, and what is on its way and not reported yet."""
        offered, taken = dict[str, _Amounts](), dict[str, _Amounts]()
        for each in fleet.clusters:
            there = _counted(offers.get(each.name, {}))
            if each.free is not None and there:
                free = _counted(each.free.resources)
                offered[each.name] = there
                taken[each.name] = {name: there[name] - free.get(name, 0) for name in there}
        found = cls(offered, taken)
        for one in assumed:
            found = found._with(one.cluster, one.sums.units, 1)
        return found

    def moved(
        self, binding: Binding, before: Iterable[Target], after: Iterable[Target]
    ) -> "Fullness":
        """The same once a workload runs there, and no longer where it did."""
        found = self
        for targets, sign in ((before, -1), (after, 1)):
            for name, replicas in targets:
                for demand, count in running(binding, replicas):
                    needs = demand.requests if demand is not None else ()
                    each = {one: amount.in_its_unit(one) for one, amount in needs}
                    found = found._with(name, each, sign * count)
        return found

    @property
    def level(self) -> Level:
        shares = {name: self._share(name) for name in self.offered}
        fullest = max(shares, key=lambda name: (shares[name], name), default="")
        squares = sum(each * each for each in shares.values())
        return Level(shares.get(fullest, 0), squares, fullest)

    def _share(self, cluster: str) -> int:
        there, taken = self.offered[cluster], self.taken[cluster]
        return max(taken[name] * WHOLE // there[name] for name in there)

    def _with(self, cluster: str, amounts: _Amounts, times: int) -> "Fullness":
        if cluster not in self.taken:
            return self
        before = self.taken[cluster]
        after = {name: each + times * amounts.get(name, 0) for name, each in before.items()}
        return Fullness(self.offered, {**self.taken, cluster: after})


def _counted(resources: Resources) -> dict[str, int]:
    found = {name: resources[name].in_its_unit(name) for name in (CPU, MEMORY) if name in resources}
    return {name: each for name, each in found.items() if each > 0}
