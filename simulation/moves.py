"""A move sends before it withdraws: a Work goes when those of all targets have been applied.

Commits of bindings and Works come in. Whoever plans a move may see the plane late, so that it is
enough if some decision without that cluster had arrived everywhere.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from atoll.wire import Wire


@dataclass
class _Decision:
    """The clusters something was to go to, and whether all of them ever had it."""

    clusters: frozenset[str]
    arrived: bool = False


class Moves:
    """Follows where each template is to go; `work_of` gives the Work of a cluster, if any."""

    def __init__(self, work_of: Callable[[str, str], Wire | None]) -> None:
        self._work_of = work_of
        self._decisions: dict[str, list[_Decision]] = defaultdict(list)

    def decided(self, binding: str, clusters: Iterable[str]) -> None:
        """A binding says so from now on."""
        made, wanted = self._decisions[binding], frozenset(clusters)
        # That nothing was decided yet is no decision to be nowhere.
        if wanted != (made[-1].clusters if made else frozenset()):
            made.append(_Decision(wanted))
        self.reported(binding)

    def reported(self, binding: str) -> None:
        """A Work of a binding has something new to say."""
        for last in self._decisions[binding][-1:]:
            works = [self._work_of(binding, each) for each in sorted(last.clusters)]
            last.arrived |= all(work is not None and _is_applied(work) for work in works)

    def check(self, binding: str, cluster: str) -> None:
        """A cluster loses its Work, and is not meant to have it."""
        made = [each for each in self._decisions[binding] if cluster not in each.clusters]
        assert any(each.arrived for each in made), (
            f"{binding} is withdrawn from {cluster} before {sorted(made[-1].clusters)} have it"
        )


def _is_applied(work: Wire) -> bool:
    known = (work.get("status") or {}).get("conditions") or ()
    return any((each["type"], each["status"]) == ("Applied", "True") for each in known)
