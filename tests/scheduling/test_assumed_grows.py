"""Work that comes on top of work: what is worked out step by step is what all at once would be."""

from dataclasses import replace

from builders import make_cluster
from hypothesis import given
from hypothesis import strategies as st
from node_worlds import demands, node_lists

from atoll.control.scheduler.decide.account import Account
from atoll.model.amount import Amount
from atoll.model.assumed import Assumed, Parts, merged, summed
from atoll.model.cluster import Grade
from atoll.model.demand import Component, Demand
from atoll.scheduling.nodes.table import NodeTable
from atoll.scheduling.nodes.view import NodeRoom
from atoll.scheduling.packing import packed

MODELLED = replace(
    make_cluster("east"),
    grades=(Grade(0, (("cpu", 1000),)), Grade(1, (("cpu", 4000),))),
    nodes_by_grade=(2, 2),
)
some_parts = st.lists(st.builds(Component, st.just(""), st.integers(1, 4), demands), max_size=6)
small = st.builds(lambda cpu: Demand((("cpu", Amount(cpu)),)), st.integers(1, 2500))
few_parts = st.lists(st.builds(Component, st.just(""), st.integers(1, 6), small), max_size=6)


@given(few_parts, st.lists(st.integers(0, 6), max_size=5), small)
def test_a_model_filled_step_by_step_is_as_full_as_one_filled_at_once(
    parts: list[Component], looks: list[int], asked: Demand
) -> None:
    memo: dict[object, object] = {}
    for look in looks:
        count = min(look, len(parts))
        found = packed(MODELLED, (Assumed("east", Parts(parts, count, memo)),))
        wanted = packed(MODELLED, (Assumed("east", tuple(parts[:count])),))
        assert found.fit(asked).tolist() == wanted.fit(asked).tolist()


def test_a_model_of_other_nodes_is_not_taken_for_the_one_that_was_filled() -> None:
    parts = Parts([Component("", 1, Demand((("cpu", Amount(1000)),)))], 1)
    larger = replace(MODELLED, nodes_by_grade=(9, 9))
    for cluster in (MODELLED, larger, MODELLED):
        nodes = packed(cluster, (Assumed("east", parts),))
        assert len(nodes.slots) == sum(cluster.nodes_by_grade)


@given(node_lists, some_parts, st.lists(st.integers(0, 6), max_size=5), demands)
def test_nodes_filled_step_by_step_are_as_full_as_nodes_filled_at_once(
    nodes: list[object], parts: list[Component], looks: list[int], asked: Demand
) -> None:
    table = NodeTable.of(nodes)  # type: ignore[arg-type]
    room = NodeRoom(table)
    for look in looks:
        count = min(look, len(parts))
        found = room.answer(1, asked, (Assumed("east", Parts(parts, count)),))
        wanted = NodeRoom(table).answer(1, asked, (Assumed("east", tuple(parts[:count])),))
        assert found == wanted


@given(
    st.lists(st.tuples(st.integers(0, 2), st.integers(-3, 3)), max_size=12),
    st.lists(st.booleans(), min_size=12, max_size=12),
)
def test_an_account_tells_the_sum_of_its_changes_and_what_it_told_stays(
    changes: list[tuple[int, int]], looks: list[bool]
) -> None:
    account, has = Account[str](), [0, 0, 0]
    told: list[tuple[Assumed, dict[Demand | None, int]]] = []
    kinds = [Demand((("cpu", Amount(cpu)),)) for cpu in (1, 20, 300)]
    for (kind, more), is_looked_at in zip(changes, looks, strict=False):
        more = max(more, -has[kind])
        has[kind] += more
        account.add({kinds[kind]: more})
        if is_looked_at:
            wanted = {kinds[each]: count for each, count in enumerate(has) if count}
            told.append((account.assumed("east"), wanted))
    for assumed, expected in told:
        together = {each.demand: each.replicas for each in merged(assumed.components)}
        assert together == expected
        plain = summed(tuple(assumed.components))
        assert assumed.sums.pods == plain.pods
        assert {k: v for k, v in assumed.sums.units.items() if v} == plain.units
        assert {k: v for k, v in assumed.sums.written.items() if v} == plain.written


def test_a_long_list_of_few_demands_is_told_shortly() -> None:
    account = Account[str]()
    demand = Demand((("cpu", Amount(1)),))
    for _ in range(500):
        account.add({demand: 1})
        account.assumed("east")
    assert len(account.assumed("east").components) < 100
    assert account.assumed("east").sums.pods == 500
