"""Names of clusters, derived from what their contexts are called."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atoll.dialects.karmada.cluster_rules import name_problems
from atoll.members.surveying import derived_name


@pytest.mark.parametrize(
    ("context", "taken", "expected"),
    [
        pytest.param("prod", [], "prod", id="as-it-is"),
        pytest.param("Prod_EU.west", [], "prod-eu-west", id="made-fit"),
        pytest.param("admin@kind", ["admin-kind"], "admin-kind-2", id="taken"),
        pytest.param("arn:aws:eks:eu-1:12:cluster/shop", [], "shop", id="eks"),
        pytest.param("gke_project_europe-west1_shop", [], "shop", id="gke"),
        pytest.param("集群", [], "cluster", id="nothing-left"),
    ],
)
def test_a_cluster_is_called_after_its_context(
    context: str, taken: list[str], expected: str
) -> None:
    assert derived_name(context, taken) == expected


@given(st.lists(st.text(min_size=1, max_size=70), max_size=12))
def test_every_context_gets_a_name_that_a_cluster_may_have_and_no_two_the_same(
    contexts: list[str],
) -> None:
    taken: set[str] = set()
    for context in contexts:
        name = derived_name(context, taken)
        assert not name_problems(name)
        assert name not in taken
        taken.add(name)
