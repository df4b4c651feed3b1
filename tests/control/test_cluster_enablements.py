"""Which APIs a cluster is told to serve: a passing failure loses none of them."""

from atoll.dialects.karmada.cluster_status.enablements import Discovered, completeness, enablements

APPS = (("statefulsets", "StatefulSet"), ("deployments", "Deployment"))
CORE = (("pods", "Pod"), ("configmaps", "ConfigMap"))
TOLD = [
    {"groupVersion": "apps/v1", "resources": [{"name": "deployments", "kind": "Deployment"}]},
    {
        "groupVersion": "metrics.k8s.io/v1beta1",
        "resources": [{"name": "pods", "kind": "PodMetrics"}],
    },
    {"groupVersion": "v1", "resources": [{"name": "pods", "kind": "Pod"}]},
]


def versions(found: Discovered) -> list[str]:
    return [each["groupVersion"] for each in enablements(found, TOLD)]


def test_groups_and_resources_are_told_in_order() -> None:
    found = Discovered({"v1": CORE, "apps/v1": APPS})
    assert enablements(found, ()) == [
        {
            "groupVersion": "apps/v1",
            "resources": [
                {"name": "deployments", "kind": "Deployment"},
                {"name": "statefulsets", "kind": "StatefulSet"},
            ],
        },
        {
            "groupVersion": "v1",
            "resources": [
                {"name": "configmaps", "kind": "ConfigMap"},
                {"name": "pods", "kind": "Pod"},
            ],
        },
    ]
    said = completeness(found)
    assert (said.holds, said.reason) == (True, "Complete")
    assert said.message == "collected complete APIEnablements from the cluster"


def test_a_group_that_is_gone_is_told_no_more() -> None:
    assert versions(Discovered({"v1": CORE, "apps/v1": APPS})) == ["apps/v1", "v1"]


def test_a_group_that_could_not_be_read_keeps_what_was_known_of_it() -> None:
    found = Discovered({"v1": CORE, "apps/v1": APPS}, frozenset({"metrics.k8s.io/v1beta1"}))
    assert versions(found) == ["apps/v1", "metrics.k8s.io/v1beta1", "v1"]
    assert enablements(found, TOLD)[1] == TOLD[1]
    said = completeness(found)
    assert (said.holds, said.reason) == (False, "Partial")
    assert said.message == "might collect partial APIEnablements(2) from the cluster"


def test_a_group_never_read_is_not_made_up() -> None:
    found = Discovered({"v1": CORE}, frozenset({"new.example.com/v1"}))
    assert "new.example.com/v1" not in versions(found)


def test_where_half_of_discovery_failed_the_other_half_keeps_what_was_known() -> None:
    found = Discovered({"v1": CORE}, groups_known=False)
    assert versions(found) == ["apps/v1", "metrics.k8s.io/v1beta1", "v1"]
    assert completeness(found).reason == "Partial"


def test_of_no_answer_at_all_nothing_is_lost_but_it_is_said() -> None:
    found = Discovered(groups_known=False)
    assert enablements(found, TOLD) == TOLD
    said = completeness(found)
    assert (said.holds, said.reason) == (False, "Empty")
    assert said.message == "collected empty APIEnablements from the cluster"
