"""Kyverno (kyverno.io): policies, which are ready where all their rules are in force."""

from typing import Any

from atoll.dialects.wire import count, flag, part
from atoll.interpreting.aggregating import news, reported
from atoll.interpreting.fields import holds, inner
from atoll.interpreting.operations import Interpretation, Item
from atoll.interpreting.thirdparty.statuses import Tally, picking
from atoll.wire import Object

_RULES = ("validate", "generate", "mutate", "verifyimages")


def _healthy(observed: Object) -> bool:
    """It says itself that it is ready; newer versions say so by a condition."""
    status = inner(observed, "status")
    if status.get("ready") is not None:
        return flag(status, "ready", "status", default=False)
    return holds(status, "status", "Ready", "Succeeded")


def _summed(template: Object, items: tuple[Item, ...]) -> Object | None:
    """Sums of the rules; ready where it is ready in all clusters that say so."""
    if not items:
        return None
    found = list(reported(items))
    status = Tally(last=("autogen",), conditions=True).status({}, items)
    ready = [flag(each, "ready", path, default=False) for path, each in found if "ready" in each]
    counts: dict[str, Any] = dict.fromkeys(_RULES, 0)
    for path, each in found:
        rules = part(each, "rulecount", path) or {}
        for name in _RULES:
            counts[name] += count(rules, name, f"{path}.rulecount")
    return news(template, status | {"rulecount": counts} | ({"ready": all(ready)} if ready else {}))


_POLICY = Interpretation(
    aggregate=_summed,
    reflect=picking("ready", "conditions", "autogen", "rulecount"),
    health=_healthy,
)
KYVERNO = {("kyverno.io/v1", "ClusterPolicy"): _POLICY, ("kyverno.io/v1", "Policy"): _POLICY}
