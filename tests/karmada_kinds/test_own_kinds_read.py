"""Who may read an explanation, and what of others it tells to whom; under any authorizer."""

from collections.abc import Iterator
from typing import Any

import pytest
from karmada_plane import TABLE, Asking, running
from karmada_samples import OWN_BY_KIND

from atoll.apiserver.authentication import MASTERS, Identity
from atoll.apiserver.authorization import Attributes
from atoll.apiserver.status import forbidden
from atoll.wire import Wire

WHY, WIDE = OWN_BY_KIND["Explanation"], OWN_BY_KIND["ClusterExplanation"]
BINDINGS = "work.karmada.io"
# Who may read which bindings: all of a namespace, or those of a name.
READERS = {
    "alice": {("resourcebindings", "default", "")},
    "bob": {("resourcebindings", "default", ""), ("resourcebindings", "shop", "")},
    "carol": {("resourcebindings", "default", "web")},
    "dave": {("clusterresourcebindings", "", "")},
}
OTHERS = [
    {"kind": "ResourceBinding", "namespace": "shop", "name": "cart", "clusters": ["a"]},
    {"kind": "ResourceBinding", "namespace": "default", "name": "db", "clusters": ["b"]},
    {"kind": "ClusterResourceBinding", "name": "roles", "clusters": ["c"]},
]


def some_namespaces(identity: Identity, wanted: Attributes) -> None:
    """An authorizer that lets users read some bindings, and write explanations if they insist."""
    if MASTERS in identity.groups or (wanted.group != BINDINGS and identity.name == "writer"):
        return
    granted = READERS.get(identity.name, set())
    names = {(wanted.plural, wanted.namespace, each) for each in ("", wanted.name)}
    is_read = wanted.verb in ("get", "list", "watch") and wanted.group == BINDINGS
    if not (is_read and granted & names):
        raise forbidden(wanted.plural, wanted.group, wanted.name, "not granted")


@pytest.fixture(scope="module")
def server() -> Iterator[Asking]:
    with running(authorize=some_namespaces) as asking:
        told = {**WHY.content["decisions"][0], "others": OTHERS}
        for sample, name in ((WHY, "web"), (WHY, "api"), (WIDE, "web")):
            asking.done("POST", sample.path(), {**sample.named(name), "decisions": [told, told]})
        yield asking


def named(explanation: Wire) -> list[list[str]]:
    """Whom each decision names."""
    decisions: list[dict[str, Any]] = explanation["decisions"]
    return [[each["name"] for each in decision["others"]] for decision in decisions]


@pytest.mark.parametrize(
    ("user", "path", "status"),
    [
        pytest.param("alice", WHY.path("web"), 200, id="one-of-a-namespace-that-may-be-read"),
        pytest.param("alice", WHY.path(), 200, id="all-of-it"),
        pytest.param("alice", "/apis/placement.atoll.io/v1alpha1/explanations", 403, id="anywhere"),
        pytest.param("alice", WIDE.path("web"), 403, id="of-another-kind-of-binding"),
        pytest.param("carol", WHY.path("web"), 200, id="the-one-binding-that-may-be-read"),
        pytest.param("carol", WHY.path("api"), 403, id="another-one"),
        pytest.param("carol", WHY.path(), 403, id="all-for-whom-may-read-one"),
        pytest.param("dave", WIDE.path("web"), 200, id="cluster-wide"),
        pytest.param("dave", WHY.path("web"), 403, id="cluster-wide-only"),
        pytest.param("nobody", WHY.path("web"), 403, id="nobody"),
    ],
)
def test_an_explanation_is_read_by_whoever_may_read_its_binding(
    server: Asking, user: str, path: str, status: int
):
    assert server.by(user).ask("GET", path)[0] == status


def test_a_right_to_explanations_alone_reads_and_writes_none(server: Asking):
    writer = server.by("writer")
    assert writer.ask("GET", WHY.path("web"))[0] == 403
    assert writer.ask("DELETE", WHY.path("web"))[0] == 403
    assert writer.ask("POST", WHY.path(), WHY.named("mine"))[0] == 403


@pytest.mark.parametrize(
    ("user", "names"),
    [
        pytest.param("alice", ["another binding", "db", "another binding"], id="one-namespace"),
        pytest.param("bob", ["cart", "db", "another binding"], id="two-namespaces"),
        pytest.param("carol", ["another binding"] * 3, id="one-binding"),
    ],
)
def test_others_are_named_to_those_who_may_read_them(server: Asking, user: str, names: list[str]):
    asking = server.by(user)
    shown = asking.done("GET", WHY.path("web"))
    assert named(shown) == [names, names]
    hidden = [each for each in shown["decisions"][0]["others"] if each["name"].startswith("anoth")]
    assert all(each.keys() == {"name", "because"} for each in hidden)
    assert ("cart" in str(shown)) == ("cart" in names)


def test_administrators_see_everybody(server: Asking):
    assert named(server.done("GET", WHY.path("web")))[0] == ["cart", "db", "roles"]


def test_lists_and_watches_hide_the_same(server: Asking):
    for user, first in (("bob", "cart"), ("alice", "another binding"), ("bob", "cart")):
        asking = server.by(user)
        listed = asking.done("GET", WHY.path())["items"]
        assert [named(each)[0][0] for each in listed] == [first, first]
        for since in ("", "&resourceVersion=1"):
            frames = asking.first_frames(f"{WHY.path()}?watch=true{since}", 2)
            assert [named(each["object"])[0][0] for each in frames] == [first, first]
        table = asking.done("GET", f"{WHY.path()}?includeObject=Object", accept=TABLE)
        assert [named(each["object"])[0][0] for each in table["rows"]] == [first, first]
