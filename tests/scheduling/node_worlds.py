"""Nodes and demands for tests of node capacity, and the plain answer: node by node, by the rules.

The plain answer is written from Kubernetes' rules alone and shares no code with what it checks.
"""

from collections.abc import Iterable, Mapping

from hypothesis import strategies as st

from atoll.model.amount import Amount
from atoll.model.demand import Component, Demand, NodeClaim, NodeTerm
from atoll.model.node import Node
from atoll.model.selector import Operator, Requirement
from atoll.model.taint import Effect, Taint, Toleration

GPU = "example.com/gpu"
KEYS, VALUES = ("zone", "disk", "generation"), ("a", "b", "1", "2", "10")
NAMES = tuple(f"node-{number}" for number in range(5))
RESOURCES = ("cpu", "memory", GPU)
COMPARING = (Operator.GREATER, Operator.LESS)
OPERATORS = (Operator.IN, Operator.NOT_IN, Operator.EXISTS, Operator.NOT_EXISTS, *COMPARING)
"""What Kubernetes can ask of a node's labels."""


def units(resource: str, number: int) -> Amount:
    return Amount(number if resource == "cpu" else number * 1000)


def make_demand(claim: NodeClaim | None = None, **requests: int) -> Demand:
    """Requests in the unit each resource is counted in; `gpu` stands for an extended resource."""
    named = {GPU if name == "gpu" else name: number for name, number in requests.items()}
    return Demand(
        requests=tuple((name, units(name, named[name])) for name in sorted(named)),
        claim=claim or NodeClaim(),
    )


taints = st.builds(
    Taint,
    key=st.sampled_from(("team", "broken")),
    effect=st.sampled_from(Effect),
    value=st.sampled_from(("", "x")),
)
tolerations = st.builds(
    Toleration,
    key=st.sampled_from(("", "team", "broken", "node.kubernetes.io/unschedulable")),
    value=st.sampled_from(("", "x")),
    effect=st.sampled_from((None, *Effect)),
    any_value=st.booleans(),
)
amounts = st.fixed_dictionaries({}, optional={name: st.integers(0, 12) for name in RESOURCES})
nodes = st.builds(
    Node,
    name=st.sampled_from(NAMES),
    labels=st.dictionaries(st.sampled_from(KEYS), st.sampled_from(VALUES)),
    taints=st.lists(taints, max_size=2).map(tuple),
    unschedulable=st.sampled_from((False, False, True)),
    allocatable=amounts,
    requested=st.one_of(st.just({}), amounts),
    slots=st.integers(0, 9),
    pods=st.integers(0, 4),
)
node_lists = st.lists(nodes, max_size=4, unique_by=lambda node: node.name)


@st.composite
def requirements(draw: st.DrawFn, *, key: str | None = None) -> Requirement:
    operator = draw(st.sampled_from(OPERATORS))
    values = VALUES if key is None else NAMES
    least = 1 if operator in COMPARING else 0
    return Requirement(
        key or draw(st.sampled_from((*KEYS, "nobody-has-this"))),
        operator,
        tuple(draw(st.lists(st.sampled_from(values), min_size=least, max_size=2))),
    )


terms = st.builds(
    NodeTerm,
    labels=st.lists(requirements(), max_size=2).map(tuple),
    fields=st.lists(requirements(key="metadata.name"), max_size=1).map(tuple),
)
claims = st.builds(
    NodeClaim,
    selector=st.dictionaries(st.sampled_from(KEYS), st.sampled_from(VALUES), max_size=1).map(
        lambda chosen: tuple(chosen.items())
    ),
    terms=st.one_of(st.none(), st.lists(terms, max_size=2).map(tuple)),
    tolerations=st.lists(tolerations, max_size=3).map(tuple),
)
some_demands = st.builds(
    Demand,
    requests=st.fixed_dictionaries(
        {}, optional={name: st.integers(0, 5) for name in ("cpu", GPU, "memory", "pods")}
    ).map(lambda asked: tuple((name, units(name, asked[name])) for name in sorted(asked))),
    claim=st.one_of(st.just(NodeClaim()), claims),
)
demands = st.one_of(st.none(), some_demands)
components = st.lists(
    st.builds(Component, name=st.just("part"), replicas=st.integers(0, 4), demand=demands),
    min_size=1,
    max_size=3,
)


def plain_requirement(requirement: Requirement, facts: Mapping[str, str]) -> bool:
    has, value = requirement.key in facts, facts.get(requirement.key, "")
    match requirement.operator:
        case Operator.IN:
            return has and value in requirement.values
        case Operator.NOT_IN:
            return not has or value not in requirement.values
        case Operator.EXISTS:
            return has
        case Operator.NOT_EXISTS:
            return not has
    bound = requirement.values[0]
    if not (value.isdigit() and bound.isdigit()):
        return False
    if requirement.operator is Operator.GREATER:
        return int(value) > int(bound)
    return int(value) < int(bound)


def plain_tolerated(node: Node, tolerations: Iterable[Toleration]) -> bool:
    against = [each for each in node.taints if each.effect != "PreferNoSchedule"]
    if node.unschedulable:
        against.append(Taint("node.kubernetes.io/unschedulable", Effect.NO_SCHEDULE))
    return all(
        any(
            each.key in ("", taint.key)
            and each.effect in (None, taint.effect)
            and (each.any_value or each.value == taint.value)
            for each in tolerations
        )
        for taint in against
    )


def plain_claimed(node: Node, claim: NodeClaim) -> bool:
    if not plain_tolerated(node, claim.tolerations):
        return False
    if any(node.labels.get(key) != value for key, value in claim.selector):
        return False
    if claim.terms is None:
        return True
    for term in claim.terms:
        by_label = [plain_requirement(each, node.labels) for each in term.labels]
        by_field = [plain_requirement(each, {"metadata.name": node.name}) for each in term.fields]
        if (by_label or by_field) and all(by_label) and all(by_field):
            return True
    return False


def plain_fit(node: Node, demand: Demand | None) -> int:
    """How many replicas one node takes, put there one by one."""
    demand = demand or Demand()
    if not plain_claimed(node, demand.claim):
        return 0
    free = {name: node.allocatable.get(name, 0) - node.requested.get(name, 0) for name in RESOURCES}
    count = 0
    while node.pods + count < node.slots:
        for name, amount in demand.requests:
            asked = amount.milli if name == "cpu" else amount.milli // 1000
            if name != "pods" and asked:
                free[name] -= asked
                if free[name] < 0:
                    return count
        count += 1
    return count
