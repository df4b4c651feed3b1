"""Clients as others have written them: the same words on both grounds."""

import copy
import json
import re
from typing import Any

import yaml
from kubernetes import client, config, watch
from metrics_server import measured
from wanted_objects import cluster_ref, configmap, deployment, policy
from world import Space, World, expect

from atoll.wire import Wire

CLUSTERS = "/apis/cluster.karmada.io/v1alpha1/clusters"
CUSTOMIZATION = """
apiVersion: config.karmada.io/v1alpha1
kind: ResourceInterpreterCustomization
metadata: {name: declarative}
spec:
  target: {apiVersion: apps/v1, kind: Deployment}
  customizations:
    replicaResource:
      luaScript: |
        function GetReplicas(obj)
          return obj.spec.replicas + 1, nil
        end
"""


def rows(said: str) -> list[list[str]]:
    """The cells of a table, without its head."""
    return [line.split() for line in said.splitlines()[1:]]


def karmadactl(world: World, words: str, code: int = 0) -> str:
    done = world.tool("karmadactl", words)
    assert done.code == code, done.out + done.err
    return done.out + done.err


def file(space: Space, name: str, wire: Wire | str) -> str:
    path = space.world.home / f"{space.name}-{name}"
    path.write_text(wire if isinstance(wire, str) else json.dumps(wire))
    return str(path)


def test_kubectl_lists_describes_and_applies(space: Space) -> None:
    world = space.world
    table = world.kubectl("get clusters").splitlines()
    assert table[0].split() == ["NAME", "VERSION", "MODE", "READY", "AGE"]
    modes = {line.split()[0]: line.split()[2:4] for line in table[1:]}
    assert modes == {"m1": ["Push", "True"], "m2": ["Push", "True"], "m3": ["Pull", "True"]}
    assert "ClusterReady" in world.kubectl("describe cluster m1")
    placed = policy("web", [deployment("web")], ["m1", "m3"])
    for name, wire in (("policy", placed), ("web", deployment("web"))):
        said = world.kubectl(f"apply -n {space.name} -f {file(space, name, wire)}")
        assert said.endswith(" created\n")
    said = world.kubectl(f"apply -n {space.name} -f {file(space, 'web', wire)}")
    assert said == "deployment.apps/web unchanged\n"
    ready = "--for=jsonpath={.status.readyReplicas}=4 --timeout=120s"
    said = world.kubectl(f"wait -n {space.name} deploy/web {ready}")
    assert said == "deployment.apps/web condition met\n"
    table = world.kubectl(f"get rb -n {space.name}").splitlines()
    assert table[0].split() == ["NAME", "SCHEDULED", "FULLYAPPLIED", "AGE"]
    assert table[1].split()[:3] == ["web-deployment", "True", "True"]
    assert "placement" in world.kubectl("explain propagationpolicy.spec")
    raw = (
        f"/apis/cluster.karmada.io/v1alpha1/clusters/m3/proxy/apis/apps/v1/namespaces/{space.name}"
    )
    found = json.loads(world.kubectl(f"get --raw {raw}/deployments/web"))
    assert found["spec"]["replicas"] == 2


def test_kubectl_is_told_what_is_wrong(space: Space) -> None:
    wrong = policy("web", [deployment("web")], ["m1"])
    wrong["spec"]["placement"]["replicaScheduling"] = {"replicaSchedulingType": "Sometimes"}
    done = space.world.tool("kubectl", f"create -n {space.name} -f {file(space, 'a', wrong)}")
    assert done.code == 1
    assert 'The PropagationPolicy "web" is invalid' in done.err
    assert 'Unsupported value: "Sometimes"' in done.err
    nothing = {**policy("web", [], ["m1"])}
    done = space.world.tool("kubectl", f"create -n {space.name} -f {file(space, 'b', nothing)}")
    assert done.code == 1
    assert "resourceSelectors" in done.err
    taken = {**cluster_ref("Big_One"), "spec": {"syncMode": "Push"}}
    done = space.world.tool("kubectl", f"create -f {file(space, 'c', taken)}")
    assert done.code == 1
    assert 'The Cluster "Big_One" is invalid' in done.err


def test_the_python_client_makes_lists_watches_and_goes_through_the_plane(space: Space) -> None:
    with config.new_client_from_config(str(space.world.ground.kubeconfig)) as api:
        custom, core = client.CustomObjectsApi(api), client.CoreV1Api(api)
        group = ("cluster.karmada.io", "v1alpha1")
        listed: Any = custom.list_cluster_custom_object(*group, "clusters")
        assert sorted(each["metadata"]["name"] for each in listed["items"]) == ["m1", "m2", "m3"]
        core.create_namespaced_config_map(space.name, configmap("settings", a="b"))
        placed = policy("settings", [configmap("settings")], ["m1", "m3"])
        where = ("policy.karmada.io", "v1alpha1", space.name, "propagationpolicies")
        made: Any = custom.create_namespaced_custom_object(*where, placed)
        assert made["spec"]["resourceSelectors"][0]["namespace"] == space.name, "by default"
        applied = "FullyApplied"
        bindings = ("work.karmada.io", "v1alpha2", space.name, "resourcebindings")
        stream = watch.Watch()
        for event in stream.stream(
            custom.list_namespaced_custom_object, *bindings, timeout_seconds=120
        ):
            conditions = (event["object"].get("status") or {}).get("conditions") or ()
            if any((each["type"], each["status"]) == (applied, "True") for each in conditions):
                stream.stop()
        assert space.where(configmap("settings")) == ["m1", "m3"]
        through = copy.copy(api.configuration)
        through.host += f"{CLUSTERS}/m1/proxy"
        with client.ApiClient(through) as member:
            found = client.CoreV1Api(member).read_namespaced_config_map("settings", space.name)
        assert found.data == {"a": "b"}


def test_karmadactl_lists_describes_and_applies(space: Space) -> None:
    world = space.world
    listed = {row[0]: row[3:5] for row in rows(karmadactl(world, "get clusters"))}
    assert listed == {"m1": ["Push", "True"], "m2": ["Push", "True"], "m3": ["Pull", "True"]}
    assert re.search(r"Sync Mode: +Push\n", karmadactl(world, "describe cluster m1"))
    path = file(space, "web", space.here(deployment("web")))
    said = karmadactl(world, f"apply -f {path} -n {space.name} --cluster m1 --cluster m3")
    assert re.search(r"deployment.apps/web created\npropagationpolicy\S+ created", said)
    scope = f"get deploy web -n {space.name} -C m1,m3 --operation-scope=all"
    wanted = [("Karmada", "4/2"), ("m1", "2/2"), ("m3", "2/2")]
    expect(lambda: sorted((row[1], row[2]) for row in rows(karmadactl(world, scope))), wanted)
    scope = f"-n {space.name} --operation-scope=members"
    pods = rows(karmadactl(world, f"get pods -l app=web -C m3 {scope}"))
    assert len(pods) == 2
    described = karmadactl(world, f"describe deploy web -C m1 {scope}")
    assert "MinimumReplicasAvailable" in described
    assert karmadactl(world, f"logs {pods[0][0]} -C m3 -n {space.name}").strip() != ""


def test_karmadactl_tells_what_pods_use_where_a_member_knows_it(space: Space) -> None:
    world, member = space.world, space.world.members["m2"]
    space.create(configmap("settings"))
    space.create(policy("settings", [configmap("settings")], ["m2"]))
    expect(lambda: space.where(configmap("settings")), ["m2"])  # and with it the namespace
    asked = f"top pods -C m2 -n {space.name}"
    assert "cluster(m2): metrics API not available" in karmadactl(world, asked, 1)
    with measured(member, world.home, space.name, "web-1"):
        known = [["web-1", "m2", "250m", "64Mi"]]
        expect(lambda: rows(world.tool("karmadactl", asked).out), known)


def test_karmadactl_interprets_what_a_kind_means(space: Space) -> None:
    customization = file(space, "customization.yaml", CUSTOMIZATION)
    tried = file(space, "tried.yaml", deployment("tried"))
    said = karmadactl(space.world, f"interpret -f {customization} --check")
    assert re.search(r"InterpretReplica: +PASS", said)
    asked = f"interpret -f {customization} --operation interpretReplica --desired-file {tried}"
    assert "replica:\n3" in karmadactl(space.world, asked)


def test_karmadactl_promotes_what_a_member_has(space: Space) -> None:
    own = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": space.name}}
    expect(lambda: space.world.members["m2"].find(own) is None, False)
    legacy = space.here(configmap("legacy", a="b"))
    space.world.members["m2"].create(legacy)
    said = karmadactl(space.world, f"promote configmap legacy -C m2 -n {space.name}")
    assert f"({space.name}/legacy) is promoted successfully" in said
    expect(lambda: space.where(legacy), ["m2"])
    assert (space.find(legacy) or {})["data"] == {"a": "b"}


def test_karmadactl_cordons_and_taints(world: World) -> None:
    assert karmadactl(world, "cordon m1") == "m1 cluster cordoned\n"
    assert world.taints("m1") == ["cluster.karmada.io/unschedulable:NoSchedule"]
    assert karmadactl(world, "uncordon m1") == "m1 cluster uncordoned\n"
    assert karmadactl(world, "taint clusters m1 a=b:NoSchedule") == "cluster/m1 tainted\n"
    assert world.taints("m1") == ["a:NoSchedule"]
    assert karmadactl(world, "taint clusters m1 a:NoSchedule-") == "cluster/m1 untainted\n"
    assert world.taints("m1") == []


def test_karmadactl_lets_a_cluster_leave_and_join(world: World) -> None:
    way = world.ground.way("m2")
    context = yaml.safe_load(way.read_text())["current-context"]
    there = f"m2 --cluster-kubeconfig {way} --cluster-context {context}"
    karmadactl(world, f"unjoin {there}")
    check_left(world, "m2")
    assert "cluster(m2) is joined successfully" in karmadactl(world, f"join {there}")
    expect(lambda: world.is_open("m2"), True)
    karmadactl(world, f"unjoin {there}")
    check_left(world, "m2")
    world.join("m2")
    expect(lambda: world.is_open("m2"), True)


def check_left(world: World, name: str) -> None:
    """Nothing is left of a cluster in the plane, nor of the plane in it."""
    expect(lambda: world.cluster(name), {})
    own = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "karmada-cluster"}}
    expect(lambda: world.members[name].find(own), None)
