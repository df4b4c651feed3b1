"""Members of a real host, and Deployments that go to them."""

from replicas import Host, Setting, wait_for

from atoll.wire import Wire
from testenv.cluster import Cluster

POLICY = "policy.karmada.io/v1alpha1"
BULK = 12_000  # bytes in each of them: so a write of one is known from other requests


def deployment(name: str, space: str, replicas: int) -> Wire:
    labels = {"app": name}
    pod = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    told = {"bulk": "x" * BULK}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"namespace": space, "name": name, "annotations": told},
        "spec": {"replicas": replicas, "selector": {"matchLabels": labels}, "template": pod},
    }


def path_of(space: str, name: str) -> str:
    return f"/apis/apps/v1/namespaces/{space}/deployments/{name}"


def place(host: Host, space: str, *names: str, replicas: int = 1) -> None:
    """Have Deployments in a namespace, and that they go to all members."""
    wire: Wire = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": space}}
    host.apply(f"/api/v1/namespaces/{space}", wire)
    spec = {
        "resourceSelectors": [{"apiVersion": "apps/v1", "kind": "Deployment"}],
        "placement": {"clusterTolerations": [{"operator": "Exists"}]},
    }
    policy = {
        "apiVersion": POLICY,
        "kind": "PropagationPolicy",
        "metadata": {"namespace": space, "name": "all"},
        "spec": spec,
    }
    path = f"/apis/{POLICY}/namespaces/{space}/propagationpolicies/all"
    wait_for("a policy", lambda: host.apply(path, policy))
    for name in names:
        host.apply(path_of(space, name), deployment(name, space, replicas))


def replicas_in(member: Cluster, space: str, name: str) -> int | None:
    """How many a member was told to run; None if nothing."""
    answer = member.request("GET", path_of(space, name))
    return answer.json()["spec"]["replicas"] if answer.status == 200 else None


def enrolled(setting: Setting) -> Host:
    host = setting.host
    for name, member in setting.members.items():
        wait_for(f"Cluster {name}", lambda n=name, m=member: host.enrol(n, m) is None)
    return host


def all_are_ready(setting: Setting) -> bool:
    return all(setting.host.is_ready(name) for name in setting.members)
