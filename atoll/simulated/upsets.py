"""What can be done to the nodes of a member on request: filled up, lost, and found again.

Done by writing what a cluster in that state would have written: pods, nodes' conditions and taints.
So it lasts as long as they do, also over a restart.
"""

from atoll.dialects.kubernetes.quantities import written_amounts
from atoll.errors import UsageError
from atoll.model.amount import CPU, MEMORY
from atoll.simulated.hosts import NODES, PODS
from atoll.simulated.keeping import Keeper
from atoll.simulated.nodes import UNREACHABLE, conditions, lost_taints
from atoll.simulated.plans.steps import Change, End, Make, Step
from atoll.wire import Wire

NAMESPACE, FILLER = "kube-system", "filler"


async def fill(keeper: Keeper, share: float) -> None:
    """Have this share of the CPU and memory of every node used; 0 takes our own pods away."""
    if not 0 <= share <= 1:
        raise UsageError(f"a share of a node is between 0 and 1, not {share:g}")
    census, places = keeper.hosts.census, keeper.hosts.places
    ours = [pod for pod in census.within(NAMESPACE) if pod.labels.get("app") == FILLER]
    await keeper.hand.carry_out([End((PODS, pod.key), pod.uid, at_once=True) for pod in ours])
    steps: list[Step] = []
    for name, node in places.nodes.items():
        used = places.used_on(name)
        missing = {
            each: int(node.allocatable.get(each, 0) * share) - used.get(each, 0)
            for each in (CPU, MEMORY)
        }
        missing = {each: amount for each, amount in missing.items() if amount > 0}
        if missing:
            steps.append(Make(PODS, _filler(keeper, name, missing)))
    await keeper.hand.carry_out(steps)


def _filler(keeper: Keeper, node: str, amounts: dict[str, int]) -> Wire:
    requests = written_amounts(amounts)
    container = {"name": FILLER, "image": FILLER, "resources": {"requests": requests}}
    spec = {"containers": [container], "tolerations": [{"operator": "Exists"}]}
    template = {"metadata": {"labels": {"app": FILLER}}, "spec": spec}
    mould = keeper.hosts.moulds.of(template, NAMESPACE)
    return mould.pod(NAMESPACE, f"{FILLER}-{node}", None, nodeName=node)


async def lose_node(keeper: Keeper, name: str) -> None:
    """Let a node be heard of no more: its pods stay as they are, and count as not ready."""
    await _tell(keeper, name, is_heard=False)


async def find_node(keeper: Keeper, name: str) -> None:
    """Let a node be heard of again."""
    await _tell(keeper, name, is_heard=True)


def lost_nodes(keeper: Keeper) -> list[str]:
    """The nodes that are not heard of now."""
    nodes = {name: keeper.stored(NODES, name) or {} for name in keeper.hosts.places.nodes}
    return [name for name, node in nodes.items() if any(map(_is_loss, _taints(node)))]


def is_filled(keeper: Keeper) -> bool:
    """If nodes are filled up on request now."""
    return any(pod.labels.get("app") == FILLER for pod in keeper.hosts.census.within(NAMESPACE))


def _taints(node: Wire) -> list[Wire]:
    return (node.get("spec") or {}).get("taints") or []


def _is_loss(taint: Wire) -> bool:
    return bool(taint["key"] == UNREACHABLE)


async def _tell(keeper: Keeper, name: str, *, is_heard: bool) -> None:
    node, now = keeper.stored(NODES, name), keeper.api.timestamp()
    if node is None:
        known = ", ".join(keeper.hosts.places.nodes) or "none"
        raise UsageError(f'there is no node "{name}"; try: one of {known}')
    kept = [each for each in _taints(node) if not _is_loss(each)]
    parts = {
        "spec": {"taints": kept if is_heard else [*kept, *lost_taints(now)]},
        "status": {**node["status"], "conditions": conditions(now, is_heard=is_heard)},
    }
    await keeper.hand.carry_out([Change((NODES, name), node["metadata"]["uid"], parts)])
