"""Plug-ins that are installed beside Atoll take part under `atoll up`, and can be switched off."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from running import Shell, until

FLEET = """
clusters:
- {name: m1, labels: {maintenance: planned}, pools: [{count: 1, cpu: 4, memory: 8Gi}]}
- {name: m2, pools: [{count: 1, cpu: 4, memory: 8Gi}]}
"""
POLICIES = "/apis/policy.karmada.io/v1alpha1/namespaces/default/propagationpolicies"
DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"
BINDINGS = "/apis/work.karmada.io/v1alpha2/namespaces/default/resourcebindings"
POLICY = {
    "apiVersion": "policy.karmada.io/v1alpha1",
    "kind": "PropagationPolicy",
    "metadata": {"name": "all"},
    "spec": {"resourceSelectors": [{"apiVersion": "apps/v1", "kind": "Deployment"}]},
}


@pytest.fixture
def shell(tmp_path: Path, python_with_plugins: Path) -> Iterator[Shell]:
    """A user who has installed examples/plugin, and whose server is not running yet."""
    user = Shell(tmp_path, python=python_with_plugins)
    yield user
    user.clean_up()


def placed(shell: Shell, name: str) -> set[str]:
    """Where a new Deployment goes."""
    labels = {"app": name}
    pod = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    deployment = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name},
        "spec": {"selector": {"matchLabels": labels}, "template": pod},
    }
    shell.request("POST", DEPLOYMENTS, deployment)

    def clusters() -> set[str]:
        for each in shell.request("GET", BINDINGS)["items"]:
            if each["spec"]["resource"]["name"] == name:
                return {one["name"] for one in each["spec"].get("clusters") or ()}
        return set()

    until(clusters, f"{name} is placed")
    return clusters()


def test_an_installed_plugin_takes_part_until_it_is_switched_off(
    shell: Shell, tmp_path: Path
) -> None:
    fleet = tmp_path / "fleet.yaml"
    fleet.write_text(FLEET)
    shell.up("--fleet", str(fleet))
    shell.request("POST", POLICIES, POLICY)
    assert placed(shell, "web") == {"m2"}
    until(lambda: shell.atoll("why", "deploy/web").code == 0, "that is explained")
    lines = shell.atoll("why", "deploy/web").out.splitlines()
    (header,) = (each.split() for each in lines if "TaintToleration" in each)
    (m1,) = (each.split() for each in lines if " m1 " in each and "FAIL" in each)
    assert m1[header.index("Maintenance")] == "FAIL"
    assert m1[-2:] == ["maintenance", "planned"]
    shell.atoll("down")
    shell.up("--plugins", "*,-Maintenance")
    assert placed(shell, "api") == {"m1", "m2"}


def test_a_list_that_nobody_can_mean_is_refused_before_anything_starts(shell: Shell) -> None:
    result = shell.atoll("up", "--plugins", "*,-Maintenence")
    assert result.code == 1
    known = "known: APIEnablement, TaintToleration, "
    assert f"error: --plugins: there is no plug-in 'Maintenence'; {known}" in result.err
    assert "Maintenance, Tenants, " in result.err
    assert not shell.data.exists()


def test_a_plugin_that_cannot_be_used_is_refused_before_anything_starts(
    shell: Shell, tmp_path: Path
) -> None:
    info = tmp_path / "lib" / "broken-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: broken\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[atoll.filters]\nMine = nowhere:M\n")
    shell.environment["PYTHONPATH"] = str(tmp_path / "lib")
    result = shell.atoll("up")
    assert result.code == 1
    assert "entry point 'Mine' in atoll.filters of broken 1.0: nowhere:M cannot be l" in result.err
    assert result.err.endswith("uninstall it, or switch it off with --plugins=*,-Mine\n")
    assert not shell.data.exists()
