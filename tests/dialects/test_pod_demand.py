"""What a pod template needs, counted as Kubernetes' scheduler counts it."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atoll.dialects.kubernetes.pods import claim, demand
from atoll.errors import Invalid
from atoll.model.amount import Amount
from atoll.model.demand import Demand, NodeClaim, NodeTerm
from atoll.model.selector import NEVER, Operator, Requirement
from atoll.model.taint import Toleration

GI = 2**30


def container(*, restart: str = "", limits: Any = None, **requests: str) -> dict[str, Any]:
    made: dict[str, Any] = {"resources": {"requests": requests, "limits": limits or {}}}
    return made | ({"restartPolicy": restart} if restart else {})


def sidecar(**requests: str) -> dict[str, Any]:
    return container(restart="Always", **requests)


def cpu_of(**spec: Any) -> int:
    return dict(demand(spec).requests).get("cpu", Amount(0)).milli


def test_an_empty_spec_needs_nothing() -> None:
    assert demand({}) == Demand()


@pytest.mark.parametrize(
    ("spec", "milli"),
    [
        pytest.param({"containers": [container(cpu="1"), container(cpu="250m")]}, 1250, id="sum"),
        pytest.param(
            {"containers": [container(limits={"cpu": "2"})]}, 2000, id="a limit is a request"
        ),
        pytest.param(
            {"containers": [container(limits={"cpu": "2"}, cpu="1")]}, 1000, id="a request is one"
        ),
        pytest.param(
            {"containers": [container(cpu="1")], "initContainers": [container(cpu="3")]},
            3000,
            id="starting takes more than running",
        ),
        pytest.param(
            {
                "containers": [container(cpu="2")],
                "initContainers": [container(cpu="1"), container(cpu="1500m")],
            },
            2000,
            id="running takes more than starting",
        ),
        pytest.param(
            {"containers": [container(cpu="1")], "initContainers": [sidecar(cpu="500m")]},
            1500,
            id="a sidecar runs along",
        ),
        pytest.param(
            {
                "containers": [container(cpu="1")],
                "initContainers": [sidecar(cpu="1"), container(cpu="5"), sidecar(cpu="2")],
            },
            6000,
            id="a step beside the sidecars before it",
        ),
        pytest.param(
            {
                "containers": [container(cpu="1")],
                "initContainers": [container(cpu="5"), sidecar(cpu="1"), sidecar(cpu="2")],
            },
            5000,
            id="sidecars after a step do not add to it",
        ),
        pytest.param(
            {"containers": [container(cpu="1")], "overhead": {"cpu": "100m"}},
            1100,
            id="overhead on top",
        ),
        pytest.param(
            {
                "containers": [container(cpu="1")],
                "resources": {"requests": {"cpu": "4"}},
                "overhead": {"cpu": "1"},
            },
            5000,
            id="the whole pod says more, and overhead comes on top",
        ),
        pytest.param(
            {"containers": [container(cpu="1")], "resources": {"limits": {"cpu": "4"}}},
            1000,
            id="the pod's limit is no request where a container asks",
        ),
        pytest.param(
            {"containers": [container()], "resources": {"limits": {"cpu": "4"}}},
            4000,
            id="the pod's limit is a request where none asks",
        ),
    ],
)
def test_cpu_is_counted_as_kubernetes_counts_it(spec: Any, milli: int) -> None:
    assert cpu_of(**spec) == milli


def test_only_some_resources_can_be_asked_for_by_the_whole_pod() -> None:
    whole = {"nvidia.com/gpu": "1", "memory": "2Gi", "hugepages-2Mi": "4Mi"}
    found = demand({"containers": [container(cpu="1")], "resources": {"requests": whole}})
    assert found.requests == (
        ("cpu", Amount(1000)),
        ("hugepages-2Mi", Amount(4 * 2**20 * 1000, binary=True)),
        ("memory", Amount(2 * GI * 1000, binary=True)),
    )


def test_bytes_are_binary_however_they_are_written() -> None:
    found = demand({"containers": [container(memory="1000", cpu="0", **{"x.io/y": "2"})]})
    assert found.requests == (("memory", Amount(1_000_000, binary=True)), ("x.io/y", Amount(2000)))


def term(*expressions: tuple[str, str, list[str]], fields: Any = ()) -> dict[str, Any]:
    def written(each: Any) -> list[Any]:
        return [{"key": key, "operator": how, "values": values} for key, how, values in each]

    return {"matchExpressions": written(expressions), "matchFields": written(fields)}


@pytest.mark.parametrize(
    ("terms", "meant"),
    [
        pytest.param(
            [term(("arch", "In", ["arm64", "amd64"]), ("gen", "Gt", ["3"]))],
            (
                NodeTerm(
                    (
                        Requirement("arch", Operator.IN, ("arm64", "amd64")),
                        Requirement("gen", Operator.GREATER, ("3",)),
                    )
                ),
            ),
            id="labels",
        ),
        pytest.param(
            [term(fields=[("metadata.name", "NotIn", ["n1"])])],
            (NodeTerm(fields=(Requirement("metadata.name", Operator.NOT_IN, ("n1",)),)),),
            id="fields",
        ),
        pytest.param(
            [{}, term(("a", "Exists", []))],
            (NodeTerm((Requirement("a", Operator.EXISTS),)),),
            id="an empty term matches nothing",
        ),
        pytest.param([{}], (), id="no term that matches anything"),
        pytest.param([term(("a", "In", []))], (NodeTerm((NEVER,)),), id="in nothing"),
        pytest.param([term(("a", "Lt", ["x"]))], (NodeTerm((NEVER,)),), id="less than no number"),
        pytest.param(
            [term(fields=[("metadata.name", "In", ["a", "b"])])],
            (NodeTerm(fields=(NEVER,)),),
            id="a field is one value",
        ),
        pytest.param(
            [term(fields=[("metadata.name", "Exists", [])])],
            (NodeTerm(fields=(NEVER,)),),
            id="a field always exists",
        ),
    ],
)
def test_required_node_affinity(terms: Any, meant: Any) -> None:
    required = {"nodeSelectorTerms": terms}
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}
    assert demand({"affinity": affinity}).claim.terms == meant
    assert claim({"hardNodeAffinity": required}).terms == meant


def test_nodes_are_claimed_by_selector_and_tolerations() -> None:
    wire = {
        "nodeSelector": {"disk": "ssd", "arch": "arm64"},
        "tolerations": [{"key": "gpu", "operator": "Exists"}],
    }
    meant = NodeClaim(
        selector=(("arch", "arm64"), ("disk", "ssd")),
        tolerations=(Toleration("gpu", any_value=True),),
    )
    assert claim(wire) == meant
    found = demand(wire | {"priorityClassName": "high"}, namespace="shop")
    assert found == Demand(claim=meant, namespace="shop", priority_class="high")


@pytest.mark.parametrize(
    ("spec", "field", "value"),
    [
        pytest.param([], "spec", [], id="a list"),
        pytest.param({"containers": {}}, "spec.containers", {}, id="containers"),
        pytest.param(
            {"containers": [container(cpu="lots")]},
            "spec.containers[0].resources.requests[cpu]",
            "lots",
            id="no quantity",
        ),
        pytest.param(
            {"initContainers": [container(cpu="-1")]},
            "spec.initContainers[0].resources.requests[cpu]",
            "-1",
            id="negative",
        ),
        pytest.param({"nodeSelector": {"a": 1}}, "spec.nodeSelector[a]", 1, id="a label"),
        pytest.param({"overhead": {"cpu": []}}, "spec.overhead[cpu]", [], id="overhead"),
        pytest.param(
            {"affinity": {"nodeAffinity": 1}}, "spec.affinity.nodeAffinity", 1, id="affinity"
        ),
    ],
)
def test_bad_input_is_named(spec: Any, field: str, value: object) -> None:
    with pytest.raises(Invalid) as refused:
        demand(spec)
    assert (refused.value.field, refused.value.value) == (field, value)


Steps = list[tuple[int, bool]]


def peak(containers: list[int], steps: Steps) -> int:
    """The most that runs at any one time, by playing the start of the pod step by step."""
    running, most = 0, 0
    for milli, stays in steps:
        most = max(most, running + milli)
        running += milli if stays else 0
    return max(most, running + sum(containers))


milli = st.integers(0, 5000)


@given(st.lists(milli, max_size=4), st.lists(st.tuples(milli, st.booleans()), max_size=6))
def test_a_pod_needs_the_most_that_ever_runs_at_once(containers: list[int], steps: Steps) -> None:
    started = [
        container(restart="Always" if stays else "", cpu=f"{milli}m") for milli, stays in steps
    ]
    running = [container(cpu=f"{milli}m") for milli in containers]
    assert cpu_of(containers=running, initContainers=started) == peak(containers, steps)
