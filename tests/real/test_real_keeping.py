"""What is kept true: dependencies, statuses, what members change, and names that were taken."""

from typing import Any

from wanted_objects import configmap, deployment, policy, secret
from world import Space, expect, is_managed

from atoll.wire import Wire

BOTH = ["m1", "m3"]


def test_what_a_workload_needs_goes_where_it_goes(space: Space) -> None:
    needed = [space.create(configmap("settings", a="b")), space.create(secret("secret", k="v"))]
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "worker"}}
    needed.append(space.create(account))
    web = deployment(
        "web",
        serviceAccountName="worker",
        volumes=[{"name": "v", "configMap": {"name": "settings"}}],
    )
    source = {"secretKeyRef": {"name": "secret", "key": "k"}}
    web["spec"]["template"]["spec"]["containers"][0]["env"] = [{"name": "K", "valueFrom": source}]
    web = space.create(web)
    placed = space.create(policy("web", [web], ["m1", "m3"], propagateDeps=True))
    for wire in (web, *needed):
        expect(lambda wire=wire: space.where(wire), BOTH)
    expect(lambda: space.status(web, "readyReplicas"), [4])
    space.plane.patch(needed[0], {"data": {"a": "c"}})
    expect(lambda: [(space.find(needed[0], each) or {})["data"] for each in BOTH], 2 * [{"a": "c"}])
    where = {"clusterAffinity": {"clusterNames": ["m2"]}}
    space.plane.patch(placed, {"spec": {"placement": where}})
    for wire in (web, *needed):
        expect(lambda wire=wire: space.where(wire), ["m2"])
    space.plane.delete(web)
    for wire in (web, *needed):
        expect(lambda wire=wire: space.where(wire), [])
    assert space.find(needed[0]) is not None


def test_statuses_of_members_are_summed_on_the_template(space: Space) -> None:
    web = space.create(deployment("web", replicas=3))
    names = ("replicas", "readyReplicas", "availableReplicas", "updatedReplicas")
    space.create(policy("web", [web], ["m1", "m2", "m3"]))
    expect(lambda: space.status(web, *names), [9, 9, 9, 9])
    found = space.find(web)
    assert found is not None
    assert found["status"]["observedGeneration"] == found["metadata"]["generation"]
    items = space.binding(web)["status"]["aggregatedStatus"]
    told = {each["clusterName"]: each["status"]["readyReplicas"] for each in items}
    assert told == {"m1": 3, "m2": 3, "m3": 3}
    expect(lambda: [each["health"] for each in aggregated(space, web)], 3 * ["Healthy"])
    space.plane.patch(web, {"spec": {"replicas": 1}})
    expect(lambda: space.status(web, *names), [3, 3, 3, 3])


def aggregated(space: Space, wire: Wire) -> list[Any]:
    found: list[Any] = space.binding(wire)["status"]["aggregatedStatus"]
    return found


def test_statuses_of_daemons_and_ingresses_are_summed_too(space: Space) -> None:
    daemon = deployment("daemon")
    daemon["kind"] = "DaemonSet"
    del daemon["spec"]["replicas"]
    daemon = space.create(daemon)
    front = space.create(
        {
            "apiVersion": "networking.k8s.io/v1",
            "kind": "Ingress",
            "metadata": {"name": "front"},
            "spec": {"defaultBackend": {"service": {"name": "web", "port": {"number": 80}}}},
        }
    )
    space.create(policy("both", [daemon, front], BOTH))
    nodes = sum(len(space.world.members[name].list("v1", "Node")) for name in BOTH)
    expect(lambda: space.status(daemon, "desiredNumberScheduled", "numberReady"), [nodes, nodes])
    expect(lambda: space.where(front), BOTH)
    for number, name in enumerate(BOTH, 1):
        ingress = [{"ip": f"192.0.2.{number}"}]
        balanced = {"status": {"loadBalancer": {"ingress": ingress}}}
        space.world.members[name].patch(front, balanced, "status")
    expect(lambda: addresses(space, front), ["192.0.2.1", "192.0.2.2"])


def addresses(space: Space, wire: Wire) -> list[str]:
    balancer = space.status(wire, "loadBalancer")[0] or {}
    return sorted(each["ip"] for each in balancer.get("ingress") or ())


def test_what_a_member_changes_is_put_right(space: Space) -> None:
    web, settings = space.create(deployment("web")), space.create(configmap("settings", a="b"))
    space.create(policy("both", [web, settings], BOTH))
    expect(lambda: space.status(web, "readyReplicas"), [4])
    expect(lambda: space.where(settings), BOTH)
    for name in BOTH:
        member = space.world.members[name]
        member.patch(web, {"spec": {"replicas": 7}})
        member.patch(settings, {"data": {"a": "drift", "more": "x"}})
    expect(lambda: space.replicas(web), {"m1": 2, "m3": 2})
    expect(lambda: [(space.find(settings, name) or {})["data"] for name in BOTH], 2 * [{"a": "b"}])
    for name in BOTH:
        space.world.members[name].delete(settings)
    expect(lambda: space.where(settings), BOTH)


def work_of(space: Space, wire: Wire, member: str) -> Wire:
    """The Work by which a member gets an object."""
    for each in space.plane.list("work.karmada.io/v1alpha1", "Work", f"karmada-es-{member}"):
        for manifest in each["spec"]["workload"].get("manifests") or ():
            if (manifest["kind"], manifest["metadata"].get("namespace")) == (
                wire["kind"],
                space.name,
            ):
                return each
    return {}


def test_an_object_that_was_there_before_is_left_alone_unless_the_policy_says(space: Space) -> None:
    own = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": space.name}}
    expect(lambda: [space.world.members[name].find(own) is None for name in BOTH], [False, False])
    asked = space.here(configmap("settings", of="plane"))
    for name in BOTH:
        space.world.members[name].create({**asked, "data": {"of": "member"}})
    settings = space.create(asked)
    placed = space.create(policy("settings", [settings], BOTH))

    def applied(name: str) -> Any:
        conditions = (work_of(space, settings, name).get("status") or {}).get("conditions") or ()
        return next((each["status"] for each in conditions if each["type"] == "Applied"), None)

    expect(lambda: [applied(name) for name in BOTH], ["False", "False"])
    for name in BOTH:
        found = space.find(settings, name)
        assert found is not None
        assert (found["data"], is_managed(found)) == ({"of": "member"}, False)
    space.plane.patch(placed, {"spec": {"conflictResolution": "Overwrite"}})
    expect(lambda: space.where(settings), BOTH)
    expect(
        lambda: [(space.find(settings, name) or {})["data"] for name in BOTH], 2 * [{"of": "plane"}]
    )
    expect(lambda: [applied(name) for name in BOTH], ["True", "True"])
