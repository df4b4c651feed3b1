"""Why the nodes of a cluster take less than its report promises, in a few words.

A decision comes in; by cluster, what stands in the way on its nodes goes out. Only where that made
a difference, and not of very many clusters: nodes are looked at one by one for it.
"""

from collections.abc import Mapping

from atoll.model.amount import CPU
from atoll.scheduling.decision import Attempt, Decision
from atoll.scheduling.estimates import OWN_REPORT
from atoll.scheduling.nodes.shortfall import Cause, Shortfall, shortfall
from atoll.scheduling.nodes.view import NODE_VIEW

TOLD_MOST = 8
_GI = 2**30
_BYTES = ("memory", "ephemeral-storage")


def shortages(decision: Decision) -> Mapping[str, str]:
    """What keeps replicas off the nodes of those clusters that report more room than they have."""
    nodes = decision.surroundings.nodes
    reached = [each for each in decision.attempts if each.estimates is not None]
    if nodes is None or not reached or decision.binding.components:
        return {}
    taken = {each.cluster: (each,) for each in decision.surroundings.assumed}
    found = {}
    for name in _short(decision, reached[-1])[:TOLD_MOST]:
        table = nodes.rooms[name].left(taken.get(name, ()))
        found[name] = words(shortfall(table, decision.binding.demand))
    return found


def _short(decision: Decision, attempt: Attempt) -> list[str]:
    """The clusters that would get more if their nodes were not looked at, the shortest first."""
    answers = attempt.estimates.sources if attempt.estimates else {}
    if NODE_VIEW not in answers or attempt.candidates is None:
        return []
    names = decision.fleet.names_of(attempt.shortlist.rows)
    triples = zip(answers[NODE_VIEW].tolist(), answers[OWN_REPORT].tolist(), names, strict=True)
    wanted = decision.binding.replicas
    return [name for has, said, name in sorted(triples) if 0 <= has < min(said, wanted)]


def words(found: Shortfall) -> str:
    """What stands in the way; where it is a resource, how much of it the best node has."""
    if not found.nodes:
        return "it has no nodes"
    told = str(found)
    short = [each for each, _ in (*found.refusing, *found.filling) if each.cause is Cause.RESOURCE]
    if short and not found.replicas:
        resource = short[0].detail
        told += f"; the best node has {_amount(resource, dict(found.best)[resource])} free"
    return told


def _amount(resource: str, amount: int) -> str:
    if resource == CPU:
        return f"{amount / 1000:g} cores"
    if resource in _BYTES:
        return f"{amount / _GI:.1f}Gi {resource}"
    return f"{amount} {resource}"
