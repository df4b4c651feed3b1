"""When is a binding decided anew?"""

from dataclasses import replace

import pytest
from builders import make_binding, make_cluster

from atoll.model.affinity import Affinity, Term
from atoll.model.binding import Binding
from atoll.model.intent import Available, Duplicated, Fill, Intent, Order, Pick
from atoll.model.taint import Toleration
from atoll.scheduling.features import Features
from atoll.scheduling.fleet import Fleet
from atoll.scheduling.trigger import Trigger, trigger

FLEET = Fleet.of([make_cluster("a"), make_cluster("b"), make_cluster("leaving", deleting=True)])
DIVIDED = Intent(division=Available())
NEAR, FAR = Term("near", Affinity(names=("a",))), Term("far", Affinity(names=("b",)))
BY_TERMS = Intent(terms=(NEAR, FAR), division=Available())
SETTLED = make_binding(3, intent=DIVIDED, on={"a": 1, "b": 2})


@pytest.mark.parametrize(
    ("binding", "applied", "expected"),
    [
        pytest.param(SETTLED, None, Trigger.PLACEMENT_CHANGED, id="never-decided"),
        pytest.param(SETTLED, DIVIDED, Trigger.NONE, id="nothing-changed"),
        pytest.param(
            SETTLED,
            replace(DIVIDED, tolerations=(Toleration("x"),)),
            Trigger.PLACEMENT_CHANGED,
            id="tolerations-changed",
        ),
        pytest.param(
            SETTLED,
            Intent(terms=(Term("", Affinity(names=("a",))),), division=Available()),
            Trigger.PLACEMENT_CHANGED,
            id="affinity-changed",
        ),
        pytest.param(
            make_binding(3, intent=BY_TERMS, on={"b": 3}, observed_term="far"),
            replace(BY_TERMS, terms=(FAR,)),
            Trigger.NONE,
            id="a-term-that-is-not-observed-was-added",
        ),
        pytest.param(
            make_binding(3, intent=BY_TERMS, on={"b": 3}, observed_term="far"),
            replace(BY_TERMS, terms=(NEAR, Term("far", Affinity(names=("x",))))),
            Trigger.PLACEMENT_CHANGED,
            id="the-observed-term-changed",
        ),
        pytest.param(
            make_binding(3, intent=BY_TERMS, on={"b": 3}),
            replace(BY_TERMS, terms=(NEAR,)),
            Trigger.PLACEMENT_CHANGED,
            id="terms-changed-and-none-is-observed",
        ),
        pytest.param(replace(SETTLED, replicas=4), DIVIDED, Trigger.REPLICAS_CHANGED, id="scaled"),
        pytest.param(
            make_binding(3, intent=Intent(division=Duplicated()), on={"a": 2}),
            Intent(division=Duplicated()),
            Trigger.REPLICAS_CHANGED,
            id="a-copy-has-other-replicas",
        ),
        pytest.param(
            make_binding(3, intent=Intent(), on={"a": 2}),
            Intent(),
            Trigger.DUPLICATED,
            id="without-a-strategy-replicas-are-not-looked-at",
        ),
        pytest.param(
            replace(SETTLED, fresh=True), DIVIDED, Trigger.RESCHEDULE_TRIGGERED, id="asked-for"
        ),
        pytest.param(
            make_binding(0, demand=None, intent=DIVIDED),
            DIVIDED,
            Trigger.DUPLICATED,
            id="what-has-no-replicas-is-always-looked-at",
        ),
        pytest.param(
            make_binding(3, intent=DIVIDED, on={"a": 1, "leaving": 2}),
            DIVIDED,
            Trigger.TERMINATING_TARGET,
            id="a-target-is-being-deleted",
        ),
        pytest.param(
            make_binding(3, intent=DIVIDED, on={"a": 1, "ghost": 2}),
            DIVIDED,
            Trigger.NONE,
            id="a-target-that-is-gone-was-seen-going",
        ),
    ],
)
def test_the_first_reason_that_holds_counts(
    binding: Binding, applied: Intent | None, expected: Trigger
) -> None:
    assert trigger(binding, applied, FLEET) is expected


@pytest.mark.parametrize(
    ("intent", "expected"),
    [
        pytest.param(Intent(selection=Pick(order=Order.PRICE)), Trigger.NONE, id="sticky"),
        pytest.param(
            Intent(selection=Pick(order=Order.PRICE, sticky=False)),
            Trigger.FOLLOWS_PRICE,
            id="selected-anew",
        ),
        pytest.param(
            Intent(selection=Pick(order=Order.FREE, sticky=False)), Trigger.NONE, id="by-room"
        ),
        pytest.param(Intent(division=Fill(order=Order.PRICE)), Trigger.NONE, id="kept-running"),
        pytest.param(
            Intent(division=Fill(order=Order.PRICE, keep=False)),
            Trigger.FOLLOWS_PRICE,
            id="filled-anew",
        ),
    ],
)
def test_what_is_to_be_cheap_and_need_not_stay_follows_the_price(
    intent: Intent, expected: Trigger
) -> None:
    divided = intent if isinstance(intent.division, Fill) else replace(intent, division=Available())
    settled = make_binding(3, intent=divided, on={"a": 1, "b": 2})
    assert trigger(settled, divided, FLEET) is expected


def test_components_that_run_nowhere_are_decided_where_sets_are_scheduled() -> None:
    components = make_binding(0, intent=DIVIDED, demand=None, components=(object(),))
    features = Features(MultiplePodTemplatesScheduling=True)
    assert trigger(components, DIVIDED, FLEET, features) is Trigger.REPLICAS_CHANGED
    assert trigger(components, DIVIDED, FLEET) is Trigger.NONE
