"""Which override policies apply to an object in a cluster, in which order, and who wins."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rendering_world import CLUSTERS, TEXTS, known, make_policy, make_template, sets

from atoll.control.works.decide.overriding.overriding import listed, override
from atoll.control.works.decide.overriding.selecting import Unsuitable
from atoll.control.works.decide.overriding.targeting import matches
from atoll.dialects import json
from atoll.model.affinity import Affinity
from atoll.model.cluster import Cluster
from atoll.model.selector import Operator, Requirement, Selector
from atoll.scheduling.matching import matching
from atoll.scheduling.traits import Traits

KIND = {"apiVersion": "apps/v1", "kind": "Deployment"}
BY_NAME = [{**KIND, "name": "web"}]
BY_LABEL = [{**KIND, "labelSelector": {"matchLabels": {"app": "web"}}}]
WINNER = "/metadata/annotations"


def overridden(template, cluster, *policies):
    return override(template, CLUSTERS[cluster], known(policies), TEXTS)


def winner(template, *policies, cluster="a"):
    return overridden(template, cluster, *policies).manifest["metadata"].get("annotations")


@pytest.mark.parametrize(
    ("selectors", "expected"),
    [
        pytest.param(None, True, id="no-selectors-mean-everything"),
        pytest.param([KIND], True, id="by-kind"),
        pytest.param([{"apiVersion": "apps/v1", "kind": "StatefulSet"}], False, id="another-kind"),
        pytest.param([{"apiVersion": "v1", "kind": "Deployment"}], False, id="another-version"),
        pytest.param(BY_NAME, True, id="by-name"),
        pytest.param([{**KIND, "name": "api"}], False, id="another-name"),
        pytest.param(BY_LABEL, True, id="by-label"),
        pytest.param([{**BY_LABEL[0], "name": "api"}], False, id="a-name-outdoes-labels"),
        pytest.param([{**KIND, "namespace": "bank"}], False, id="another-namespace"),
        pytest.param([{**KIND, "name": "api"}, KIND], True, id="any-of-several"),
    ],
)
def test_a_policy_selects_objects(selectors, expected):
    template = make_template(labels={"app": "web"})
    policy = make_policy("p", sets(WINNER, {"by": "p"}), selectors=selectors)
    assert winner(template, policy) == ({"by": "p"} if expected else None)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        pytest.param(("z", None), ("a", BY_LABEL), id="labels-over-everything"),
        pytest.param(("z", [KIND]), ("a", BY_LABEL), id="labels-over-kind"),
        pytest.param(("z", BY_LABEL), ("a", BY_NAME), id="name-over-labels"),
        pytest.param(("a", [KIND]), ("b", None), id="then-by-name"),
        pytest.param(("a", BY_LABEL), ("b", [*BY_LABEL, KIND]), id="the-closest-selector-counts"),
    ],
)
def test_the_closer_policy_wins(first, second):
    template = make_template(labels={"app": "web"})
    policies = [
        make_policy(name, sets(WINNER, {"by": name}), selectors=selectors)
        for name, selectors in (first, second)
    ]
    for order in (policies, policies[::-1]):
        assert winner(template, *order) == {"by": second[0]}


def test_a_namespaced_policy_wins_over_a_cluster_wide_one():
    cluster_wide = make_policy("z", sets(WINNER, {"by": "z"}), selectors=BY_NAME, namespace="")
    namespaced = make_policy("a", sets(WINNER, {"by": "a"}))
    assert winner(make_template(), namespaced, cluster_wide) == {"by": "a"}


def test_only_policies_of_the_objects_own_namespace_apply():
    other = make_policy("p", sets(WINNER, {"by": "p"}), namespace="bank")
    assert winner(make_template(), other) is None
    cluster_role = make_template("ClusterRole", api="rbac.authorization.k8s.io/v1", namespace="")
    assert winner(cluster_role, make_policy("p", sets(WINNER, {}), namespace="bank")) is None


def test_namespaced_policies_see_the_labels_that_cluster_wide_ones_gave():
    giving = make_policy("give", sets("/metadata/labels", {"app": "web"}), namespace="")
    by_label = make_policy("p", sets(WINNER, {"by": "p"}), selectors=BY_LABEL)
    assert winner(make_template(), by_label, giving) == {"by": "p"}


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        pytest.param({"clusterNames": ["a", "d"]}, "ad", id="by-name"),
        pytest.param({"exclude": ["a"]}, "bcd", id="all-but"),
        pytest.param({"labelSelector": {"matchLabels": {"site": "west"}}}, "bc", id="by-label"),
        pytest.param(
            {
                "fieldSelector": {
                    "matchExpressions": [{"key": "provider", "operator": "In", "values": ["aws"]}]
                }
            },
            "a",
            id="by-field",
        ),
        pytest.param({"clusterNames": []}, "abcd", id="nothing-said-means-all"),
    ],
)
def test_a_rule_is_for_the_clusters_of_its_target(target, expected):
    rule = {**sets(WINNER, {"by": "p"}), "targetCluster": target}
    policy = make_policy("p", rule)
    template = make_template()
    found = [each for each in CLUSTERS if winner(template, policy, cluster=each)]
    assert found == list(expected)


def test_rules_of_a_policy_are_carried_out_in_their_order():
    policy = make_policy(
        "p", sets(WINNER, {"by": "all"}), sets(WINNER, {"by": "b"}, clusterNames=["b"])
    )
    assert winner(make_template(), policy, cluster="a") == {"by": "all"}
    assert winner(make_template(), policy, cluster="b") == {"by": "b"}


def test_what_was_applied_is_listed_by_the_name_of_the_policy():
    z = make_policy("z", sets("/spec/z", 1), selectors=[KIND])
    a = make_policy("a", sets("/spec/a", 1), sets("/spec/a", 2), selectors=BY_NAME)
    far = make_policy("far", sets("/spec/b", 1, clusterNames=["b"]))
    found = overridden(make_template(), "a", a, z, far)
    assert found.cluster_wide == ()
    assert json.read(listed(found.namespaced)) == [
        {"policyName": name, "overriders": sets(f"/spec/{name}", value)["overriders"]}
        for name, value in [("a", 1), ("a", 2), ("z", 1)]
    ]


def test_the_policy_that_fails_is_named_with_its_rule():
    rules = (sets("/spec/x", 1, clusterNames=["b"]), sets("/spec/replicas/x", 1))
    with pytest.raises(Unsuitable) as caught:
        overridden(make_template(), "a", make_policy("wide", *rules, namespace=""))
    assert str(caught.value.policy.ref) == "ClusterOverridePolicy wide"
    assert str(caught.value).startswith(
        "ClusterOverridePolicy wide: spec.overrideRules[1].overriders.plaintext[0].path: "
    )


def test_a_target_that_cannot_be_read_is_an_error_of_its_policy():
    rule = {**sets("/spec/x", 1), "targetCluster": {"clusterNames": "a"}}
    with pytest.raises(Unsuitable) as caught:
        overridden(make_template(), "a", make_policy("p", rule))
    assert str(caught.value) == (
        "OverridePolicy shop/p: spec.overrideRules[0].targetCluster.clusterNames: 'a': "
        "must be a list"
    )


def test_the_template_is_never_changed():
    template = make_template(labels={"app": "web"})
    before = json.written(template)
    policy = make_policy("p", sets("/metadata/labels/app", "x"), sets("/spec/replicas", 1))
    assert overridden(template, "a", policy).manifest["spec"] == {"replicas": 1}
    assert json.written(template) == before


WORDS = st.sampled_from(["x", "y", "z", "3", "20"])
KEYED = st.dictionaries(st.sampled_from(["k", "l"]), WORDS)
FLEETS = st.lists(
    st.builds(
        Cluster,
        name=WORDS,
        labels=KEYED,
        provider=st.sampled_from(["", "x", "y"]),
        region=st.sampled_from(["", "x", "y"]),
        zones=st.lists(WORDS, max_size=2).map(tuple),
        properties=KEYED,
        sets=st.frozensets(WORDS, max_size=2),
        holds=st.frozensets(WORDS, max_size=2),
    ),
    min_size=1,
    max_size=4,
    unique_by=lambda cluster: cluster.name,
)


@st.composite
def requirements(draw, keys=("k", "l"), extra=()):
    known = (Operator.IN, Operator.NOT_IN, Operator.EXISTS, Operator.NOT_EXISTS, *extra)
    operator = draw(st.sampled_from(known))
    compares = operator not in (Operator.EXISTS, Operator.NOT_EXISTS)
    values = draw(st.lists(WORDS, min_size=1, max_size=2)) if compares else []
    return Requirement(draw(st.sampled_from(keys)), operator, tuple(values))


def some(strategy):
    return st.lists(strategy, max_size=2).map(tuple)


AMOUNTS = (Operator.GREATER, Operator.LESS, Operator.ABOVE, Operator.NOT_EQUAL)
PLAIN = {
    "names": some(WORDS),
    "exclude": some(WORDS),
    "labels": st.none() | st.builds(Selector, some(requirements(extra=AMOUNTS[:2]))),
    "provider": some(requirements(("provider",))),
    "region": some(requirements(("region",))),
    "zones": some(requirements(("zone",))),
    "properties": some(requirements(extra=AMOUNTS)),
    "sets": some(WORDS),
    "expressions": some(WORDS),
}


@st.composite
def affinities(draw, depth=1):
    said = draw(st.lists(st.sampled_from(sorted(PLAIN)), max_size=3, unique=True))
    parts = {name: draw(PLAIN[name]) for name in said}
    if depth:
        parts["alternatives"] = draw(some(affinities(depth=depth - 1)))
    return Affinity(**parts)


@given(FLEETS, affinities())
def test_asking_one_cluster_gives_what_the_columns_give(fleet, affinity):
    mask = matching(affinity, Traits.of(tuple(fleet)))
    assert [matches(affinity, each) for each in fleet] == mask.tolist()
