"""What is around a binding, for all who ask where it goes."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st
from placing_world import make_binding

from atoll.control.scheduler.decide.inquiring import ESTIMATOR
from atoll.control.scheduler.decide.ledger import Held, Ledger
from atoll.control.scheduler.decide.surroundings import of_others, surroundings, with_estimates
from atoll.dialects.karmada.objects.resource_bindings import decode
from atoll.dialects.karmada.preemption_notes import GAVE_WAY, Part, written
from atoll.model.action import Ref
from atoll.model.amount import Amount
from atoll.model.demand import Demand
from atoll.scheduling.nodes.view import NodeView

DEMANDS = (None, Demand(requests=(("cpu", Amount(1000)),)), Demand(requests=(("cpu", Amount(5)),)))
HOLDINGS = st.dictionaries(
    st.sampled_from("abc"),
    st.dictionaries(st.sampled_from(DEMANDS), st.integers(1, 9), min_size=1),
)


def counted(assumed) -> dict[tuple[str, Demand | None], int]:
    found = Counter[tuple[str, Demand | None]]()
    for each in assumed:
        for one in each.components:
            found[each.cluster, one.demand] += one.replicas
    return found


@given(st.dictionaries(st.sampled_from("xyz"), HOLDINGS, min_size=1))
def test_what_others_were_given_is_what_is_assumed_without_the_binding_itself(holdings) -> None:
    everyone, others = Ledger[str](), Ledger[str]()
    for key, by_cluster in holdings.items():
        held = {name: Held(amounts, 0.0) for name, amounts in by_cluster.items()}
        everyone.restore(key, held)
        if key != "x":
            others.restore(key, held)
    left = of_others(everyone.assumed(), everyone.held("x"))
    assert counted(left) == counted(others.assumed())


def test_who_gave_way_takes_nothing_back_whatever_estimators_say() -> None:
    part = Part(Ref("v1", "ResourceBinding", "shop", "high"), "u", "a", 2, "d")
    binding = make_binding()
    binding["metadata"]["annotations"] = written(GAVE_WAY, [part])
    around = surroundings(decode(binding), [decode(make_binding(name="near"))], (), NodeView({}))
    told = with_estimates(around, {"a": 7, "b": 8})
    gave, *_ = around.estimates
    assert told.estimates == {gave: {"a": 0}, ESTIMATOR: {"a": 7, "b": 8}}
    assert [each.name for each in told.neighbours] == ["near-deployment"]
