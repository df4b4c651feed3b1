"""The objects of an installation say what was wished, and fit together."""

import json
from typing import Any

import pytest

from atoll.cli.app import run as atoll
from atoll.cli.run import run
from atoll.hosting.deploying import everything
from atoll.hosting.installation import (
    LABELS,
    METRICS,
    PORT,
    SERVING_SECRET,
    Installation,
    Plane,
    Resources,
    Rights,
    objects_of,
    objects_on_plane,
)

RIGHTS = Rights(everywhere=[{"verbs": ["get"]}], at_home=[{"verbs": ["list"]}])


def objects(**wishes: Any) -> dict[str, Any]:
    """Those of an installation, by kind; the first of each."""
    found: dict[str, Any] = {}
    for each in objects_of(Installation(**wishes), RIGHTS):
        found.setdefault(each["kind"], each)
    return found


def pod(**wishes: Any) -> dict[str, Any]:
    spec: dict[str, Any] = objects(**wishes)["Deployment"]["spec"]["template"]["spec"]
    return spec


def container(**wishes: Any) -> dict[str, Any]:
    (only,) = pod(**wishes)["containers"]
    return only


def test_a_namespace_comes_before_what_is_in_it_and_roles_before_who_uses_them() -> None:
    kinds = [each["kind"] for each in objects_of(Installation(), RIGHTS)]
    assert kinds[0] == "Namespace"
    assert kinds.index("ClusterRoleBinding") < kinds.index("Deployment")


@pytest.mark.parametrize("namespace", ["atoll-system", "elsewhere"])
def test_everything_is_in_the_namespace_that_was_chosen(namespace: str) -> None:
    for each in objects_of(Installation(namespace=namespace, with_service_monitor=True), RIGHTS):
        if each["kind"] == "Namespace":
            assert each["metadata"]["name"] == namespace
        elif each["metadata"]["name"] != "atoll-authentication-reader":
            assert each["metadata"].get("namespace", namespace) == namespace
        for subject in each.get("subjects", ()):
            assert subject["namespace"] == namespace
    assert f"--namespace={namespace}" in container(namespace=namespace)["args"]


def test_roles_have_exactly_the_rules_that_are_given() -> None:
    found = objects()
    assert found["ClusterRole"]["rules"] == RIGHTS.everywhere
    assert found["Role"]["rules"] == RIGHTS.at_home


def test_its_words_are_understood_by_the_command_they_are_for() -> None:
    name, *words = container(words=("--feature-gates=Failover=true",))["args"]
    context = run.make_context(name, list(words))
    assert context.params["port"] == PORT
    assert context.params["feature_gates"] == "Failover=true"


def test_what_is_said_of_gates_and_plugins_is_said_to_the_replicas(
    capsys: pytest.CaptureFixture[str],
) -> None:
    said = ["--feature-gates=Failover=true", "--plugins=*,-ClusterLocality"]
    assert atoll(["install", "--dry-run", "-o", "json", *said]) == 0
    listed = json.loads(capsys.readouterr().out)["items"]
    (deployment,) = (each for each in listed if each["kind"] == "Deployment")
    (replica,) = deployment["spec"]["template"]["spec"]["containers"]
    assert replica["args"][-2:] == said


def test_all_that_selects_the_pods_finds_them() -> None:
    found = objects(with_service_monitor=True)
    labels = found["Deployment"]["spec"]["template"]["metadata"]["labels"].items()
    selecting = [
        found["Service"]["spec"]["selector"],
        found["Deployment"]["spec"]["selector"]["matchLabels"],
        found["PodDisruptionBudget"]["spec"]["selector"]["matchLabels"],
        found["NetworkPolicy"]["spec"]["podSelector"]["matchLabels"],
        *(each["labelSelector"]["matchLabels"] for each in pod()["topologySpreadConstraints"]),
    ]
    for each in selecting:
        assert each.items() <= labels
    monitor = found["ServiceMonitor"]["spec"]
    service = found["Service"]
    assert monitor["selector"]["matchLabels"].items() <= service["metadata"]["labels"].items()
    assert monitor["endpoints"][0]["port"] in {each["name"] for each in service["spec"]["ports"]}
    assert monitor["endpoints"][0]["tlsConfig"]["ca"]["secret"]["name"] == SERVING_SECRET


def test_a_monitor_shows_the_token_of_an_account_that_may_read_the_numbers() -> None:
    made = {
        (each["kind"], each["metadata"]["name"]): each
        for each in everything(Installation(with_service_monitor=True))
    }
    (endpoint,) = made["ServiceMonitor", "atoll"]["spec"]["endpoints"]
    credentials = endpoint["authorization"]["credentials"]
    secret = made["Secret", credentials["name"]]
    account = secret["metadata"]["annotations"]["kubernetes.io/service-account.name"]
    space = made["ServiceAccount", account]["metadata"]["namespace"]
    binding = made["ClusterRoleBinding", METRICS]
    assert binding["subjects"] == [{"kind": "ServiceAccount", "name": account, "namespace": space}]
    assert (secret["type"], credentials["key"]) == ("kubernetes.io/service-account-token", "token")
    role = made["ClusterRole", binding["roleRef"]["name"]]
    assert role["rules"] == [{"verbs": ["get"], "nonResourceURLs": [endpoint["path"]]}]


def test_who_may_read_the_numbers_is_said_where_users_are_known() -> None:
    wanted = Installation(
        plane=Plane("https://x", "kubeconfig", "token"), with_service_monitor=True
    )
    kinds = {"ServiceAccount", "ClusterRoleBinding"}
    on_host, on_plane = (
        [each for each in objects if each["metadata"]["name"] == METRICS]
        for objects in (objects_of(wanted, RIGHTS), objects_on_plane(wanted, RIGHTS))
    )
    assert [(each["kind"], each["data"]) for each in on_host] == [("Secret", {"token": "dG9rZW4="})]
    assert {each["kind"] for each in on_plane} == {"Secret", *kinds}


def test_labels_that_select_stay_the_same_from_version_to_version() -> None:
    assert set(LABELS) == {"app.kubernetes.io/name", "app.kubernetes.io/component"}


def test_a_new_replica_serves_before_an_old_one_goes() -> None:
    rolling = objects()["Deployment"]["spec"]["strategy"]["rollingUpdate"]
    assert rolling == {"maxUnavailable": 0, "maxSurge": 1}


def test_what_was_wished_is_in_the_pod_and_nothing_empty_is() -> None:
    wished = pod(
        pull_secrets=("mirror",),
        priority_class="system-cluster-critical",
        node_selector={"pool": "system"},
        tolerations=({"operator": "Exists"},),
    )
    assert wished["imagePullSecrets"] == [{"name": "mirror"}]
    assert wished["priorityClassName"] == "system-cluster-critical"
    assert wished["nodeSelector"] == {"pool": "system"}
    assert wished["tolerations"] == [{"operator": "Exists"}]
    assert not {"imagePullSecrets", "priorityClassName", "nodeSelector", "tolerations"} & set(pod())
    sized = container(resources=Resources({"cpu": "1"}, {"cpu": "2"}))["resources"]
    assert sized == {"requests": {"cpu": "1"}, "limits": {"cpu": "2"}}
