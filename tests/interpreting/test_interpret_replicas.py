"""How many replicas a template asks for, what each needs, and templates with another number."""

import pytest
from interpreting_builders import NATIVE_ONLY, make, make_workload

from atoll.errors import Invalid
from atoll.interpreting.builtin import NATIVE
from atoll.interpreting.kinds import (
    DAEMON_SET,
    DEPLOYMENT,
    JOB,
    POD,
    REPLICA_SET,
    SERVICE,
    STATEFUL_SET,
)
from atoll.interpreting.operations import Interpretation, Interpreters, Operation, Replicas
from atoll.interpreting.requirements import written
from atoll.model.action import Ref
from atoll.model.amount import Amount


@pytest.mark.parametrize(
    ("template", "count"),
    [
        pytest.param(make_workload(DEPLOYMENT, replicas=3), 3, id="a-deployment-says-it"),
        pytest.param(make_workload(REPLICA_SET, replicas=4), 4, id="a-replica-set-says-it"),
        pytest.param(make_workload(STATEFUL_SET, replicas=0), 0, id="none-is-a-number"),
        pytest.param(make_workload(DEPLOYMENT), 1, id="one-if-nothing-is-said"),
        pytest.param(make_workload(JOB, parallelism=5), 5, id="a-job-without-end"),
        pytest.param(make_workload(JOB, parallelism=5, completions=3), 3, id="three-left-to-do"),
        pytest.param(make_workload(JOB, parallelism=2, completions=9), 2, id="two-at-a-time"),
        pytest.param(make_workload(JOB), 1, id="a-job-runs-one-pod"),
        pytest.param(make(POD, spec={}), 1, id="a-pod-is-one"),
    ],
)
def test_a_workload_asks_for_replicas(template, count):
    assert NATIVE_ONLY.replicas(template) == Replicas(count)


@pytest.mark.parametrize("kind", [SERVICE, DAEMON_SET, ("example.com/v1", "Toy")])
def test_what_is_no_workload_has_no_replicas_and_is_not_revised(kind):
    template = make(kind, spec={"replicas": 3})
    assert NATIVE_ONLY.replicas(template) is None
    assert NATIVE_ONLY.revise(template, 7) is template


def test_a_binding_stores_what_a_replica_needs_as_the_pod_says_it():
    affinity = {"nodeSelectorTerms": [{"matchExpressions": [{"key": "gpu", "operator": "Exists"}]}]}
    pod = {
        "containers": [
            {"resources": {"requests": {"cpu": "250m", "memory": "512Mi"}}},
            {"resources": {"limits": {"cpu": "1750m", "memory": "512Mi", "example.com/gpu": 2}}},
        ],
        "nodeSelector": {"disk": "ssd"},
        "tolerations": [{"key": "gpu", "operator": "Exists"}],
        "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": affinity}},
        "priorityClassName": "high",
    }
    found = NATIVE_ONLY.replicas(make_workload(DEPLOYMENT, pod, replicas=2))
    assert found.requirements == NATIVE_ONLY.replicas(make_workload(STATEFUL_SET, pod)).requirements
    assert found.requirements == {
        "nodeClaim": {
            "nodeSelector": {"disk": "ssd"},
            "tolerations": [{"key": "gpu", "operator": "Exists"}],
            "hardNodeAffinity": affinity,
        },
        "resourceRequest": {"cpu": "2", "memory": "1Gi", "example.com/gpu": "2"},
        "priorityClassName": "high",
    }
    assert found.demand.namespace == "shop"
    assert dict(found.demand.requests)["cpu"] == Amount(2000)
    assert found.demand.claim.selector == (("disk", "ssd"),)


def test_a_pod_that_asks_for_nothing_has_no_requirements():
    pod = {"containers": [{"name": "web"}], "nodeSelector": {}, "priorityClassName": "high"}
    assert NATIVE_ONLY.replicas(make_workload(DEPLOYMENT, pod)) == Replicas(1)


def test_an_affinity_that_no_node_meets_is_passed_on():
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {}}
    pod = {"affinity": {"nodeAffinity": required}}
    found = NATIVE_ONLY.replicas(make_workload(DEPLOYMENT, pod))
    assert found.requirements == {"nodeClaim": {"hardNodeAffinity": {}}}


@pytest.mark.parametrize(
    ("resource", "amount", "text"),
    [
        pytest.param("cpu", Amount(250), "250m", id="a-quarter-of-a-cpu"),
        pytest.param("cpu", Amount(1500), "1500m", id="one-and-a-half"),
        pytest.param("cpu", Amount(2000), "2", id="two"),
        pytest.param("cpu", Amount(2_000_000), "2k", id="two-thousand"),
        pytest.param("memory", Amount(1024**3 * 1000, binary=True), "1Gi", id="one-gibibyte"),
        pytest.param("memory", Amount(1536 * 1024**2 * 1000, binary=True), "1536Mi", id="odd"),
        pytest.param("memory", Amount(500, binary=True), "1", id="half-a-byte-is-one"),
        pytest.param("memory", Amount(2**90 * 1000, binary=True), "1073741824Ei", id="a-lot"),
        pytest.param("example.com/gpu", Amount(3000), "3", id="three-gpus"),
        pytest.param("example.com/gpu", Amount(0), "0", id="none"),
    ],
)
def test_amounts_are_written_as_kubernetes_does(resource, amount, text):
    assert written(resource, amount) == text


def test_revising_changes_the_number_and_nothing_else():
    template = make_workload(DEPLOYMENT, replicas=3, paused=True)
    revised = NATIVE_ONLY.revise(template, 7)
    assert revised == make_workload(DEPLOYMENT, replicas=7, paused=True)
    assert template["spec"]["replicas"] == 3
    assert NATIVE_ONLY.revise(make_workload(JOB), 4)["spec"]["parallelism"] == 4


@pytest.mark.parametrize("count", [-1, 2**31])
def test_no_template_gets_an_impossible_number_of_replicas(count):
    with pytest.raises(Invalid, match="replicas"):
        NATIVE_ONLY.revise(make_workload(DEPLOYMENT), count)


@pytest.mark.parametrize(
    ("template", "field"),
    [
        pytest.param(
            make_workload(DEPLOYMENT, replicas="3"), "spec.replicas", id="a-text-for-a-number"
        ),
        pytest.param(make(DEPLOYMENT, spec=[]), "spec", id="a-list-for-a-spec"),
        pytest.param(make(DEPLOYMENT, spec={"template": 1}), "spec.template", id="no-template"),
        pytest.param(
            make_workload(
                DEPLOYMENT, {"containers": [{"resources": {"requests": {"cpu": "much"}}}]}
            ),
            "spec.template.spec.containers[0].resources.requests[cpu]",
            id="no-quantity",
        ),
        pytest.param(
            make(POD, spec={"containers": "all"}), "spec.containers", id="containers-of-a-pod"
        ),
        pytest.param({"apiVersion": 1, "kind": "Pod"}, "apiVersion", id="no-version"),
    ],
)
def test_a_wrong_template_is_told_where_it_is_wrong(template, field):
    with pytest.raises(Invalid) as told:
        NATIVE_ONLY.replicas(template)
    assert told.value.field == field


def test_the_first_layer_that_knows_an_operation_answers_it():
    mine = {DEPLOYMENT: Interpretation(replicas=lambda _: Replicas(42))}
    theirs = {DEPLOYMENT: Interpretation(replicas=lambda _: Replicas(1), health=lambda _: False)}
    asked = Interpreters((mine, theirs, NATIVE))
    template = make_workload(DEPLOYMENT, replicas=3)
    assert asked.replicas(template) == Replicas(42)
    assert asked.health(template) == "Unhealthy"
    assert asked.revise(template, 5)["spec"]["replicas"] == 5


def test_an_error_in_a_layer_is_not_covered_up_by_the_layers_behind():
    def fail(_):
        raise Invalid("spec", None, "not for us")

    asked = Interpreters(({DEPLOYMENT: Interpretation(replicas=fail)}, NATIVE))
    with pytest.raises(Invalid, match="not for us"):
        asked.replicas(make_workload(DEPLOYMENT, replicas=3))


@pytest.mark.parametrize(
    ("kind", "operation", "known"),
    [
        (DEPLOYMENT, Operation.REVISE, True),
        (POD, Operation.REPLICAS, True),
        (POD, Operation.REVISE, False),
        (SERVICE, Operation.AGGREGATE, True),
        (SERVICE, Operation.DEPENDENCIES, False),
        (JOB, Operation.HEALTH, False),
        (STATEFUL_SET, Operation.RETAIN, False),
        (("apps/v2", "Deployment"), Operation.REPLICAS, False),
        (DAEMON_SET, Operation.REFLECT, True),
    ],
)
def test_what_is_known_of_a_kind(kind, operation, known):
    assert NATIVE_ONLY.has(Ref(*kind), operation) is known
