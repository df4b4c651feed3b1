"""What each target cluster gets of a template: replicas, shares, overrides, and the marks on it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rendering_world import (
    CLUSTERS,
    MEANS,
    known,
    make_binding,
    make_policy,
    make_template,
    seen_rendering,
    sets,
    targets,
)

from atoll.control.works.decide.rendering import Means, SeenRendering, render
from atoll.dialects.karmada import names
from atoll.dialects.karmada.objects import resource_bindings
from atoll.errors import AtollError, Invalid
from atoll.model.action import Ref
from atoll.model.cluster import Cluster
from atoll.model.ordinals import Range

DIVIDED = {"replicaScheduling": {"replicaSchedulingType": "Divided"}}


def rendered(template, binding, *policies, **more):
    found = render(seen_rendering(template, binding, *policies, **more))
    assert not any(isinstance(each, AtollError) for each in found.values()), found
    return {name: each.manifest for name, each in found.items()}


def test_each_cluster_gets_its_replicas():
    template = make_template()
    found = rendered(template, make_binding(template, on={"a": 7, "b": 2}))
    assert {name: each["spec"]["replicas"] for name, each in found.items()} == {"a": 7, "b": 2}
    assert template["spec"]["replicas"] == 9


def test_what_is_no_workload_keeps_the_replicas_it_has():
    template = make_template()
    found = rendered(template, make_binding(template, on={"a": 0}, replicas=None))
    assert found["a"]["spec"]["replicas"] == 9


def test_targets_are_those_of_the_decision_then_those_of_bindings_that_depend_on_it():
    required = [
        {"name": "x", "clusters": [{"name": "a", "replicas": 5}, {"name": "c", "replicas": 1}]},
        {"name": "y", "clusters": [{"name": "c", "replicas": 3}, {"name": "b"}]},
        {"name": "z"},
    ]
    found = resource_bindings.decode(make_binding(on={"b": 2, "a": 1}, requiredBy=required))
    assert found.targets == (("b", 2), ("a", 1), ("c", 1))
    assert resource_bindings.decode({"spec": {}}).targets == ()


@pytest.mark.parametrize(
    ("uid", "on", "completions", "expected"),
    [
        pytest.param("", {"a": 1, "b": 2}, 9, {"a": 3, "b": 6}, id="by-share-of-replicas"),
        pytest.param("", {"b": 1, "a": 1}, 3, {"a": 2, "b": 1}, id="the-first-name-wins-a-tie"),
        pytest.param("u3", {"b": 1, "a": 1}, 3, {"a": 1, "b": 2}, id="an-odd-uid-the-last-name"),
        pytest.param("", {"a": 0, "b": 2}, 4, {"a": 0, "b": 4}, id="none-for-no-replicas"),
        pytest.param("", {"a": 1}, None, {"a": None}, id="a-work-queue-has-none-to-split"),
        pytest.param("", {"a": 0}, 4, {"a": 4}, id="nobody-has-a-share"),
    ],
)
def test_the_completions_of_a_divided_job_are_split(uid, on, completions, expected):
    spec = {"parallelism": 3} if completions is None else {"completions": completions}
    job = make_template("Job", api="batch/v1", spec=spec, uid=uid)
    found = rendered(job, make_binding(job, on=on, placement=DIVIDED))
    assert {name: each["spec"].get("completions") for name, each in found.items()} == expected
    assert {name: each["spec"]["parallelism"] for name, each in found.items()} == on


@pytest.mark.parametrize(
    "placement",
    [
        pytest.param({}, id="nothing-said"),
        pytest.param({"replicaScheduling": {"replicaSchedulingType": "Duplicated"}}, id="said"),
    ],
)
def test_a_duplicated_job_runs_to_completion_everywhere(placement):
    job = make_template("Job", api="batch/v1", spec={"completions": 8})
    found = rendered(job, make_binding(job, on={"a": 2, "b": 2}, placement=placement))
    assert [each["spec"]["completions"] for each in found.values()] == [8, 8]


@given(
    st.integers(0, 500),
    st.dictionaries(st.sampled_from("abcd"), st.integers(0, 9), min_size=1),
    st.text("uvw", max_size=4),
)
def test_no_completion_is_lost(completions, on, uid):
    job = make_template("Job", api="batch/v1", spec={"completions": completions}, uid=uid)
    found = rendered(job, make_binding(job, on=on, placement=DIVIDED))
    shares = [each["spec"]["completions"] for each in found.values()]
    assert sum(shares) == completions or not any(on.values())


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        pytest.param({"replicas": 0}, 0, id="bound-with-none-and-scaled-since"),
        pytest.param({"replicas": 0, "replicaRequirements": {}}, 0, id="the-same-with-requests"),
        pytest.param({"replicas": 9}, 2, id="as-decided"),
        pytest.param({"replicas": None, "replicaRequirements": {}}, 2, id="by-its-requests"),
    ],
)
def test_a_template_runs_what_was_decided_not_what_it_asks_for_since(spec, expected):
    on = {"a": 0, "b": 0} if expected == 0 else {"a": 2}
    found = rendered(make_template(), make_binding(on=on, **spec))
    assert {each["spec"]["replicas"] for each in found.values()} == {expected}


def test_what_depends_on_a_workload_without_replicas_brings_none_along():
    required = [{"namespace": "shop", "name": "other", "clusters": targets({"c": 4})}]
    found = rendered(make_template(), make_binding(on={"a": 0}, replicas=0, requiredBy=required))
    assert [each["spec"]["replicas"] for each in found.values()] == [0, 0]


def test_a_split_stateful_set_starts_where_its_range_does():
    template = make_template("StatefulSet")
    ordinals = {"a": Range("a", 0, 3), "b": Range("b", 3, 2), "d": Range("d", 0, 0)}
    found = rendered(
        template, make_binding(template, on={"a": 3, "b": 2, "c": 1}), ordinals=ordinals
    )
    assert {name: each["spec"] for name, each in found.items()} == {
        "a": {"replicas": 3, "ordinals": {"start": 0}},
        "b": {"replicas": 2, "ordinals": {"start": 3}},
        "d": {"replicas": 0, "ordinals": {"start": 0}},
    }


@pytest.mark.parametrize(
    ("path", "value"),
    [("/spec/replicas", 4), ("/spec/ordinals", {"start": 1})],
)
def test_an_override_may_not_run_ordinals_that_belong_elsewhere(path, value):
    template = make_template("StatefulSet")
    seen = seen_rendering(
        template,
        make_binding(template, on={"a": 3}),
        make_policy("p", sets(path, value)),
        ordinals={"a": Range("a", 0, 3)},
    )
    found = render(seen)["a"]
    assert isinstance(found, Invalid)
    assert "ordinals are divided" in str(found)


def test_overrides_come_last_and_win():
    policy = make_policy("p", sets("/spec/replicas", 1, clusterNames=["b"]))
    found = rendered(make_template(), make_binding(on={"a": 4, "b": 5}), policy)
    assert [each["spec"]["replicas"] for each in found.values()] == [4, 1]


def test_an_object_says_whose_it_is():
    template = make_template(labels={"app": "web"}, annotations={"note": "x"})
    found = render(seen_rendering(template, make_binding(template, on=["a"])))["a"]
    assert found.work == Ref("work.karmada.io/v1alpha1", "Work", "karmada-es-a", found.work.name)
    assert found.work.name == names.work_name("Deployment", "web", "shop")
    assert found.identified("work-id") == {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {
            "name": "web",
            "namespace": "shop",
            "labels": {
                "app": "web",
                "karmada.io/managed": "true",
                "resourcebinding.karmada.io/permanent-id": "binding-id",
                "work.karmada.io/permanent-id": "work-id",
            },
            "annotations": {
                "note": "x",
                "resourcetemplate.karmada.io/uid": "template-uid",
                "resourcetemplate.karmada.io/generation": "3",
                "resourcebinding.karmada.io/namespace": "shop",
                "resourcebinding.karmada.io/name": "web-deployment",
                "work.karmada.io/namespace": "karmada-es-a",
                "work.karmada.io/name": found.work.name,
                "work.karmada.io/conflict-resolution": "abort",
                "resourcetemplate.karmada.io/managed-labels": "app,karmada.io/managed,"
                "resourcebinding.karmada.io/permanent-id,work.karmada.io/permanent-id",
                "resourcetemplate.karmada.io/managed-annotations": "note,"
                "resourcebinding.karmada.io/name,resourcebinding.karmada.io/namespace,"
                "resourcetemplate.karmada.io/generation,"
                "resourcetemplate.karmada.io/managed-annotations,"
                "resourcetemplate.karmada.io/managed-labels,resourcetemplate.karmada.io/uid,"
                "work.karmada.io/conflict-resolution,work.karmada.io/name,"
                "work.karmada.io/namespace",
            },
        },
        "spec": {"replicas": 1},
    }


def test_an_object_without_a_namespace_names_its_cluster_wide_binding():
    template = make_template("ClusterRole", api="rbac.authorization.k8s.io/v1", namespace="")
    binding = make_binding(template, on=["a"])
    binding["kind"] = "ClusterResourceBinding"
    binding["metadata"]["labels"] = {names.CLUSTER_BINDING_ID: "wide-id"}
    marks = rendered(template, binding)["a"]["metadata"]
    assert marks["labels"] == {names.MANAGED: "true", names.CLUSTER_BINDING_ID: "wide-id"}
    assert marks["annotations"][names.CLUSTER_BINDING_NAME] == "web-clusterrole"
    assert names.BINDING_NAME not in marks["annotations"]


@pytest.mark.parametrize(
    ("asked", "decided", "expected"),
    [
        pytest.param(None, None, "abort", id="nobody-asked"),
        pytest.param(None, "Overwrite", "overwrite", id="the-policy"),
        pytest.param("abort", "Overwrite", "abort", id="the-object-over-the-policy"),
        pytest.param("overwrite", "Abort", "overwrite", id="either-way"),
        pytest.param("maybe", "Overwrite", "overwrite", id="a-word-that-says-nothing"),
    ],
)
def test_what_is_in_the_way_is_overwritten_only_if_someone_asks(asked, decided, expected):
    annotations = {names.CONFLICT_RESOLUTION: asked} if asked else {}
    template = make_template(annotations=annotations)
    binding = make_binding(template, on=["a"], conflictResolution=decided)
    found = render(seen_rendering(template, binding))["a"]
    assert found.conflict_resolution == expected
    assert found.manifest["metadata"]["annotations"][names.CONFLICT_RESOLUTION] == expected


def test_one_cluster_that_fails_does_not_stop_the_others():
    policy = make_policy("p", sets("/spec/none/x", 1, clusterNames=["b"]))
    binding = make_binding(on=["a", "b", "nowhere"])
    found = render(seen_rendering(make_template(), binding, policy))
    assert found["a"].manifest["spec"] == {"replicas": 1}
    assert "OverridePolicy shop/p" in str(found["b"])
    assert str(found["nowhere"]) == "spec.clusters: 'nowhere': there is no such cluster"


def test_a_kind_whose_replicas_cannot_be_set_is_an_error_of_the_cluster():
    def revise(_template, count):
        raise Invalid("spec.replicas", count, "this kind has none")

    means = Means(revise, MEANS.prune, MEANS.texts)
    seen = SeenRendering(
        resource_bindings.decode(make_binding(on=["a"])), make_template(), CLUSTERS, means
    )
    assert str(render(seen)["a"]) == "spec.replicas: 1: this kind has none"


def test_an_override_may_give_an_object_another_version_and_name():
    policy = make_policy("p", sets("/apiVersion", "apps/v1beta1"), sets("/metadata/name", "web2"))
    found = render(seen_rendering(make_template(), make_binding(on=["a"]), policy))["a"]
    assert Ref.of(found.manifest) == Ref("apps/v1beta1", "Deployment", "shop", "web2")
    assert found.work.name == names.work_name("Deployment", "web2", "shop")


def test_a_deployment_takes_its_image_from_the_registry_of_its_region():
    """A policy in the old form: one target and one list of overriders, without rules."""
    nginx = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "nginx", "namespace": "default", "labels": {"app": "nginx"}},
        "spec": {
            "replicas": 2,
            "selector": {"matchLabels": {"app": "nginx"}},
            "template": {
                "metadata": {"labels": {"app": "nginx"}},
                "spec": {"containers": [{"name": "nginx", "image": "nginx"}]},
            },
        },
    }
    policy = {
        "apiVersion": "policy.karmada.io/v1alpha1",
        "kind": "OverridePolicy",
        "metadata": {"name": "example-override", "namespace": "default"},
        "spec": {
            "resourceSelectors": [{"apiVersion": "apps/v1", "kind": "Deployment", "name": "nginx"}],
            "targetCluster": {
                "clusterNames": ["member1"],
                "labelSelector": {"matchLabels": {"failuredomain.kubernetes.io/region": "dc1"}},
            },
            "overriders": {
                "plaintext": [
                    {
                        "path": "/spec/template/spec/containers/0/image",
                        "operator": "replace",
                        "value": "dc-1.registry.io/nginx:1.17.0-alpine",
                    },
                    {"path": "/metadata/annotations", "operator": "add", "value": {"foo": "bar"}},
                ]
            },
        },
    }
    region = {"failuredomain.kubernetes.io/region": "dc1"}
    clusters = {
        "member1": Cluster(name="member1", labels=region),
        "member2": Cluster(name="member2", labels=region),
    }
    binding = make_binding(nginx, on={"member1": 1, "member2": 1}, replicas=2)
    policies = known([policy])
    found = render(
        SeenRendering(resource_bindings.decode(binding), nginx, clusters, MEANS, policies)
    )
    first, second = (found[name].manifest for name in clusters)
    assert [_image(first), _image(second)] == ["dc-1.registry.io/nginx:1.17.0-alpine", "nginx"]
    assert first["metadata"]["annotations"]["foo"] == "bar"
    assert "foo" not in second["metadata"]["annotations"]
    assert [each["spec"]["replicas"] for each in (first, second)] == [1, 1]


def _image(manifest):
    return manifest["spec"]["template"]["spec"]["containers"][0]["image"]
