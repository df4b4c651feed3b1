"""Laws of interpreting that hold for whatever objects there are, sound and broken."""

import copy
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from interpreting_builders import NATIVE_ONLY, make, make_workload

from atoll.dialects.kubernetes.pods import demand
from atoll.errors import Invalid
from atoll.interpreting.builtin import NATIVE
from atoll.interpreting.kinds import CRON_JOB, DEPLOYMENT, JOB, REPLICA_SET, SERVICE, STATEFUL_SET
from atoll.interpreting.operations import Item
from atoll.interpreting.pruning import prune

KINDS = sorted(NATIVE)
WORKLOADS = [DEPLOYMENT, REPLICA_SET, STATEFUL_SET, JOB]
EARLY, LATER = "2026-05-01T10:00:00Z", "2026-05-01T11:00:00+02:00"
TOKEN = "kubernetes.io/service-account-token"
RETAINED = "resourcetemplate.karmada.io/retain-replicas"
MADE = {"controller-uid": "u", "job-name": "web"}
CONTAINER = {
    "name": "a",
    "volumeMounts": [{"name": "v"}],
    "env": [{"valueFrom": {"secretKeyRef": {"name": "s"}, "configMapKeyRef": {"name": "c"}}}],
    "envFrom": [{"secretRef": {"name": "s"}, "configMapRef": {"name": "c"}}],
    "resources": {"requests": {"cpu": "1"}, "limits": {"memory": "1Gi"}},
}
POD_SPEC = {
    "nodeName": "n",
    "serviceAccountName": "robot",
    "nodeSelector": {"a": "b"},
    "tolerations": [{"operator": "Exists"}],
    "containers": [CONTAINER],
    "initContainers": [CONTAINER],
    "volumes": [
        {"secret": {"secretName": "s"}, "persistentVolumeClaim": {"claimName": "c"}},
        {"projected": {"sources": [{"secret": {"name": "s"}, "configMap": {"name": "c"}}]}},
    ],
}
STATUS = {
    "replicas": 1,
    "readyReplicas": 1,
    "numberReady": 1,
    "phase": "Running",
    "observedGeneration": 1,
    "generation": 1,
    "resourceTemplateGeneration": 1,
    "active": 1,
    "startTime": EARLY,
    "completionTime": LATER,
    "conditions": [{"type": "Complete", "status": "False", "lastTransitionTime": LATER}],
    "loadBalancer": {"ingress": [{"ip": "192.0.2.1", "ports": [{"port": 80, "protocol": "TCP"}]}]},
    "containerStatuses": [{"ready": True, "state": {"running": {}}}],
    "disruptedPods": {"a": EARLY},
    "currentHealthy": 1,
}
# Every field that any kind is asked about, so that each can be wrong.
GOOD = {
    "metadata": {
        "name": "web",
        "namespace": "shop",
        "uid": "u",
        "resourceVersion": "1",
        "generation": 1,
        "labels": {RETAINED: "true"},
        "annotations": {
            "resourcetemplate.karmada.io/generation": "1",
            "deployment.kubernetes.io/revision": "1",
            "kubernetes.io/service-account.uid": "u",
        },
    },
    "spec": POD_SPEC
    | {
        "replicas": 2,
        "parallelism": 2,
        "completions": 2,
        "manualSelector": False,
        "ttlSecondsAfterFinished": 1,
        "selector": {"matchLabels": MADE},
        "template": {"metadata": {"labels": MADE}, "spec": POD_SPEC},
        "jobTemplate": {"spec": {"template": {"spec": POD_SPEC}}},
        "volumeClaimTemplates": [{"metadata": {"name": "c"}}],
        "tls": [{"secretName": "s"}],
        "type": "LoadBalancer",
        "clusterIP": "10.0.0.1",
        "clusterIPs": ["10.0.0.1"],
        "externalTrafficPolicy": "Local",
        "healthCheckNodePort": 31000,
        "ports": [{"port": 80, "protocol": "TCP", "nodePort": 30001}],
        "volumeName": "v",
        "claimRef": {"name": "c"},
    },
    "type": TOKEN,
    "data": {"token": "eA=="},
    "secrets": [{"name": "web-token-1"}, {"name": "s"}],
    "imagePullSecrets": [{"name": "p"}],
    "status": STATUS,
    "clusterName": "m1",
    "applied": True,
    "health": "Healthy",
}

counts = st.integers(0, 2**31 - 1)
words = st.sampled_from(["", "a", "None", "True", "NodePort", "web-token-2", "much", EARLY])
scalars = st.none() | st.booleans() | st.integers(-2, 9) | st.floats() | words
junk = scalars | st.lists(scalars, max_size=2) | st.dictionaries(words, scalars, max_size=2)


def places(wire: Any) -> list[tuple[str | int, ...]]:
    """Every place inside a document."""
    inner: list[tuple[str | int, Any]] = []
    if isinstance(wire, dict):
        inner = list(wire.items())
    if isinstance(wire, list):
        inner = list(enumerate(wire))
    return [(), *((key, *rest) for key, value in inner for rest in places(value))]


def put(wire: Any, place: tuple[str | int, ...], value: Any) -> Any:
    if not place:
        return value
    changed = copy.copy(wire)
    changed[place[0]] = put(wire[place[0]], place[1:], value)
    return changed


def spoilt(good: Any) -> Any:
    """A good document with something wrong, or missing, in one place."""
    spots = st.sampled_from([place for place in places(good) if place])
    return st.builds(lambda place, value: put(good, place, value), spots, junk)


bodies = spoilt(GOOD)
statuses = st.fixed_dictionaries(
    {},
    optional={
        "replicas": st.integers(0, 5),
        "readyReplicas": st.integers(0, 5),
        "active": st.integers(0, 5),
        "numberReady": st.integers(0, 5),
        "expectedPods": st.integers(0, 5),
        "phase": st.sampled_from(["", "Pending", "Running", "Bound", "Lost", "Failed"]),
        "startTime": st.sampled_from([EARLY, LATER]),
        "conditions": st.lists(
            st.fixed_dictionaries(
                {
                    "type": st.sampled_from(["Complete", "Failed", "SuccessCriteriaMet"]),
                    "status": st.sampled_from(["True", "False"]),
                }
            ),
            max_size=2,
        ),
        "loadBalancer": st.fixed_dictionaries(
            {"ingress": st.lists(st.dictionaries(st.sampled_from(["ip", "hostname"]), words))}
        ),
        "observedGeneration": st.integers(0, 3),
        "resourceTemplateGeneration": st.integers(0, 3),
        "disruptedPods": st.dictionaries(words, words, max_size=2),
    },
)
reports = st.dictionaries(st.sampled_from(["m1", "m2", "m3"]), st.none() | statuses)
kinds = st.sampled_from(KINDS)


def object_of(kind: tuple[str, str], body: Any) -> dict[str, Any]:
    return {"apiVersion": kind[0], "kind": kind[1], **body}


@given(st.sampled_from(WORKLOADS), counts, counts)
def test_a_revised_template_asks_for_what_it_was_revised_to(kind, before, after):
    template = make_workload(kind, replicas=before, parallelism=before)
    assert NATIVE_ONLY.replicas(NATIVE_ONLY.revise(template, after)).count == after


resources = st.sampled_from(["cpu", "memory", "hugepages-2Mi", "example.com/gpu"])
quantities = st.sampled_from(["1m", "250m", "1", "1.5", "1Gi", "1.5Mi", "1M", "7", "0", 3])
containers = st.lists(
    st.builds(
        lambda requests: {"resources": {"requests": requests}},
        st.dictionaries(resources, quantities),
    ),
    max_size=3,
)


@given(containers, containers)
def test_what_a_binding_stores_is_what_the_pod_needs(running, starting):
    pod = {"containers": running, "initContainers": starting}
    stored, needed = NATIVE_ONLY.replicas(make_workload(DEPLOYMENT, pod)).demand, demand(pod)
    found = () if stored is None else stored.requests
    assert [(name, each.in_its_unit(name)) for name, each in found] == [
        (name, each.in_its_unit(name)) for name, each in needed.requests
    ]


@given(kinds, reports, statuses, st.randoms(use_true_random=False))
def test_the_order_of_reports_does_not_matter(kind, told, old, chance):
    template = make(kind, spec={"type": "LoadBalancer"}, status=old, metadata={"generation": 2})
    assume(kind != CRON_JOB)  # its `active` is a list, not a number
    items = [Item(cluster, status) for cluster, status in told.items()]
    first = NATIVE_ONLY.aggregate(template, tuple(items))
    chance.shuffle(items)
    assert NATIVE_ONLY.aggregate(template, tuple(items)) == first


@given(kinds, reports, statuses)
def test_a_status_once_written_is_not_written_again(kind, told, old):
    template = make(kind, spec={"type": "LoadBalancer"}, status=old, metadata={"generation": 2})
    assume(kind != CRON_JOB)  # its `active` is a list, not a number
    items = tuple(Item(cluster, status) for cluster, status in told.items())
    status = NATIVE_ONLY.aggregate(template, items)
    if status is not None:
        assert NATIVE_ONLY.aggregate({**template, "status": status}, items) is None


@given(kinds, bodies, bodies)
def test_keeping_the_member_s_fields_twice_changes_nothing_more(kind, wanted, seen):
    desired, observed = object_of(kind, wanted), object_of(kind, seen)
    before = copy.deepcopy((desired, observed))
    try:
        kept = NATIVE_ONLY.retain(desired, observed)
        assert repr(NATIVE_ONLY.retain(kept, observed)) == repr(kept)
    except Invalid:
        pass
    assert repr((desired, observed)) == repr(before)


ports = st.lists(
    st.fixed_dictionaries(
        {"port": st.integers(1, 3)}, optional={"nodePort": st.integers(30000, 30003)}
    ),
    max_size=3,
    unique_by=lambda port: port["port"],
)
sorts = st.sampled_from(["ClusterIP", "NodePort", "LoadBalancer", "ExternalName"])


@given(sorts, ports, ports)
def test_a_service_never_gets_one_port_on_nodes_twice(sort, wanted, given_ports):
    nodes = [port["nodePort"] for port in wanted if "nodePort" in port]
    had = [port["nodePort"] for port in given_ports if "nodePort" in port]
    assume(len(set(nodes)) == len(nodes))
    assume(len(set(had)) == len(had))
    desired = make(SERVICE, spec={"type": sort, "ports": wanted})
    kept = NATIVE_ONLY.retain(
        desired, make(SERVICE, spec={"type": "NodePort", "ports": given_ports})
    )
    after = [port["nodePort"] for port in kept["spec"]["ports"] if "nodePort" in port]
    assert len(set(after)) == len(after)
    assert set(nodes) <= set(after)
    if sort in ("ClusterIP", "ExternalName"):
        assert kept["spec"]["ports"] == wanted


@given(kinds, bodies)
def test_a_manifest_has_no_status_and_no_identity_and_pruning_it_again_changes_nothing(kind, body):
    template = object_of(kind, body)
    before = repr(template)
    try:
        manifest = prune(template)
    except Invalid:
        return
    assert "status" not in manifest
    assert not {"uid", "resourceVersion"} & set(manifest.get("metadata") or {})
    assert repr(prune(manifest)) == repr(manifest)
    assert repr(template) == before


OPERATIONS: dict[str, Callable[[Any, Any], object]] = {
    "replicas": lambda template, _: NATIVE_ONLY.replicas(template),
    "revise": lambda template, _: NATIVE_ONLY.revise(template, 3),
    "retain": NATIVE_ONLY.retain,
    "retain-from": lambda template, observed: NATIVE_ONLY.retain(observed, template),
    "aggregate": lambda template, _: NATIVE_ONLY.aggregate(template, (Item("m1", STATUS),)),
    "aggregate-from": lambda template, good: NATIVE_ONLY.aggregate(
        {**good, "status": {}}, (Item("m1", STATUS), Item("m2", template["status"]))
    ),
    "reflect": lambda template, _: NATIVE_ONLY.reflect(template),
    "health": lambda template, _: NATIVE_ONLY.health(template),
    "dependencies": lambda template, _: NATIVE_ONLY.dependencies(template),
    "prune": lambda template, _: prune(template),
    "read": lambda template, _: Item.of(template),
}


def expect_understood_or_refused(operation: str, kind: tuple[str, str], body: Any) -> None:
    refusal = None
    try:
        OPERATIONS[operation](object_of(kind, body), object_of(kind, GOOD))
    except Invalid as refused:
        refusal = refused
    assert refusal is None or (refusal.field and refusal.problem)


@settings(max_examples=200)
@given(bodies)
def test_junk_anywhere_is_understood_or_refused_by_its_name(body):
    for kind in KINDS:
        for operation in OPERATIONS:
            expect_understood_or_refused(operation, kind, body)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind[1])
def test_good_objects_are_understood(kind):
    for operation in OPERATIONS:
        if (operation, kind) not in (("aggregate", CRON_JOB), ("aggregate-from", CRON_JOB)):
            OPERATIONS[operation](object_of(kind, GOOD), object_of(kind, GOOD))
    assert NATIVE_ONLY.health(object_of(kind, GOOD)) != "Unknown"
