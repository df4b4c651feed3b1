"""What is a template, and how closely a policy means it."""

from typing import Any

import pytest
from detection_world import make_policy, make_template, read

from atoll.dialects.karmada import names
from atoll.dialects.karmada.templates import is_template
from atoll.model.resource_selector import Closeness


@pytest.mark.parametrize(
    ("selector", "expected"),
    [
        pytest.param({"name": "web"}, Closeness.NAME, id="by-name"),
        pytest.param({"name": "api"}, Closeness.NOT_MEANT, id="another-name"),
        pytest.param({}, Closeness.KIND, id="all-of-the-kind"),
        pytest.param({"kind": "StatefulSet"}, Closeness.NOT_MEANT, id="another-kind"),
        pytest.param({"apiVersion": "apps/v1beta1"}, Closeness.NOT_MEANT, id="another-version"),
        pytest.param(
            {"labelSelector": {"matchLabels": {"tier": "front"}}}, Closeness.LABELS, id="by-labels"
        ),
        pytest.param(
            {"labelSelector": {"matchLabels": {"tier": "back"}}},
            Closeness.NOT_MEANT,
            id="other-labels",
        ),
        pytest.param({"labelSelector": {}}, Closeness.LABELS, id="an-empty-selector-means-all"),
        pytest.param(
            {"labelSelector": {"matchExpressions": [{"key": "tier", "operator": "Exists"}]}},
            Closeness.LABELS,
            id="by-expression",
        ),
        pytest.param(
            {"name": "web", "labelSelector": {"matchLabels": {"tier": "back"}}},
            Closeness.NAME,
            id="a-name-beats-labels-that-do-not-match",
        ),
        pytest.param(
            {"name": "api", "labelSelector": {"matchLabels": {"tier": "front"}}},
            Closeness.NOT_MEANT,
            id="labels-do-not-save-a-wrong-name",
        ),
        pytest.param({"namespace": "shop"}, Closeness.KIND, id="its-namespace"),
        pytest.param({"namespace": "bank"}, Closeness.NOT_MEANT, id="another-namespace"),
        pytest.param(
            {"labelSelector": {"matchLabels": "broken"}}, Closeness.NOT_MEANT, id="cannot-be-meant"
        ),
    ],
)
@pytest.mark.parametrize("namespace", ["shop", ""], ids=["policy", "cluster-policy"])
def test_a_selector_means_a_template(
    selector: dict[str, Any], expected: Closeness, namespace: str
) -> None:
    policy = make_policy("p", selector, namespace=namespace)
    assert read(policy).closeness(make_template(tier="front")) == expected


def test_a_policy_means_only_its_own_namespace() -> None:
    policy = make_policy("p", namespace="bank")
    assert read(policy).closeness(make_template()) == Closeness.NOT_MEANT


def test_only_a_cluster_policy_means_what_has_no_namespace() -> None:
    role = {"apiVersion": "rbac/v1", "kind": "ClusterRole"}
    template = make_template("admin", namespace="")
    assert read(make_policy("p", role)).closeness(template) == Closeness.NOT_MEANT
    assert read(make_policy("p", role, namespace="")).closeness(template) == Closeness.KIND


def test_the_closest_of_several_selectors_counts() -> None:
    policy = make_policy("p", {}, {"name": "web"}, {"name": "api"})
    assert read(policy).closeness(make_template()) == Closeness.NAME


ACCOUNT = {"apiVersion": "v1", "kind": "ServiceAccount"}


@pytest.mark.parametrize(
    ("selector", "labels", "expected"),
    [
        pytest.param({}, {}, Closeness.NOT_MEANT, id="all-of-the-kind"),
        pytest.param({"labelSelector": {}}, {}, Closeness.NOT_MEANT, id="all-labels"),
        pytest.param({"name": "default"}, {}, Closeness.NAME, id="by-name"),
        pytest.param(
            {"labelSelector": {"matchLabels": {"team": "a"}}},
            {"team": "a"},
            Closeness.LABELS,
            id="by-its-labels",
        ),
    ],
)
def test_an_account_that_every_namespace_has_must_be_meant_itself(
    selector: dict[str, Any], labels: dict[str, str], expected: Closeness
) -> None:
    policy = make_policy("p", ACCOUNT | selector)
    account = ACCOUNT | {"metadata": {"name": "default", "namespace": "shop", "labels": labels}}
    assert read(policy).closeness(account) == expected
    other = ACCOUNT | {"metadata": {"name": "robot", "namespace": "shop", "labels": labels}}
    assert read(make_policy("p", ACCOUNT)).closeness(other) == Closeness.KIND


def check_template(wire: dict[str, Any], *, expected: bool) -> None:
    metadata = {"name": "x", "namespace": "shop", **wire.pop("metadata", {})}
    found = {"apiVersion": "apps/v1", "kind": "Deployment", **wire, "metadata": metadata}
    assert is_template(found) is expected


def _named(api_version: str, kind: str, name: str, namespace: str = "shop") -> dict[str, Any]:
    metadata = {"name": name, "namespace": namespace}
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata}


@pytest.mark.parametrize(
    ("wire", "expected"),
    [
        pytest.param({}, True, id="a-deployment"),
        pytest.param({"apiVersion": "example.org/v1", "kind": "Widget"}, True, id="any-crd"),
        pytest.param({"metadata": {"namespace": ""}}, True, id="cluster-scoped"),
        pytest.param({"metadata": {"namespace": "kubernetes"}}, True, id="only-starts-alike"),
        pytest.param({"metadata": {"namespace": "kube-system"}}, False, id="kube-namespace"),
        pytest.param({"metadata": {"namespace": "karmada-system"}}, False, id="the-planes-own"),
        pytest.param({"metadata": {"namespace": "karmada-es-m1"}}, False, id="execution-space"),
        pytest.param({"metadata": {"labels": {names.CLAIMED_BY: "mcs"}}}, False, id="anothers"),
        pytest.param({"apiVersion": "policy.karmada.io/v1alpha1"}, False, id="karmada-group"),
        pytest.param({"apiVersion": "atoll.io/v1"}, False, id="own-group"),
        pytest.param({"apiVersion": "pricing.atoll.io/v1"}, False, id="own-subgroup"),
        pytest.param({"apiVersion": "notatoll.io/v1"}, True, id="no-group-of-ours"),
        pytest.param({"apiVersion": "v1", "kind": "Event"}, False, id="event"),
        pytest.param({"apiVersion": "events.k8s.io/v1", "kind": "Event"}, False, id="new-event"),
        pytest.param({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease"}, False, id="lease"),
        pytest.param(_named("v1", "ConfigMap", "kube-root-ca.crt"), False, id="root-ca"),
        pytest.param(_named("v1", "ConfigMap", "kube-root-ca"), True, id="hardly-a-root-ca"),
        pytest.param(_named("v1", "Service", "kubernetes", "default"), False, id="own-service"),
        pytest.param(_named("v1", "Endpoints", "kubernetes", "default"), False, id="own-endpoints"),
        pytest.param(
            _named("discovery.k8s.io/v1", "EndpointSlice", "kubernetes", "default"),
            False,
            id="own-slice",
        ),
        pytest.param(_named("v1", "Service", "kubernetes"), True, id="a-service-elsewhere"),
        pytest.param(
            _named("scheduling.k8s.io/v1", "PriorityClass", "system-node-critical", ""),
            False,
            id="a-priority-of-the-system",
        ),
        pytest.param(
            _named("scheduling.k8s.io/v1", "PriorityClass", "urgent", ""), True, id="a-priority"
        ),
        pytest.param(
            _named("networking.k8s.io/v1", "ServiceCIDR", "kubernetes", ""), False, id="own-range"
        ),
        pytest.param(
            _named("apiregistration.k8s.io/v1", "APIService", "v1.apps", ""),
            False,
            id="what-the-server-serves-itself",
        ),
        pytest.param(
            _named("apiregistration.k8s.io/v1", "APIService", "v1.a.io", "")
            | {"spec": {"service": {"name": "a", "namespace": "a"}}},
            True,
            id="what-another-server-serves",
        ),
    ],
)
def test_what_may_be_propagated(wire: dict[str, Any], *, expected: bool) -> None:
    check_template(wire, expected=expected)
