"""Policies and templates find each other without being held against all there are."""

import asyncio
import cProfile
import pstats
from typing import Any

import pytest
from detection_world import CLAIMS, World, make_policy, make_template, read
from hypothesis import given
from hypothesis import strategies as st
from sites import POLICY, until
from test_policies_whole import arrives, policy, settings, where
from whole import Whole, whole

from atoll.control.detector.decide.choosing import choose
from atoll.model.action import Ref
from atoll.model.policy import Policy
from atoll.model.policy_index import PolicyIndex
from atoll.model.resource_selector import ResourceSelector

MANY = 60
LABELS = [{}, {"tier": "front"}, {"tier": "back"}, {"tier": "front", "app": "web"}]
SELECTORS: list[dict[str, Any]] = [
    {},
    {"name": "web"},
    {"name": "api"},
    {"kind": "StatefulSet"},
    {"namespace": "shop"},
    {"namespace": "bank", "name": "web"},
    {"labelSelector": {}},
    {"labelSelector": {"matchLabels": {"tier": "front"}}},
    {"labelSelector": {"matchLabels": {"tier": "front", "app": "web"}}},
    {"labelSelector": {"matchExpressions": [{"key": "app", "operator": "Exists"}]}},
    {"labelSelector": {"matchExpressions": [{"key": "app", "operator": "DoesNotExist"}]}},
    {
        "labelSelector": {
            "matchExpressions": [{"key": "tier", "operator": "In", "values": ["back", "none"]}]
        }
    },
    {
        "labelSelector": {
            "matchLabels": {"app": "web"},
            "matchExpressions": [{"key": "tier", "operator": "NotIn", "values": ["back"]}],
        }
    },
    {"labelSelector": {"matchExpressions": [{"key": "tier", "operator": "In", "values": []}]}},
]


@st.composite
def policies(draw: st.DrawFn, name: str) -> dict[str, Any]:
    return make_policy(
        name,
        *draw(st.lists(st.sampled_from(SELECTORS), min_size=1, max_size=3)),
        namespace=draw(st.sampled_from(["shop", "bank", ""])),
        priority=draw(st.integers(0, 2)),
        preemption=draw(st.sampled_from(["Always", "Never"])),
    )


templates = st.builds(
    lambda name, namespace, labels: make_template(name, namespace, **labels),
    st.sampled_from(["web", "api"]),
    st.sampled_from(["shop", "bank"]),
    st.sampled_from(LABELS),
)
histories = st.lists(
    st.sampled_from("pqrs").flatmap(
        lambda name: st.one_of(st.tuples(st.just(name), policies(name)), st.just((name, None)))
    ),
    max_size=12,
)


def after(history: list[tuple[str, dict[str, Any] | None]]) -> tuple[PolicyIndex, list[Policy]]:
    """The index after policies came, changed and went, and the policies that are there."""
    index, there = PolicyIndex(), dict[str, Policy]()
    for name, wire in history:
        before, wanted = there.pop(name, None), None if wire is None else read(wire)
        if before is not None and (wanted is None or before.ref != wanted.ref):
            index.changed(before, None)
            before = None
        if wanted is not None:
            index.changed(before, wanted)
            there[name] = wanted
    return index, list(there.values())


@given(histories, templates, st.sampled_from(["", "p", "q"]), st.booleans())
def test_no_policy_that_selects_a_template_is_overlooked(
    history, template, holder, preemption
) -> None:
    index, there = after(history)
    found = index.of_template(template)
    meaning = [each for each in there if each.closeness(template)]
    assert all(each in found for each in meaning)
    assert len({each.ref for each in found}) == len(found)
    held = World(template, *[each.wire for each in there if each.meta.name == holder])
    held = held.settle().objects[Ref.of(template)]
    claim = CLAIMS.of(held)
    assert choose(held, found, claim, preemption=preemption) == choose(
        held, there, claim, preemption=preemption
    )


@pytest.mark.parametrize(
    "selector",
    [
        pytest.param(lambda nth: {"name": f"app-{nth}"}, id="by name"),
        pytest.param(
            lambda nth: {"labelSelector": {"matchLabels": {"of": "shop", "app": f"app-{nth}"}}},
            id="by labels of which they share one",
        ),
        pytest.param(
            lambda nth: {
                "labelSelector": {
                    "matchExpressions": [
                        {"key": "app", "operator": "In", "values": [f"app-{nth}", f"x-{nth}"]}
                    ]
                }
            },
            id="by a choice of labels",
        ),
    ],
)
@pytest.mark.parametrize("namespace", ["shop", ""], ids=["of-a-namespace", "cluster-wide"])
def test_of_many_policies_few_are_looked_at_for_a_template(selector, namespace) -> None:
    index = PolicyIndex()
    for nth in range(MANY):
        index.changed(None, read(make_policy(f"p-{nth}", selector(nth), namespace=namespace)))
    found = [
        index.of_template(make_template(f"app-{nth}", of="shop", app=f"app-{nth}"))
        for nth in range(MANY)
    ]
    assert sum(map(len, found)) <= 2 * MANY


def comparisons(profile: cProfile.Profile) -> int:
    """How often a selector was held against an object."""
    profile.create_stats()
    code = ResourceSelector.closeness.__code__
    counted = pstats.Stats(profile).stats  # type: ignore[attr-defined]
    here = (code.co_filename, code.co_firstlineno, code.co_name)
    return int(counted[here][1]) if here in counted else 0


def test_each_template_with_a_policy_of_its_own_is_compared_with_that_one_only() -> None:
    async def story(it: Whole) -> None:
        profile = cProfile.Profile()
        with profile:
            for nth in range(MANY):
                await it.create(policy(f"p{nth}", "m1", {"name": f"c{nth}"}))
                await it.create(settings(f"c{nth}"))
            await until(lambda: all(where(it, f"c{nth}") == ["m1"] for nth in range(MANY)))
        # Some rounds of the detector each, and the policy's own look for what it selects.
        assert comparisons(profile) <= 12 * MANY

    _played(story)


def test_a_policy_by_labels_looks_at_those_who_have_them_and_those_it_lets_go_of() -> None:
    async def story(it: Whole) -> None:
        everything = await it.create(policy("all", "m1"))
        for nth in range(MANY):
            await it.create(settings(f"c{nth}", of="shop", app=f"app-{nth}"))
        await until(lambda: all(where(it, f"c{nth}") == ["m1"] for nth in range(MANY)))
        await it.delete(everything)
        await until(
            lambda: not it.hub.plane.find(Ref(POLICY, "PropagationPolicy", "default", "all"))
        )
        await arrives(it, "later", "m3")  # all that was to be looked at before has been
        profile = cProfile.Profile()
        with profile:
            selector = {"labelSelector": {"matchLabels": {"of": "shop", "app": "app-7"}}}
            await it.create(policy("one", "m2", selector))
            await until(lambda: where(it, "c7") == ["m2"])
        assert comparisons(profile) <= 12
        assert where(it, "c8") == ["m1"]

    _played(story)


def _played(story) -> None:
    async def play() -> None:
        async with whole(["m1", "m2", "m3"]) as it:
            await story(it)

    asyncio.run(play())
