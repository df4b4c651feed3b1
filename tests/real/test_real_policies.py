"""Policies, labels and templates that change, and what goes or stays when something is deleted."""

from typing import Any

from wanted_objects import cluster_ref, configmap, deployment, policy
from world import Space, expect, is_managed

from atoll.wire import Wire


def test_a_placement_that_changes_moves_what_is_placed(space: Space) -> None:
    web = space.create(deployment("web"))
    placed = space.create(policy("web", [web], ["m1"]))
    expect(lambda: space.status(web, "readyReplicas"), [2])
    for clusters in (["m2", "m3"], ["m3"], ["m1", "m2", "m3"]):
        space.plane.patch(
            placed, {"spec": {"placement": {"clusterAffinity": {"clusterNames": clusters}}}}
        )
        expect(lambda clusters=clusters: space.where(web), clusters)
        expect(lambda clusters=clusters: space.status(web, "readyReplicas"), [2 * len(clusters)])


def test_what_a_policy_selects_anew_comes_and_what_it_lets_go_stays(space: Space) -> None:
    old, new = space.create(configmap("old")), space.create(configmap("new"))
    chosen = space.create(policy("chosen", [old], ["m1", "m3"]))
    expect(lambda: space.where(old), ["m1", "m3"])
    selectors = policy("chosen", [new], [])["spec"]["resourceSelectors"]
    space.plane.patch(chosen, {"spec": {"resourceSelectors": selectors}})
    expect(lambda: space.where(new), ["m1", "m3"])
    assert space.where(old) == ["m1", "m3"]
    label = "propagationpolicy.karmada.io/name"
    expect(lambda: label in notes(space.find(old)), False)
    assert notes(space.find(new))[label] == "chosen"


def notes(wire: Wire | None) -> dict[str, Any]:
    """Labels and annotations of an object."""
    metadata = (wire or {}).get("metadata") or {}
    return {**(metadata.get("labels") or {}), **(metadata.get("annotations") or {})}


def test_labels_of_a_template_bring_it_under_a_policy(space: Space) -> None:
    settings = space.create(configmap("settings"))
    chosen = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "labelSelector": {"matchLabels": {"go": "yes"}},
    }
    space.create(policy("labelled", [chosen], ["m1", "m3"]))
    first = space.create(configmap("first"))
    space.create(policy("first", [first], ["m1", "m3"]))
    expect(lambda: space.where(first), ["m1", "m3"])
    assert space.where(settings) == []
    space.plane.patch(settings, {"metadata": {"labels": {"go": "yes"}}})
    expect(lambda: space.where(settings), ["m1", "m3"])


def test_labels_of_clusters_decide_where_things_go(space: Space) -> None:
    label = f"scenario-{space.name[:40]}"
    settings = space.create(configmap("settings"))
    space.plane.patch(cluster_ref("m1"), {"metadata": {"labels": {label: "yes"}}})
    where = {"clusterAffinity": {"labelSelector": {"matchLabels": {label: "yes"}}}}
    space.create(policy("labelled", [settings], [], where))
    expect(lambda: space.where(settings), ["m1"])
    space.plane.patch(cluster_ref("m3"), {"metadata": {"labels": {label: "yes"}}})
    expect(lambda: space.where(settings), ["m1", "m3"])
    space.plane.patch(cluster_ref("m1"), {"metadata": {"labels": {label: None}}})
    expect(lambda: space.where(settings), ["m3"])
    space.plane.patch(cluster_ref("m3"), {"metadata": {"labels": {label: None}}})


def test_of_two_policies_the_one_with_priority_has_the_template(space: Space) -> None:
    settings = configmap("settings")
    space.create(policy("low", [settings], ["m1"]))
    space.create(policy("high", [settings], ["m3"], priority=5))
    settings = space.create(settings)
    expect(lambda: space.where(settings), ["m3"])


def test_a_policy_takes_a_template_over_only_if_it_says_so(space: Space) -> None:
    settings = space.create(configmap("settings"))
    space.create(policy("first", [settings], ["m1"]))
    expect(lambda: space.where(settings), ["m1"])
    polite = space.create(policy("polite", [settings], ["m2"], priority=3))
    beacon = space.create(configmap("beacon"))
    space.create(policy("beacon", [beacon], ["m2"]))
    expect(lambda: space.where(beacon), ["m2"])
    assert space.where(settings) == ["m1"]
    space.create(policy("taking", [settings], ["m3"], priority=5, preemption="Always"))
    expect(lambda: space.where(settings), ["m3"])
    space.plane.delete(polite)


def test_when_a_policy_goes_the_next_one_has_its_templates(space: Space) -> None:
    settings = configmap("settings")
    first = space.create(policy("first", [settings], ["m1"], priority=5))
    space.create(policy("second", [settings], ["m3"]))
    settings = space.create(settings)
    expect(lambda: space.where(settings), ["m1"])
    space.plane.delete(first)
    expect(lambda: space.where(settings), ["m3"])


def test_a_policy_that_goes_alone_leaves_what_was_placed(space: Space) -> None:
    web = space.create(deployment("web"))
    placed = space.create(policy("web", [web], ["m1", "m3"]))
    expect(lambda: space.status(web, "readyReplicas"), [4])
    space.plane.delete(placed)
    expect(lambda: "propagationpolicy.karmada.io/name" in notes(space.find(web)), False)
    arrive(space, "beacon")
    assert space.replicas(web) == {"m1": 2, "m3": 2}
    space.plane.delete(web)
    expect(lambda: space.where(web), [])


def test_a_template_that_is_deleted_is_gone_everywhere(space: Space) -> None:
    web = space.create(deployment("web"))
    space.create(policy("web", [web], ["m1", "m3"]))
    expect(lambda: space.status(web, "readyReplicas"), [4])
    space.plane.delete(web)
    expect(lambda: space.where(web), [])
    expect(lambda: space.binding(web), {})
    expect(lambda: deployments_sent(space, "karmada-es-m1"), [])
    expect(lambda: deployments_sent(space, "karmada-es-m3"), [])


def deployments_sent(space: Space, namespace: str) -> list[Wire]:
    """The Works that bring Deployments of this scenario."""
    works = space.plane.list("work.karmada.io/v1alpha1", "Work", namespace)
    return [
        work
        for work in works
        for each in work["spec"]["workload"].get("manifests") or ()
        if each["kind"] == "Deployment" and each["metadata"].get("namespace") == space.name
    ]


def test_a_namespace_that_is_deleted_takes_what_is_in_it_along(space: Space) -> None:
    settings = space.create(configmap("settings"))
    space.create(policy("settings", [settings], ["m1", "m3"]))
    expect(lambda: space.where(settings), ["m1", "m3"])
    own = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": space.name}}
    space.plane.delete(own)
    expect(lambda: space.where(settings), [])
    expect(lambda: space.plane.find(own), None)
    expect(lambda: [space.world.members[name].find(own) for name in ("m1", "m3")], [None, None])


def test_what_is_preserved_stays_when_its_template_goes(space: Space) -> None:
    web = space.create(deployment("web"))
    space.create(policy("web", [web], ["m1", "m3"], preserveResourcesOnDeletion=True))
    expect(lambda: space.status(web, "readyReplicas"), [4])
    before = {name: uid(space.find(web, name)) for name in ("m1", "m3")}
    space.plane.delete(web)
    expect(lambda: space.find(web), None)

    def free(name: str) -> bool:
        found = space.find(web, name)
        return found is not None and not is_managed(found)

    expect(lambda: [free(name) for name in before], [True, True])
    assert {name: uid(space.find(web, name)) for name in before} == before
    for name in before:
        space.world.members[name].delete(web)


def uid(wire: Wire | None) -> str:
    assert wire is not None
    return str(wire["metadata"]["uid"])


def test_what_is_suspended_waits_and_then_arrives(space: Space) -> None:
    settings = space.create(configmap("settings", colour="red"))
    held = space.create(policy("held", [settings], ["m1", "m3"], suspension={"dispatching": True}))
    expect(lambda: space.targets(settings).keys(), {"m1", "m3"})
    arrive(space, "beacon")
    assert space.where(settings) == []
    space.plane.patch(held, {"spec": {"suspension": {"dispatching": False}}})
    expect(lambda: space.where(settings), ["m1", "m3"])


def test_a_suspension_of_one_cluster_holds_up_no_other(space: Space) -> None:
    settings = space.create(configmap("settings", colour="red"))
    held = space.create(policy("held", [settings], ["m1", "m3"]))
    expect(lambda: space.where(settings), ["m1", "m3"])
    one = {"dispatchingOnClusters": {"clusterNames": ["m3"]}}
    space.plane.patch(held, {"spec": {"suspension": one}})
    expect(
        lambda: space.binding(settings)["spec"].get("suspension") or {},
        lambda told: told.get("dispatchingOnClusters") == one["dispatchingOnClusters"],
    )
    space.plane.patch(settings, {"data": {"colour": "blue"}})
    expect(lambda: colour(space, settings, "m1"), "blue")
    arrive(space, "beacon")
    assert colour(space, settings, "m3") == "red"
    space.plane.patch(held, {"spec": {"suspension": None}})
    expect(lambda: colour(space, settings, "m3"), "blue")


def colour(space: Space, wire: Wire, member: str) -> object:
    return ((space.find(wire, member) or {}).get("data") or {}).get("colour")


def arrive(space: Space, name: str) -> None:
    """See something arrive everywhere; what was to come before would be there as well."""
    beacon = space.create(configmap(name))
    space.create(policy(name, [beacon], ["m1", "m3"]))
    expect(lambda: space.where(beacon), ["m1", "m3"])


def test_while_scheduling_is_suspended_a_new_placement_waits(space: Space) -> None:
    settings = space.create(configmap("settings"))
    placed = space.create(policy("settings", [settings], ["m1"]))
    expect(lambda: space.where(settings), ["m1"])
    binding = {key: space.binding(settings)[key] for key in ("apiVersion", "kind", "metadata")}
    space.plane.patch(binding, {"spec": {"suspension": {"scheduling": True}}})
    space.plane.patch(
        placed, {"spec": {"placement": {"clusterAffinity": {"clusterNames": ["m3"]}}}}
    )
    chosen = lambda: space.binding(settings)["spec"]["placement"]["clusterAffinity"]  # noqa: E731
    expect(chosen, {"clusterNames": ["m3"]})
    arrive(space, "beacon")
    assert space.where(settings) == ["m1"]
    space.plane.patch(binding, {"spec": {"suspension": {"scheduling": False}}})
    expect(lambda: space.where(settings), ["m3"])
