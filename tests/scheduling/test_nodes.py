"""How many replicas fit on nodes: by cases, and against a count node by node."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from node_worlds import (
    GPU,
    claims,
    demands,
    make_demand,
    node_lists,
    nodes,
    plain_claimed,
    plain_fit,
)

from atoll.model.amount import Amount
from atoll.model.demand import Demand, NodeClaim, NodeTerm
from atoll.model.node import Node
from atoll.model.selector import Operator, Requirement
from atoll.model.taint import Effect, Taint, Toleration
from atoll.scheduling.nodes.fitting import fits, fits_by_node
from atoll.scheduling.nodes.table import NodeTable

TEAM = Taint("team", Effect.NO_SCHEDULE, "blue")
IN_A = Requirement("zone", Operator.IN, ("a",))
BLUE = NodeTerm(labels=(Requirement("color", Operator.IN, ("blue",)),))


def make_node(name: str = "one", **facts: object) -> Node:
    roomy = {"allocatable": {"cpu": 4000, "memory": 8 << 30}, "slots": 110}
    return Node(name=name, labels={"zone": "a"}, **(roomy | facts))  # type: ignore[arg-type]


def claiming(**parts: object) -> Demand:
    return make_demand(NodeClaim(**parts), cpu=1000)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("node", "demand", "expected"),
    [
        pytest.param(make_node(), make_demand(cpu=1500), 2, id="cpu-in-thousandths"),
        pytest.param(make_node(), make_demand(cpu=100, memory=3 << 30), 2, id="scarcest-counts"),
        pytest.param(make_node(requested={"cpu": 1001}), make_demand(cpu=1000), 2, id="requested"),
        pytest.param(make_node(requested={"cpu": 9000}), make_demand(cpu=1), 0, id="overcommitted"),
        pytest.param(make_node(), make_demand(cpu=0), 110, id="zero-request-is-none"),
        pytest.param(make_node(slots=3, pods=1), None, 2, id="no-demand-takes-a-slot"),
        pytest.param(make_node(slots=3, pods=5), None, 0, id="more-pods-than-slots"),
        pytest.param(make_node(taints=(TEAM,)), None, 0, id="no-demand-tolerates-nothing"),
        pytest.param(make_node(), make_demand(gpu=1), 0, id="resource-that-no-node-has"),
        pytest.param(make_node(), make_demand(gpu=0, cpu=4000), 1, id="none-of-a-missing-one"),
        pytest.param(
            make_node(allocatable={GPU: 8}), make_demand(gpu=3), 2, id="extended-resource"
        ),
        pytest.param(
            make_node(), Demand((("memory", Amount(1)),)), 110, id="part-of-a-byte-is-a-byte"
        ),
        pytest.param(make_node(), make_demand(cpu=2000, pods=50), 2, id="a-replica-is-one-pod"),
        pytest.param(make_node(taints=(TEAM,)), claiming(), 0, id="untolerated-taint"),
        pytest.param(
            make_node(taints=(Taint("team", Effect.PREFER_NO_SCHEDULE),)),
            claiming(),
            4,
            id="soft-taint-does-not-refuse",
        ),
        pytest.param(
            make_node(taints=(TEAM,)),
            claiming(tolerations=(Toleration("team", "blue"),)),
            4,
            id="tolerated-taint",
        ),
        pytest.param(make_node(unschedulable=True), claiming(), 0, id="cordoned"),
        pytest.param(
            make_node(unschedulable=True),
            claiming(tolerations=(Toleration("node.kubernetes.io/unschedulable", any_value=True),)),
            4,
            id="cordoned-but-tolerated",
        ),
        pytest.param(make_node(), claiming(selector=(("zone", "a"),)), 4, id="selector"),
        pytest.param(make_node(), claiming(selector=(("zone", "b"),)), 0, id="selector-mismatch"),
        pytest.param(make_node(), claiming(selector=(("rack", "1"),)), 0, id="selector-unknown"),
        pytest.param(make_node(), claiming(terms=()), 0, id="affinity-without-terms-means-none"),
        pytest.param(make_node(), claiming(terms=(NodeTerm(),)), 0, id="empty-term-means-none"),
        pytest.param(
            make_node(), claiming(terms=(BLUE, NodeTerm(labels=(IN_A,)))), 4, id="any-term"
        ),
        pytest.param(
            make_node(),
            claiming(
                terms=(NodeTerm((IN_A,), (Requirement("metadata.name", Operator.IN, ("two",)),)),)
            ),
            0,
            id="all-of-a-term",
        ),
        pytest.param(
            make_node(),
            claiming(
                terms=(NodeTerm(fields=(Requirement("metadata.name", Operator.IN, ("one",)),)),)
            ),
            4,
            id="by-name",
        ),
        pytest.param(
            make_node(),
            claiming(terms=(NodeTerm(fields=(Requirement("spec.podCIDR", Operator.IN, ("x",)),)),)),
            0,
            id="a-field-that-nodes-do-not-offer",
        ),
    ],
)
def test_a_node_takes_what_kubernetes_would_put_on_it(
    node: Node, demand: Demand | None, expected: int
) -> None:
    assert fits(NodeTable.of([node]), demand) == expected


@pytest.mark.parametrize(
    ("operator", "values", "expected"),
    [
        pytest.param(Operator.IN, ("1", "x"), ["one"], id="in"),
        pytest.param(Operator.IN, (), [], id="in-nothing"),
        pytest.param(Operator.NOT_IN, ("1", "x"), ["bare", "ten", "word"], id="not-in"),
        pytest.param(Operator.EXISTS, (), ["one", "ten", "word"], id="exists"),
        pytest.param(Operator.NOT_EXISTS, (), ["bare"], id="does-not-exist"),
        pytest.param(Operator.GREATER, ("1",), ["ten"], id="greater-as-numbers"),
        pytest.param(Operator.LESS, ("9",), ["one"], id="less-as-numbers"),
        pytest.param(Operator.LESS, ("nine",), [], id="no-number-to-compare-with"),
        pytest.param(Operator.AT_LEAST, ("1.5",), ["ten"], id="at-least-as-amounts"),
    ],
)
def test_operators_choose_nodes_by_label(
    operator: Operator, values: tuple[str, ...], expected: list[str]
) -> None:
    labels = {"bare": {}, "one": {"size": "1"}, "ten": {"size": "10"}, "word": {"size": "big"}}
    table = NodeTable.of(Node(name=name, labels=has, slots=1) for name, has in labels.items())
    wanted = NodeTerm(labels=(Requirement("size", operator, values),))
    fit = fits_by_node(table, Demand(claim=NodeClaim(terms=(wanted,))))
    assert [table.rows.names[row] for row in fit.nonzero()[0]] == expected


@pytest.mark.parametrize(
    ("operator", "values", "expected"),
    [
        pytest.param(Operator.IN, ("one", "gone"), ["one"], id="in"),
        pytest.param(Operator.NOT_IN, ("one",), ["two"], id="not-in"),
        pytest.param(Operator.EXISTS, (), ["one", "two"], id="exists"),
        pytest.param(Operator.NOT_EXISTS, (), [], id="does-not-exist"),
        pytest.param(Operator.GREATER, ("1",), [], id="names-are-no-numbers"),
    ],
)
def test_operators_choose_nodes_by_name(
    operator: Operator, values: tuple[str, ...], expected: list[str]
) -> None:
    table = NodeTable.of(Node(name=name, slots=1) for name in ("one", "two"))
    wanted = NodeTerm(fields=(Requirement("metadata.name", operator, values),))
    fit = fits_by_node(table, Demand(claim=NodeClaim(terms=(wanted,))))
    assert [table.rows.names[row] for row in fit.nonzero()[0]] == expected


def test_replicas_do_not_use_what_is_free_in_pieces() -> None:
    pieces = [make_node(f"n{number}", allocatable={"cpu": 900}) for number in range(10)]
    assert fits(NodeTable.of(pieces), make_demand(cpu=1000)) == 0


def test_a_count_beyond_32_bits_is_the_most_that_32_bits_hold() -> None:
    huge = [make_node(f"n{number}", slots=2**40) for number in range(3)]
    table = NodeTable.of(huge)
    assert fits_by_node(table, None).tolist() == [2**31 - 1] * 3
    assert fits(table, None) == 2**31 - 1


def test_amounts_beyond_64_bits_count_as_the_most_that_kubernetes_knows() -> None:
    table = NodeTable.of([make_node(allocatable={"memory": 10**30}, requested={"cpu": 10**30})])
    assert fits(table, make_demand(memory=10**29)) == 1
    assert fits(table, make_demand(memory=2**61)) == 3
    assert fits(table, make_demand(cpu=1)) == 0


@given(node_lists, demands)
def test_every_node_takes_as_many_as_can_be_put_there_one_by_one(
    given_nodes: list[Node], demand: Demand | None
) -> None:
    table = NodeTable.of(given_nodes)
    expected = {node.name: plain_fit(node, demand) for node in given_nodes}
    found = dict(zip(table.rows.names, fits_by_node(table, demand).tolist(), strict=True))
    assert found == expected
    # And once more, now that the claim is remembered.
    assert fits(table, demand) == sum(expected.values())


@given(node_lists, claims)
def test_a_claim_means_the_nodes_that_meet_all_of_it(
    given_nodes: list[Node], claim: NodeClaim
) -> None:
    # Nothing else refuses: there is room, and half of the time every taint is tolerated.
    roomy = [replace(node, slots=1, pods=0) for node in given_nodes]
    anything = replace(claim, tolerations=(Toleration(any_value=True),))
    table = NodeTable.of(roomy)
    for each in (claim, anything):
        expected = {node.name for node in roomy if plain_claimed(node, each)}
        fit = fits_by_node(table, Demand(claim=each))
        assert {table.rows.names[row] for row in fit.nonzero()[0]} == expected


@given(node_lists, demands, st.randoms())
def test_the_order_of_nodes_does_not_matter(
    given_nodes: list[Node], demand: Demand | None, chance: object
) -> None:
    shuffled = list(given_nodes)
    chance.shuffle(shuffled)  # type: ignore[attr-defined]
    one, other = NodeTable.of(given_nodes), NodeTable.of(shuffled)
    assert fits_by_node(one, demand).tolist() == fits_by_node(other, demand).tolist()


@given(node_lists, nodes, demands)
def test_one_more_node_never_lowers_the_answer(
    given_nodes: list[Node], node: Node, demand: Demand | None
) -> None:
    table = NodeTable.of(each for each in given_nodes if each.name != node.name)
    assert fits(table.with_nodes([node]), demand) >= fits(table, demand)


def test_what_is_remembered_of_claims_is_bounded() -> None:
    table = NodeTable.of([make_node()])
    for number in range(1000):
        assert fits(table, claiming(selector=(("zone", str(number)),))) == 0
    assert fits(table, claiming(selector=(("zone", "a"),))) == 4
    assert len(table.masks) < 100
