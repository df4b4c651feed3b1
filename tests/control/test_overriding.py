"""Every overrider on its own: what it changes, what it passes over, what it refuses."""

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from atoll.control.works.decide.overriding.fields import Texts
from atoll.control.works.decide.overriding.images import parsed
from atoll.control.works.decide.overriding.overriding import override
from atoll.dialects.karmada.objects.policies import decode_override
from atoll.dialects.patches import Operation, Pointer, patched, read
from atoll.errors import Invalid
from atoll.model.cluster import Cluster

HERE = Cluster(name="here")
DIGEST = "sha256:" + "0123456789abcdef" * 4


def read_yaml(written):
    try:
        return yaml.safe_load(written)
    except yaml.YAMLError as error:
        raise Invalid("", written, str(error).splitlines()[0]) from None


TEXTS = Texts(read_yaml, yaml.safe_dump)


def make_deployment(*containers, kind="Deployment", **metadata):
    return {
        "apiVersion": "apps/v1",
        "kind": kind,
        "metadata": {"name": "web", "namespace": "shop", **metadata},
        "spec": {"replicas": 2, "template": {"spec": {"containers": list(containers)}}},
    }


def make_policy(**overriders):
    return {
        "kind": "OverridePolicy",
        "metadata": {"name": "tune", "namespace": "shop"},
        "spec": {"overrideRules": [{"overriders": overriders}]},
    }


def overridden(manifest, **overriders):
    policies = [decode_override(make_policy(**overriders))]
    return override(manifest, HERE, lambda _: policies, TEXTS).manifest


def refusal(manifest, **overriders):
    with pytest.raises(Invalid) as caught:
        overridden(manifest, **overriders)
    return str(caught.value)


def containers_of(manifest):
    return manifest["spec"]["template"]["spec"]["containers"]


def image_override(component, operator, value="", **more):
    return [{"component": component, "operator": operator, "value": value, **more}]


@pytest.mark.parametrize(
    ("image", "component", "operator", "value", "expected"),
    [
        pytest.param("nginx", "Registry", "add", "r.io", "r.io/nginx", id="a-registry-is-added"),
        pytest.param("r/a/b:1", "Registry", "add", "x.io", "x.io/r/a/b:1", id="no-host-in-name"),
        pytest.param("r.io/nginx:1", "Registry", "add", ".cn", "r.io.cn/nginx:1", id="appended"),
        pytest.param("r.io/a/b:1", "Registry", "replace", "x.io:5000", "x.io:5000/a/b:1", id="new"),
        pytest.param("localhost/a:1", "Registry", "remove", "", "a:1", id="registry-removed"),
        pytest.param("r.io/a:1", "Repository", "replace", "b/c", "r.io/b/c:1", id="repository"),
        pytest.param("r.io/a:1", "Repository", "add", "-x", "r.io/a-x:1", id="repository-appended"),
        pytest.param("r.io/a:1", "Repository", "remove", "", "r.io/:1", id="repository-removed"),
        pytest.param("a:1.17", "Tag", "add", "-alpine", "a:1.17-alpine", id="tag-appended"),
        pytest.param("a:1.17", "Tag", "replace", "2", "a:2", id="tag-replaced"),
        pytest.param("a:1.17", "Tag", "replace", DIGEST, f"a@{DIGEST}", id="tag-to-digest"),
        pytest.param(f"a@{DIGEST}", "Tag", "replace", "2", "a:2", id="digest-to-tag"),
        pytest.param(f"a:1@{DIGEST}", "Tag", "remove", "", "a", id="both-removed"),
        pytest.param("a", "Tag", "add", "1", "a:1", id="a-tag-where-there-was-none"),
        pytest.param("a:1", "Tag", "replace", "no tag!", "a:1", id="what-is-no-tag-is-passed-over"),
        pytest.param("r.io:80/a:1", "Tag", "remove", "", "r.io:80/a", id="a-port-is-no-tag"),
    ],
)
def test_a_part_of_an_image_is_changed(image, component, operator, value, expected):
    manifest = make_deployment({"name": "a", "image": image})
    changed = overridden(manifest, imageOverrider=image_override(component, operator, value))
    assert containers_of(changed) == [{"name": "a", "image": expected}]


@pytest.mark.parametrize("kind", ["Deployment", "ReplicaSet", "DaemonSet", "StatefulSet", "Job"])
def test_the_images_of_all_containers_of_a_native_kind_are_changed(kind):
    manifest = make_deployment({"image": "a:1"}, {"image": "b"}, kind=kind)
    init = {"initContainers": [{"image": "i"}]}
    manifest["spec"]["template"]["spec"].update(init)
    changed = overridden(manifest, imageOverrider=image_override("Registry", "add", "r.io"))
    assert containers_of(changed) == [{"image": "r.io/a:1"}, {"image": "r.io/b"}]
    assert changed["spec"]["template"]["spec"]["initContainers"] == [{"image": "i"}]


def test_the_images_of_a_pod_are_changed():
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "shop"}}
    pod["spec"] = {"containers": [{"image": "a"}]}
    changed = overridden(pod, imageOverrider=image_override("Tag", "replace", "2"))
    assert changed["spec"] == {"containers": [{"image": "a:2"}]}


def test_the_image_of_any_kind_is_changed_where_a_predicate_points():
    manifest = make_deployment(kind="Rollout")
    manifest["spec"]["images"] = [{"of/app": "a:1"}, "x"]
    path = "/spec/images/0/of~1app"
    overrider = image_override("Tag", "replace", "2", predicate={"path": path})
    assert overridden(manifest, imageOverrider=overrider)["spec"]["images"] == [
        {"of/app": "a:2"},
        "x",
    ]
    assert overridden(manifest, imageOverrider=image_override("Tag", "remove")) == manifest


@pytest.mark.parametrize(
    ("image", "expected"),
    [
        ("nginx", ("", "nginx", "", "")),
        ("library/nginx:1.17", ("", "library/nginx", "1.17", "")),
        (
            "dc-1.registry.io/nginx:1.17.0-alpine",
            ("dc-1.registry.io", "nginx", "1.17.0-alpine", ""),
        ),
        ("[::1]:5000/a", ("[::1]:5000", "a", "", "")),
        (f"r.io/a@{DIGEST}", ("r.io", "a", "", DIGEST)),
        ("", None),
        ("Nginx", None),
        ("a:", None),
        ("a b", None),
        ("a@sha256:" + "0" * 40, None),
        ("a" * 256, None),
    ],
)
def test_an_image_is_a_registry_a_repository_and_a_tag_or_digest(image, expected):
    found = parsed(image)
    if expected is None:
        assert found is None
    else:
        assert (found.registry, found.repository, found.tag, found.digest) == expected
        assert str(found) == image


@pytest.mark.parametrize("key", ["command", "args"])
@pytest.mark.parametrize(
    ("was", "operator", "value", "expected"),
    [
        pytest.param(["a"], "add", ["b", "b"], ["a", "b", "b"], id="added-at-the-end"),
        pytest.param(None, "add", ["b"], ["b"], id="made-where-there-was-none"),
        pytest.param(["a", "b", "a"], "remove", ["a", "x"], ["b"], id="every-one-is-removed"),
        pytest.param(None, "remove", ["a"], [], id="nothing-to-remove"),
    ],
)
def test_words_of_the_container_named_are_changed(key, was, operator, value, expected):
    named = {"name": "app"} if was is None else {"name": "app", key: was}
    manifest = make_deployment({"name": "other", key: ["a"]}, named)
    overrider = {"containerName": "app", "operator": operator, "value": value}
    changed = overridden(manifest, **{f"{key}Overrider": [overrider]})
    assert containers_of(changed) == [{"name": "other", key: ["a"]}, {"name": "app", key: expected}]


@pytest.mark.parametrize("key", ["labels", "annotations"])
@pytest.mark.parametrize(
    ("was", "operator", "value", "expected"),
    [
        pytest.param({"a": "1"}, "add", {"b/c": "2"}, {"a": "1", "b/c": "2"}, id="added"),
        pytest.param(None, "add", {"a": "1"}, {"a": "1"}, id="made-where-there-was-none"),
        pytest.param({"a": "1"}, "replace", {"a": "2", "b": "3"}, {"a": "2"}, id="replaced"),
        pytest.param({"a": "1"}, "remove", {"a": "", "b": ""}, {}, id="removed"),
        pytest.param(None, "remove", {"a": ""}, None, id="nothing-to-remove"),
    ],
)
def test_labels_and_annotations_are_changed(key, was, operator, value, expected):
    manifest = make_deployment(**({} if was is None else {key: was}))
    overrider = {"operator": operator, "value": value}
    changed = overridden(manifest, **{f"{key}Overrider": [overrider]})
    assert changed["metadata"].get(key) == expected


def make_config(**data):
    metadata = {"name": "c", "namespace": "shop"}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


@pytest.mark.parametrize(
    ("name", "was", "operations", "expected"),
    [
        pytest.param(
            "json",
            '{"db": {"host": "a", "port": 1}, "tags": ["x"]}',
            [
                {"subPath": "/db/host", "operator": "replace", "value": "b"},
                {"subPath": "/db/port", "operator": "remove"},
                {"subPath": "/tags/-", "operator": "add", "value": "y"},
            ],
            '{"db":{"host":"b"},"tags":["x","y"]}',
            id="json",
        ),
        pytest.param(
            "yaml",
            "db:\n  host: a\n  port: 1\n",
            [{"subPath": "/db/host", "operator": "replace", "value": "b"}],
            "db:\n  host: b\n  port: 1\n",
            id="yaml",
        ),
        pytest.param(
            "json",
            "null",
            [{"subPath": "", "operator": "add", "value": {"a": 1}}],
            '{"a":1}',
            id="the-whole-document",
        ),
    ],
)
def test_a_document_inside_a_field_is_changed(name, was, operations, expected):
    overrider = {"fieldPath": "/data/db.conf", name: operations}
    manifest = make_config(**{"db.conf": was})
    assert overridden(manifest, fieldOverrider=[overrider])["data"] == {"db.conf": expected}


def test_a_field_overrider_without_operations_changes_nothing():
    manifest = make_config(a="{}")
    assert overridden(manifest, fieldOverrider=[{"fieldPath": "/data/a"}]) == manifest


def test_plaintext_changes_anything():
    changed = overridden(
        make_deployment({"image": "a"}),
        plaintext=[
            {"path": "/spec/template/spec/containers/0/image", "operator": "replace", "value": "b"},
            {"path": "/metadata/annotations", "operator": "add", "value": {"foo": "bar"}},
            {"path": "/metadata/annotations/x~1y", "operator": "add", "value": "z"},
            {"path": "/spec/replicas", "operator": "remove"},
            {
                "path": "/spec/template/spec/containers/-",
                "operator": "add",
                "value": {"image": "c"},
            },
            {"path": "/spec/template/spec/containers/-1/name", "operator": "add", "value": "n"},
        ],
    )
    assert changed == {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {
            "name": "web",
            "namespace": "shop",
            "annotations": {"foo": "bar", "x/y": "z"},
        },
        "spec": {
            "template": {"spec": {"containers": [{"image": "b"}, {"image": "c", "name": "n"}]}}
        },
    }


def test_overriders_are_carried_out_in_their_order():
    changed = overridden(
        make_deployment({"name": "a", "image": "nginx:1"}),
        plaintext=[
            {"path": "/metadata/labels/a", "operator": "replace", "value": "plaintext"},
            {
                "path": "/spec/template/spec/containers/0/image",
                "operator": "replace",
                "value": "last",
            },
        ],
        labelsOverrider=[{"operator": "add", "value": {"a": "label"}}],
        imageOverrider=image_override("Tag", "replace", "2"),
    )
    assert changed["metadata"]["labels"] == {"a": "plaintext"}
    assert containers_of(changed)[0]["image"] == "last"


RULE = "OverridePolicy shop/tune: spec.overrideRules[0].overriders."


@pytest.mark.parametrize(
    ("overriders", "expected"),
    [
        pytest.param(
            {"plaintext": [{"path": "/spec/strategy/type", "operator": "replace", "value": "x"}]},
            "plaintext[0].path: '/spec/strategy/type': /spec has no field 'strategy'",
            id="a-path-that-does-not-exist",
        ),
        pytest.param(
            {"plaintext": [{"path": "/status", "operator": "remove"}]},
            "plaintext[0].path: '/status': the object has no field 'status'",
            id="nothing-to-remove",
        ),
        pytest.param(
            {"plaintext": [{"path": "/spec/template/spec/containers/3", "operator": "remove"}]},
            "plaintext[0].path: '/spec/template/spec/containers/3': "
            "/spec/template/spec/containers is a list without an element 3",
            id="an-index-beyond-the-end",
        ),
        pytest.param(
            {"plaintext": [{"path": "/spec/template/spec/containers/x", "operator": "add"}]},
            "plaintext[0].path: '/spec/template/spec/containers/x': "
            "/spec/template/spec/containers is a list; 'x' is no index of it",
            id="no-index",
        ),
        pytest.param(
            {"plaintext": [{"path": "/spec/replicas/x", "operator": "add", "value": 1}]},
            "plaintext[0].path: '/spec/replicas/x': "
            "/spec/replicas has no fields: it is neither object nor list",
            id="into-a-number",
        ),
        pytest.param(
            {"plaintext": [{"path": "spec", "operator": "remove"}]},
            "plaintext[0].path: 'spec': a path begins with /",
            id="no-path",
        ),
        pytest.param(
            {"plaintext": [{"path": "/a~b", "operator": "remove"}]},
            "plaintext[0].path: '/a~b': in a path ~ is written ~0, and a / inside a name ~1",
            id="a-tilde",
        ),
        pytest.param(
            {"plaintext": [{"path": "", "operator": "remove"}]},
            "plaintext[0].path: '': the whole cannot be removed; name a part of it",
            id="everything",
        ),
        pytest.param(
            {"plaintext": [{"path": "/spec", "operator": "move"}]},
            "plaintext[0].operator: 'move': must be one of add, remove, replace",
            id="an-unknown-operator",
        ),
        pytest.param(
            {"plaintext": [{"path": "/metadata/name", "operator": "remove"}]},
            "plaintext: ('apps/v1', 'Deployment', None): "
            "must leave the object its apiVersion, kind and metadata.name",
            id="the-name",
        ),
        pytest.param(
            {"plaintext": [{"path": "", "operator": "replace", "value": [1]}]},
            "plaintext: [1]: must be an object",
            id="no-object-is-left",
        ),
        pytest.param(
            {"plaintext": [{"path": "/metadata/labels", "operator": "add", "value": {"a": 1}}]},
            "plaintext.metadata.labels[a]: 1: must be text",
            id="a-label-that-is-no-text",
        ),
        pytest.param(
            {"imageOverrider": image_override("Host", "remove")},
            "imageOverrider[0].component: 'Host': must be one of Registry, Repository, Tag",
            id="an-unknown-part-of-an-image",
        ),
        pytest.param(
            {"imageOverrider": image_override("Tag", "remove", predicate={"path": "/spec/image"})},
            "imageOverrider[0].predicate.path: '/spec/image': /spec has no field 'image'",
            id="a-predicate-that-leads-nowhere",
        ),
        pytest.param(
            {"imageOverrider": image_override("Tag", "remove", predicate={"path": "/spec"})},
            "imageOverrider[0].predicate.path: '/spec': "
            "leads to something that is no text, so to no image",
            id="a-predicate-that-leads-to-no-image",
        ),
        pytest.param(
            {"argsOverrider": [{"containerName": "a", "operator": "replace", "value": []}]},
            "argsOverrider[0].operator: 'replace': must be one of add, remove",
            id="words-are-not-replaced",
        ),
        pytest.param(
            {"fieldOverrider": [{"fieldPath": "/spec", "json": []}]},
            "fieldOverrider[0].fieldPath: '/spec': "
            "leads to something that is no text, so to no document",
            id="no-document",
        ),
        pytest.param(
            {
                "fieldOverrider": [
                    {
                        "fieldPath": "/metadata/name",
                        "json": [{"subPath": "/a", "operator": "remove"}],
                    }
                ]
            },
            "fieldOverrider[0].fieldPath: '/metadata/name': "
            "leads to a text that is not JSON: it cannot be parsed",
            id="not-json",
        ),
    ],
)
def test_a_policy_that_cannot_be_carried_out_says_where_and_why(overriders, expected):
    assert refusal(make_deployment({"image": "a"}), **overriders) == RULE + expected


def test_a_text_that_is_no_yaml_is_refused_and_not_repeated():
    operations = [{"subPath": "/a", "operator": "remove"}]
    overrider = {"fieldPath": "/data/a", "yaml": operations}
    message = refusal(make_config(a="[hunter2"), fieldOverrider=[overrider])
    assert "fieldOverrider[0].fieldPath: '/data/a': leads to a text that is not YAML" in message
    assert "hunter2" not in message


def test_an_image_that_cannot_be_read_is_refused():
    message = refusal(
        make_deployment({"image": "No Image"}), imageOverrider=image_override("Tag", "remove")
    )
    assert message == (
        RULE
        + "imageOverrider[0]: 'No Image': is no name of an image, so no part of it can be changed"
    )


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=12,
)


def pointers_into(value, path=""):
    yield path
    if isinstance(value, dict):
        for key, each in value.items():
            yield from pointers_into(each, f"{path}/{key.replace('~', '~0').replace('/', '~1')}")
    elif isinstance(value, list):
        for index, each in enumerate(value):
            yield from pointers_into(each, f"{path}/{index}")


@given(JSON, st.data(), JSON)
def test_what_is_replaced_is_read_back_and_replacing_it_again_restores_all(value, data, other):
    path = Pointer(data.draw(st.sampled_from(list(pointers_into(value)))), "path")
    before = read(value, path)
    changed = patched(value, Operation("replace", path, other))
    assert read(changed, path) == other
    assert patched(changed, Operation("replace", path, before)) == value


@given(JSON, st.data(), JSON)
def test_what_is_added_and_removed_again_leaves_no_trace(value, data, other):
    path = Pointer(data.draw(st.sampled_from(list(pointers_into(value)))), "path")
    if not isinstance(read(value, path), list | dict):
        return
    new = Pointer(
        f"{path.path}/0" if isinstance(read(value, path), list) else f"{path.path}/new key", "path"
    )
    added = patched(value, Operation("add", new, other))
    assert read(added, new) == other
    assert patched(added, Operation("remove", new)) == value
