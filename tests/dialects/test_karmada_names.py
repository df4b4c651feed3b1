"""Names are a contract: those that Karmada published must come out the same."""

import pytest

from atoll.dialects.karmada import names


@pytest.mark.parametrize(
    ("kind", "name", "namespace", "expected"),
    [
        pytest.param("Deployment", "nginx", "default", "nginx-687f7fb96f", id="namespaced"),
        pytest.param(
            "Namespace", "cert-manager", "", "cert-manager-674b866f4c", id="cluster-scoped"
        ),
        pytest.param(
            "ClusterRole",
            "karmada-impersonator",
            "",
            "karmada-impersonator-7cbb6bd5c9",
            id="cluster-role",
        ),
    ],
)
def test_a_work_has_the_name_karmada_gives_it(
    kind: str, name: str, namespace: str, expected: str
) -> None:
    assert names.work_name(kind, name, namespace) == expected


def test_a_colon_in_a_name_becomes_a_dot() -> None:
    assert names.binding_name("ClusterRole", "system:node") == "system.node-clusterrole"
    assert names.work_name("ClusterRole", "system:node").startswith("system.node-")


def test_a_cluster_is_found_by_the_namespace_of_its_works() -> None:
    assert names.cluster_of(names.execution_namespace("eu-1")) == "eu-1"
    assert names.cluster_of("default") is None


@pytest.mark.parametrize(
    ("namespace", "reserved"),
    [("karmada-system", True), ("karmada-es-x", True), ("karmada-systems", False), ("web", False)],
)
def test_reserved_namespaces_are_exactly_the_planes_own(namespace: str, reserved: object) -> None:
    assert names.is_reserved(namespace) is reserved


def test_dependencies_of_different_parents_have_different_labels() -> None:
    one, other = names.depended_by("a", "b-c"), names.depended_by("a-b", "c")
    assert one != other
    assert len(one.rpartition("/")[2]) <= 63
