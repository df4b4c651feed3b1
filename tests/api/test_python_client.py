"""The official Python client, against ours and the real server."""

import time
from collections.abc import Iterator
from typing import Any

import pytest
from backends import FIXTURES
from kubernetes import client, dynamic, watch
from kubernetes.client import ApiException
from manifests import definition
from transports import HttpBackend

SERVERS = ["https", pytest.param("kubernetes", marks=pytest.mark.testenv)]


@pytest.fixture(scope="module", params=SERVERS)
def server(request: pytest.FixtureRequest) -> Iterator[client.ApiClient]:
    backend: HttpBackend = request.getfixturevalue(FIXTURES[request.param])
    configuration = client.Configuration()
    configuration.host = backend.url
    configuration.ssl_ca_cert = str(backend.authority)
    configuration.cert_file, configuration.key_file = (str(path) for path in backend.pair)
    with client.ApiClient(configuration) as made:
        yield made


@pytest.fixture
def core(server: client.ApiClient) -> client.CoreV1Api:
    return client.CoreV1Api(server)


@pytest.fixture
def namespace(core: client.CoreV1Api, unique: str) -> str:
    core.create_namespace({"metadata": {"name": unique}})
    return unique


def configmap(name: str, **data: str) -> dict[str, Any]:
    return {"metadata": {"name": name}, "data": data}


def test_objects_are_made_read_changed_and_deleted(core: client.CoreV1Api, namespace: str) -> None:
    made = core.create_namespaced_config_map(namespace, configmap("a", k="1"))
    assert made.metadata.uid
    made.data = {"k": "2"}
    changed = core.replace_namespaced_config_map("a", namespace, made)
    assert changed.metadata.resource_version != made.metadata.resource_version
    patched = core.patch_namespaced_config_map("a", namespace, {"data": {"m": "3"}})
    assert patched.data == {"k": "2", "m": "3"}
    listed = core.list_namespaced_config_map(namespace, label_selector="!nope")
    assert [item.metadata.name for item in listed.items] == ["a"]
    assert core.delete_namespaced_config_map("a", namespace)["status"] == "Success"
    with pytest.raises(ApiException) as missing:
        core.read_namespaced_config_map("a", namespace)
    assert (missing.value.status, missing.value.reason) == (404, "Not Found")


def test_conflicts_are_raised(core: client.CoreV1Api, namespace: str) -> None:
    made = core.create_namespaced_config_map(namespace, configmap("a"))
    core.patch_namespaced_config_map("a", namespace, {"data": {"x": "y"}})
    with pytest.raises(ApiException) as conflict:
        core.replace_namespaced_config_map("a", namespace, made)
    assert conflict.value.status == 409
    assert '"reason":"Conflict"' in conflict.value.body


def test_changes_are_watched(core: client.CoreV1Api, namespace: str) -> None:
    core.create_namespaced_secret(namespace, configmap("a"))
    seen = []
    stream = watch.Watch()
    for event in stream.stream(core.list_namespaced_secret, namespace, timeout_seconds=120):
        seen.append((event["type"], event["object"].metadata.name))
        if len(seen) == 1:
            core.create_namespaced_secret(namespace, configmap("b"))
        elif len(seen) == 2:
            core.delete_namespaced_secret("a", namespace)
        else:
            stream.stop()
    assert seen == [("ADDED", "a"), ("ADDED", "b"), ("DELETED", "a")]


def test_a_watch_goes_on_where_another_ended(core: client.CoreV1Api, namespace: str) -> None:
    made = core.create_namespaced_secret(namespace, configmap("a"))
    core.patch_namespaced_secret("a", namespace, {"metadata": {"labels": {"x": "y"}}})
    core.delete_namespaced_secret("a", namespace)
    seen = []
    stream = watch.Watch()
    since = made.metadata.resource_version
    for event in stream.stream(
        core.list_namespaced_secret, namespace, resource_version=since, timeout_seconds=120
    ):
        seen.append(event["type"])
        if event["type"] == "DELETED":
            stream.stop()
    assert seen == ["MODIFIED", "DELETED"]


@pytest.mark.parametrize(
    ("media_type", "patch"),
    [
        pytest.param("json", [{"op": "add", "path": "/data/m", "value": "3"}], id="json"),
        pytest.param("merge", {"data": {"m": "3"}}, id="merge"),
        pytest.param("strategic-merge", {"data": {"m": "3"}}, id="strategic"),
    ],
)
def test_every_patch_type_is_taken(
    server: client.ApiClient, core: client.CoreV1Api, namespace: str, media_type: str, patch: Any
) -> None:
    core.create_namespaced_config_map(namespace, configmap("a", k="1"))
    maps = dynamic.DynamicClient(server).resources.get(api_version="v1", kind="ConfigMap")
    changed = maps.patch(
        body=patch,
        name="a",
        namespace=namespace,
        content_type=f"application/{media_type}-patch+json",
    )
    assert changed.data.to_dict() == {"k": "1", "m": "3"}


def made(objects: client.CustomObjectsApi, where: tuple[str, ...], body: dict[str, Any]) -> bool:
    """Whether it could be made: the real server serves a kind a little after it is defined."""
    try:
        objects.create_namespaced_custom_object(*where, body)
    except ApiException:
        return False
    return True


def test_kinds_of_the_users_are_reached(
    server: client.ApiClient, namespace: str, unique: str
) -> None:
    group = f"{unique}.example.com"
    definitions = client.ApiextensionsV1Api(server)
    definitions.create_custom_resource_definition(definition("Gizmo", group, {"type": "object"}))
    objects = client.CustomObjectsApi(server)
    where = (group, "v1", namespace, "gizmos")
    body = {"apiVersion": f"{group}/v1", "kind": "Gizmo", "metadata": {"name": "a"}}
    deadline = time.monotonic() + 120
    while not made(objects, where, body):
        assert time.monotonic() < deadline
        time.sleep(0.1)
    labels = {"metadata": {"labels": {"x": "y"}}}
    changed = objects.patch_namespaced_custom_object(*where, "a", labels)
    assert changed["metadata"]["labels"] == {"x": "y"}
    listed = objects.list_namespaced_custom_object(*where, label_selector="x=y")
    assert [item["metadata"]["name"] for item in listed["items"]] == ["a"]
    objects.delete_namespaced_custom_object(*where, "a")
    assert objects.list_namespaced_custom_object(*where)["items"] == []
    definitions.delete_custom_resource_definition(f"gizmos.{group}")


def test_pages_are_followed(core: client.CoreV1Api, namespace: str) -> None:
    for number in range(5):
        core.create_namespaced_secret(namespace, configmap(f"s{number}"))
    names: list[str] = []
    following = ""
    while True:
        page = core.list_namespaced_secret(namespace, limit=2, _continue=following or None)
        names += [item.metadata.name for item in page.items]
        following = page.metadata._continue
        if not following:
            break
    assert names == [f"s{number}" for number in range(5)]


def test_deployments_are_typed_and_scaled(server: client.ApiClient, namespace: str) -> None:
    apps = client.AppsV1Api(server)
    labels = {"app": "web"}
    container = client.V1Container(name="main", image="nginx")
    template = client.V1PodTemplateSpec(
        metadata=client.V1ObjectMeta(labels=labels), spec=client.V1PodSpec(containers=[container])
    )
    spec = client.V1DeploymentSpec(
        replicas=1, selector=client.V1LabelSelector(match_labels=labels), template=template
    )
    body = client.V1Deployment(metadata=client.V1ObjectMeta(name="web"), spec=spec)
    made = apps.create_namespaced_deployment(namespace, body)
    assert made.spec.strategy.type == "RollingUpdate"
    apps.patch_namespaced_deployment_scale("web", namespace, {"spec": {"replicas": 3}})
    assert apps.read_namespaced_deployment("web", namespace).spec.replicas == 3
    status = {"status": {"replicas": 3}}
    assert apps.patch_namespaced_deployment_status("web", namespace, status).status.replicas == 3


def test_any_kind_is_reached_dynamically(server: client.ApiClient, namespace: str) -> None:
    resources = dynamic.DynamicClient(server).resources
    deployments = resources.get(api_version="apps/v1", kind="Deployment")
    body = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web"},
        "spec": {
            "selector": {"matchLabels": {"a": "b"}},
            "template": {
                "metadata": {"labels": {"a": "b"}},
                "spec": {"containers": [{"name": "c", "image": "i"}]},
            },
        },
    }
    made = deployments.create(body=body, namespace=namespace)
    assert (made.kind, made.spec.replicas) == ("Deployment", 1)
    assert deployments.get(name="web", namespace=namespace).metadata.uid == made.metadata.uid
    with pytest.raises(dynamic.exceptions.ConflictError):
        deployments.create(body=body, namespace=namespace)
    deployments.delete(name="web", namespace=namespace)
    assert deployments.get(namespace=namespace).items == []


def test_configurations_are_applied_dynamically(server: client.ApiClient, namespace: str) -> None:
    maps = dynamic.DynamicClient(server).resources.get(api_version="v1", kind="ConfigMap")
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"k": "1"}}
    made = maps.server_side_apply(body=body, name="a", namespace=namespace, field_manager="python")
    assert made.metadata.managedFields[0].operation == "Apply"
    body["data"] = {"m": "2"}
    changed = maps.server_side_apply(
        body=body, name="a", namespace=namespace, field_manager="python"
    )
    assert changed.data.to_dict() == {"m": "2"}


def test_the_version_is_read_with_a_trailing_slash(server: client.ApiClient) -> None:
    assert client.VersionApi(server).get_code().minor == "36"
