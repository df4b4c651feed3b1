"""What a real kube-apiserver refuses we refuse too, in the same words."""

import pytest
from kinds_recorded import born, documents, recorded, resource_at

from atoll.apiserver.objects.metadata import errors_of_new, errors_of_update
from atoll.apiserver.schemas.typed import read_typed
from atoll.apiserver.status import invalid

UID = "11111111-1111-4111-8111-111111111111"
# Kubernetes checks these maps in a random order.
UNORDERED = ("bad template labels", "an unknown quota", "odd amounts")
# It shows the values inside the program here: a diff, a uid, a struct. Compared up to there.
CUT_AT = {
    "another command for a pod": "\n",
    "another class for a claim": "\n",
    "a job with a selector of its own": '"batch.kubernetes.io/controller-uid"',
    "another template for a job": "spec.template: Invalid value: ",
}


def refusal(mistake):
    """The message that this mistake is answered with."""
    resource = resource_at(mistake["resource"])
    stamps = {"uid": UID} | ({"namespace": "demo"} if resource.namespaced else {})
    obj = born(resource, mistake["object"], stamps)
    if "then" in mistake:
        new, _ = read_typed(resource.schema, {**mistake["object"], **mistake["then"]})
        new["metadata"] |= obj["metadata"]
        resource.strategy.prepare_update(new, obj)
        resource.strategy.default(new)
        errors = [*errors_of_update(new, obj, resource), *resource.strategy.errors(new)]
        errors += resource.strategy.update_errors(new, obj)
    else:
        errors = [*errors_of_new(obj, resource), *resource.strategy.errors(obj)]
    assert errors, "accepted"
    # Events are checked as those of the core group, whichever group they are sent to.
    group = "" if resource.kind == "Event" else resource.group
    return invalid(resource.kind, group, obj["metadata"]["name"], errors).message


@pytest.mark.parametrize(
    "mistake", [pytest.param(mistake, id=mistake["id"]) for mistake in documents("mistakes")]
)
def test_a_mistake_is_told_in_kubernetes_words(mistake):
    ours, real = refusal(mistake), recorded("mistakes")[mistake["id"]]
    if mistake["id"] in UNORDERED:
        assert sorted(ours) == sorted(real)
    elif cut := CUT_AT.get(mistake["id"]):
        assert ours.partition(cut)[0] == real.partition(cut)[0]
    else:
        assert ours == real


def change(path, old, new):
    """What of the new object is kept, and what is wrong with it, when it replaces the old one."""
    resource = resource_at(path)
    resource.strategy.prepare_update(new, old)
    resource.strategy.default(new)
    return new, list(resource.strategy.update_errors(new, old))


def test_an_update_of_a_namespace_cannot_let_go_of_it():
    meta = {"name": "a", "labels": {"kubernetes.io/metadata.name": "a"}}
    old = {"metadata": meta, "spec": {"finalizers": ["kubernetes"]}, "status": {"phase": "Active"}}
    new, errors = change("/api/v1/namespaces", old, {"metadata": {"name": "a"}, "spec": {}})
    assert new["spec"]["finalizers"] == ["kubernetes"]
    assert errors == []


def test_an_update_after_the_last_finalizer_does_not_bring_it_back():
    old = {"metadata": {"name": "a"}, "spec": {}, "status": {"phase": "Terminating"}}
    asked = {"metadata": {"name": "a"}, "spec": {"finalizers": ["kubernetes"]}}
    new, _ = change("/api/v1/namespaces", old, asked)
    assert "finalizers" not in new["spec"]


def test_deleting_a_namespace_marks_it_as_terminating():
    namespaces = resource_at("/api/v1/namespaces")
    active = {"metadata": {"name": "a"}, "status": {"phase": "Active"}}
    ended = namespaces.strategy.begin_delete(active, "2026-01-01T00:00:00Z")
    assert ended["status"]["phase"] == "Terminating"
    assert active["status"]["phase"] == "Active"


def test_an_update_that_does_not_mention_the_cluster_ip_keeps_it():
    ports = [{"port": 80, "targetPort": 80, "protocol": "TCP"}]
    spec = {"type": "ClusterIP", "clusterIP": "10.0.0.1", "clusterIPs": ["10.0.0.1"]}
    old = {"metadata": {"name": "a"}, "spec": {**spec, "ports": ports}}
    new, errors = change("/api/v1/services", old, {"metadata": {"name": "a"}, "spec": {}})
    assert new["spec"]["clusterIP"] == "10.0.0.1"
    assert errors == []


def test_a_cluster_ip_cannot_be_changed():
    old = {"metadata": {"name": "a"}, "spec": {"type": "ClusterIP", "clusterIP": "10.0.0.1"}}
    asked = {"metadata": {"name": "a"}, "spec": {"clusterIP": "10.0.0.2"}}
    _, errors = change("/api/v1/services", old, asked)
    assert [error.detail for error in errors] == ["may not change once set"]


@pytest.mark.parametrize(("image", "number"), [("a:1", "1"), ("a:2", "2")], ids=["same", "new"])
def test_a_daemonset_counts_the_changes_of_its_template(image, number):
    daemonsets = resource_at("/apis/apps/v1/daemonsets")

    def daemonset(image):
        pod = {"containers": [{"name": "a", "image": image}]}
        return {
            "metadata": {"name": "a"},
            "spec": {
                "selector": {"matchLabels": {"a": "b"}},
                "template": {"metadata": {"labels": {"a": "b"}}, "spec": pod},
            },
        }

    old = born(daemonsets, daemonset("a:1"), {})
    new = daemonset(image)
    daemonsets.strategy.default(new)
    new, _ = change("/apis/apps/v1/daemonsets", old, new)
    key = "deprecated.daemonset.template.generation"
    assert new["metadata"]["annotations"][key] == number


def test_a_job_that_never_ran_may_be_given_another_template():
    jobs = resource_at("/apis/batch/v1/jobs")
    pod = {"restartPolicy": "Never", "containers": [{"name": "a", "image": "a:1"}]}
    proposed = {"metadata": {"name": "a"}, "spec": {"suspend": True, "template": {"spec": pod}}}
    old = born(jobs, proposed, {"uid": UID})
    moved = born(jobs, proposed, {"uid": UID})
    moved["spec"]["template"]["spec"]["nodeSelector"] = {"disk": "ssd"}
    assert not list(jobs.strategy.update_errors(moved, old))
