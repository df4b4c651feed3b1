"""Which clusters an affinity means: every form of selector, and columns against a plain loop."""

import pytest
from builders import clusters, make_cluster
from hypothesis import given
from hypothesis import strategies as st

from atoll.model.affinity import Affinity
from atoll.model.cluster import Cluster
from atoll.model.selector import NOTHING, Operator, Requirement, Selector
from atoll.scheduling.fleet import Fleet
from atoll.scheduling.matching import matching

FLEET = Fleet.of(
    [
        make_cluster(
            "big",
            labels={"env": "prod", "size": "10"},
            properties={"nodes": "40", "cost": "0.5", "memory": "1Ti"},
            provider="aws",
            region="east",
            zones=("e1", "e2"),
            sets=frozenset({"blue"}),
            holds=frozenset({"cpu > 3"}),
        ),
        make_cluster(
            "small",
            labels={"env": "test"},
            properties={"nodes": "4", "cost": "1500m", "memory": "64Gi"},
            provider="gcp",
            region="west",
            zones=("w1",),
        ),
        make_cluster("bare"),
    ]
)


def meant(affinity: Affinity, fleet: Fleet = FLEET) -> set[str]:
    mask = matching(affinity, fleet.traits)
    return {cluster.name for cluster, meets in zip(fleet.clusters, mask, strict=True) if meets}


def asks(key: str, operator: Operator, *values: str) -> tuple[Requirement, ...]:
    return (Requirement(key, operator, values),)


@pytest.mark.parametrize(
    ("affinity", "expected"),
    [
        pytest.param(Affinity(), {"big", "small", "bare"}, id="nothing-said-means-all"),
        pytest.param(Affinity(names=("big", "ghost")), {"big"}, id="by-name"),
        pytest.param(Affinity(exclude=("big",)), {"small", "bare"}, id="all-but"),
        pytest.param(
            Affinity(names=("big",), exclude=("big",)), set(), id="excluded-wins-over-named"
        ),
        pytest.param(Affinity(labels=NOTHING), set(), id="an-invalid-selector-means-nobody"),
        pytest.param(
            Affinity(labels=Selector(asks("env", Operator.NOT_IN, "test"))),
            {"big", "bare"},
            id="not-in-takes-those-without-the-label",
        ),
        pytest.param(
            Affinity(labels=Selector(asks("size", Operator.GREATER, "9"))), {"big"}, id="greater"
        ),
        pytest.param(
            Affinity(labels=Selector(asks("nobody", Operator.NOT_EXISTS))),
            {"big", "small", "bare"},
            id="a-label-nobody-has",
        ),
        pytest.param(
            Affinity(provider=asks("provider", Operator.NOT_IN, "aws")),
            {"small", "bare"},
            id="provider-not-in-takes-those-without",
        ),
        pytest.param(Affinity(region=asks("region", Operator.EXISTS)), {"big", "small"}, id="has"),
        pytest.param(
            Affinity(zones=asks("zone", Operator.IN, "e2", "x")), {"big"}, id="any-zone-in"
        ),
        pytest.param(
            Affinity(zones=asks("zone", Operator.NOT_IN, "e2")), {"small", "bare"}, id="no-zone-in"
        ),
        pytest.param(Affinity(zones=asks("zone", Operator.NOT_EXISTS)), {"bare"}, id="no-zones"),
        pytest.param(Affinity(sets=("blue", "red")), {"big"}, id="cluster-sets"),
        pytest.param(Affinity(expressions=("cpu > 3",)), {"big"}, id="expressions"),
        pytest.param(
            Affinity(expressions=("cpu > 3", "cpu > 9")), set(), id="all-expressions-must-hold"
        ),
        pytest.param(
            Affinity(alternatives=(Affinity(names=("big",)), Affinity(names=("bare",)))),
            {"big", "bare"},
            id="one-of-several",
        ),
        pytest.param(
            Affinity(names=("bare",), alternatives=(Affinity(names=("big",)),)),
            set(),
            id="alternatives-narrow-what-else-is-asked",
        ),
        pytest.param(
            Affinity(properties=asks("cost", Operator.BELOW, "1")), {"big"}, id="less-than-a-number"
        ),
        pytest.param(
            Affinity(properties=asks("memory", Operator.AT_LEAST, "65536Mi")),
            {"big", "small"},
            id="amounts-are-compared-as-amounts",
        ),
        pytest.param(
            Affinity(properties=asks("cost", Operator.AT_MOST, "1.5")),
            {"big", "small"},
            id="at-most",
        ),
        pytest.param(
            Affinity(properties=asks("nodes", Operator.ABOVE, "4")), {"big"}, id="more-than"
        ),
        pytest.param(
            Affinity(properties=asks("nodes", Operator.EQUAL, "4.0")), {"small"}, id="equal"
        ),
        pytest.param(
            Affinity(properties=asks("nodes", Operator.NOT_EQUAL, "4")),
            {"big"},
            id="not-equal-needs-a-number-to-differ",
        ),
        pytest.param(
            Affinity(properties=asks("nodes", Operator.IN, "4", "5")), {"small"}, id="property-in"
        ),
    ],
)
def test_every_form_of_selector_means_what_it_says(affinity: Affinity, expected: set[str]) -> None:
    assert meant(affinity) == expected


@given(
    clusters(),
    st.sampled_from(["env", "tier"]),
    st.sampled_from([Operator.IN, Operator.NOT_IN, Operator.EXISTS, Operator.NOT_EXISTS]),
)
def test_a_mask_equals_asking_cluster_by_cluster(
    fleet: list[Cluster], key: str, operator: Operator
) -> None:
    values = ("a",) if operator in (Operator.IN, Operator.NOT_IN) else ()
    selector = Selector((Requirement(key, operator, values),))
    expected = {cluster.name for cluster in fleet if selector.matches(cluster.labels)}
    assert meant(Affinity(labels=selector), Fleet.of(fleet)) == expected
