"""What harms everybody: taints, clusters lost and found, members that leave, processes that die.

Each happens alone in its world, and leaves it as it was.
"""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

from wanted_objects import POLICY, cluster_ref, configmap, deployment, divided, policy
from world import PULLING, REGIONS, Space, World, expect, is_managed, make

from atoll.wire import Wire

ALL = list(REGIONS)
GONE = "cluster.karmada.io/gone"


@contextmanager
def spaced(world: World, about: str) -> Iterator[Space]:
    """A namespace for a scenario that has the world for itself."""
    space = world.space(about)
    space.open()
    yield space
    space.close()


@contextmanager
def tainted(world: World, name: str, *taints: Wire) -> Iterator[None]:
    world.plane.patch(cluster_ref(name), {"spec": {"taints": list(taints)}})
    try:
        yield
    finally:
        world.plane.patch(cluster_ref(name), {"spec": {"taints": None}})
        expect(lambda: world.taints(name), [])


def test_a_tainted_cluster_takes_only_what_tolerates_it(world: World) -> None:
    with spaced(world, "taints") as space:
        before = space.create(deployment("before"))
        space.create(policy("before", [before], ALL))
        expect(lambda: space.where(before), ALL)
        with tainted(world, "m2", {"key": "maintenance", "value": "yes", "effect": "NoSchedule"}):
            plain, hardy = space.create(configmap("plain")), space.create(configmap("hardy"))
            space.create(policy("plain", [plain], ALL))
            tolerating = [{"key": "maintenance", "operator": "Equal", "value": "yes"}]
            space.create(policy("hardy", [hardy], ALL, {"clusterTolerations": tolerating}))
            expect(lambda: space.where(plain), ["m1", "m3"])
            expect(lambda: space.where(hardy), ALL)
            assert space.where(before) == ALL, "what runs there stays"
        expect(lambda: space.where(plain), ALL)


def test_a_taint_that_drives_out_moves_what_does_not_tolerate_it(world: World) -> None:
    with spaced(world, "driven") as space:
        plain, hardy = space.create(deployment("plain")), space.create(deployment("hardy"))
        one = {"spreadConstraints": [{"spreadByField": "cluster", "minGroups": 1, "maxGroups": 1}]}
        tolerating = [{"key": GONE, "operator": "Exists"}]
        space.create(policy("plain", [plain], ["m1", "m2"], one))
        space.create(policy("hardy", [hardy], ["m1"], {"clusterTolerations": tolerating}))
        expect(lambda: space.status(plain, "readyReplicas"), [2])
        expect(lambda: space.where(hardy), ["m1"])
        first = space.where(plain)[0]
        with tainted(world, first, {"key": GONE, "effect": "NoExecute"}):
            (other,) = {"m1", "m2"} - {first}
            expect(lambda: space.where(plain), [other])
            expect(lambda: space.status(plain, "readyReplicas"), [2])
            assert space.where(hardy) == ["m1"]


def test_the_work_of_a_lost_cluster_goes_elsewhere_and_it_is_welcome_when_it_is_back(
    world: World,
) -> None:
    condition = {"conditionType": "Ready", "operator": "NotIn", "statusValues": ["True"]}
    driving = {
        "apiVersion": POLICY,
        "kind": "ClusterTaintPolicy",
        "metadata": {"name": "lost"},
        "spec": {
            "targetClusters": {"clusterNames": ["m2"]},
            "addOnConditions": [condition],
            "removeOnConditions": [{**condition, "operator": "In"}],
            "taints": [{"key": GONE, "effect": "NoExecute"}],
        },
    }
    with spaced(world, "lost") as space:
        space.create(driving)
        web = space.create(deployment("web", replicas=4))
        space.create(policy("web", [web], ["m1", "m2"], divided("Weighted", {"m1": 1, "m2": 1})))
        expect(lambda: space.replicas(web), {"m1": 2, "m2": 2})
        expect(lambda: space.status(web, "readyReplicas"), [4])
        world.ground.cut("m2")
        try:
            expect(lambda: world.readiness("m2"), "False")
            expect(lambda: space.targets(web), {"m1": 4})
            expect(lambda: (space.find(web, "m1") or {})["status"].get("readyReplicas"), 4)
        finally:
            world.ground.heal("m2")
        expect(lambda: world.is_open("m2"), True)
        expect(lambda: space.replicas(web), {"m1": 4})
        late = space.create(configmap("late"))
        space.create(policy("late", [late], ["m2"]))
        expect(lambda: space.where(late), ["m2"])


def test_a_cluster_that_is_lost_for_a_while_is_brought_up_to_date(world: World) -> None:
    with spaced(world, "while") as space:
        settings = space.create(configmap("settings", colour="red"))
        gone = space.create(configmap("gone"))
        space.create(policy("both", [settings, gone], ALL))
        expect(lambda: space.where(settings), ALL)
        expect(lambda: space.where(gone), ALL)
        world.ground.cut("m1")
        try:
            expect(lambda: world.readiness("m1"), "False")
            space.plane.patch(settings, {"data": {"colour": "blue"}})
            space.plane.delete(gone)
            expect(lambda: (space.find(settings, "m2") or {})["data"], {"colour": "blue"})
        finally:
            world.ground.heal("m1")
        expect(lambda: (space.find(settings, "m1") or {})["data"], {"colour": "blue"})
        expect(lambda: space.where(gone), [])
        expect(lambda: world.is_open("m1"), True)


def test_an_agent_that_is_killed_goes_on_where_it_was(world: World) -> None:
    with spaced(world, "agent") as space:
        made = []
        for number in range(6):
            made.append(space.create(configmap(f"c{number}", colour="red")))
            space.create(policy(f"c{number}", [made[-1]], [PULLING]))
            if number == 2:
                world.agent.kill()
        world.agent.start()
        for wire in made:
            expect(lambda wire=wire: space.where(wire), [PULLING])  # type: ignore[misc]
        world.agent.kill()
        space.plane.patch(made[0], {"data": {"colour": "blue"}})
        space.plane.delete(made[1])
        world.agent.start()
        expect(lambda: (space.find(made[0], PULLING) or {})["data"], {"colour": "blue"})
        expect(lambda: space.where(made[1]), [])


def test_a_cluster_whose_agent_is_silent_is_unknown_until_it_speaks_again(world: World) -> None:
    world.agent.kill()
    expect(lambda: world.readiness(PULLING), "Unknown")
    expect(lambda: world.taints(PULLING), ["cluster.karmada.io/unreachable:NoSchedule"])
    world.agent.start()
    expect(lambda: world.is_open(PULLING), True)


def placing(space: Space, count: int) -> list[Wire]:
    """Many Deployments under one policy, asked for by several at once."""
    made = [space.here(deployment(f"d{number:02}", replicas=2)) for number in range(count)]
    both = divided("Weighted", dict.fromkeys(("m1", "m3"), 1))
    every = {"apiVersion": "apps/v1", "kind": "Deployment"}
    space.create(policy("all", [every], ["m1", "m3"], both))
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda wire: make(space.plane, wire), made))
    return made


def check_placed(space: Space, made: list[Wire]) -> None:
    for name in ("m1", "m3"):
        list_in = space.world.members[name].list
        wanted = {wire["metadata"]["name"]: 1 for wire in made}
        expect(
            lambda list_in=list_in: {
                each["metadata"]["name"]: each["spec"]["replicas"]
                for each in list_in("apps/v1", "Deployment", space.name)
            },
            wanted,
        )
    expect(lambda: [space.status(wire, "readyReplicas") for wire in made], [[2]] * len(made))
    bindings = space.plane.list("work.karmada.io/v1alpha2", "ResourceBinding", space.name)
    assert len(bindings) == len(made)


def test_a_hub_that_is_killed_while_placing_loses_nothing(world: World) -> None:
    with spaced(world, "killed") as space, ThreadPoolExecutor(1) as pool:
        asking = pool.submit(placing, space, 12)
        expect(lambda: len(world.members["m1"].list("apps/v1", "Deployment", space.name)) > 1, True)
        world.ground.restart_hub()
        check_placed(space, asking.result())


def test_another_leader_goes_on_where_the_last_one_was(world: World) -> None:
    with spaced(world, "leader") as space, ThreadPoolExecutor(1) as pool:
        asking = pool.submit(placing, space, 12)
        expect(lambda: len(world.members["m1"].list("apps/v1", "Deployment", space.name)) > 1, True)
        world.ground.change_leader()
        made = asking.result()
        check_placed(space, made)
        uids = {name: in_member(space, name) for name in ("m1", "m3")}
        space.plane.patch(made[0], {"spec": {"replicas": 4}})
        expect(lambda: space.replicas(made[0]), {"m1": 2, "m3": 2})
        assert {name: in_member(space, name) for name in uids} == uids, "nothing was made anew"


def in_member(space: Space, name: str) -> dict[str, str]:
    found = space.world.members[name].list("apps/v1", "Deployment", space.name)
    return {each["metadata"]["name"]: each["metadata"]["uid"] for each in found}


def test_a_cluster_that_leaves_is_emptied_of_what_is_not_preserved_and_joins_again(
    world: World,
) -> None:
    with spaced(world, "leaving") as space:
        web, kept = space.create(deployment("web")), space.create(configmap("kept"))
        space.create(policy("web", [web], ["m1", "m2"]))
        space.create(policy("kept", [kept], ["m2"], preserveResourcesOnDeletion=True))
        expect(lambda: space.status(web, "readyReplicas"), [4])
        expect(lambda: space.where(kept), ["m2"])
        assert world.unjoin("m2") == "cluster(m2) is unjoined\n"
        assert world.cluster("m2") == {}
        expect(lambda: space.find(web, "m2"), None)
        found = space.find(kept, "m2")
        assert found is not None
        assert not is_managed(found)
        expect(lambda: space.status(web, "readyReplicas"), [2])
        role = {
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "ClusterRole",
            "metadata": {"name": "karmada-controller-manager:karmada-m2"},
        }
        assert world.members["m2"].find(role) is None, "nothing of the plane is left there"
        world.members["m2"].delete(kept)
        own = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "karmada-cluster"}}
        expect(lambda: world.members["m2"].find(own), None)
        assert "cluster(m2) is joined successfully" in world.join("m2")
        expect(lambda: world.is_open("m2"), True)
        expect(lambda: space.replicas(web), {"m1": 2, "m2": 2})
        expect(lambda: space.status(web, "readyReplicas"), [4])
        expect(lambda: space.where(kept), ["m2"])
