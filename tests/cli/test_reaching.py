"""Which plane a command means, by its options and the environment, while no instance runs."""

from pathlib import Path

import pytest
import yaml

from atoll.cli.failing import CommandFailed
from atoll.cli.reaching import find_plane
from atoll.errors import UsageError


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user who has kubeconfigs, and no instance."""
    for name in ("KUBECONFIG", "ATOLL_DATA_DIR", "XDG_STATE_HOME", "HTTPS_PROXY", "https_proxy"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("one", "two"):
        (tmp_path / name).write_text(yaml.safe_dump(config(name)))
    return tmp_path


def config(name: str) -> dict[str, object]:
    servers = {name: f"https://{name}.example", "other": f"https://other.{name}.example"}
    return {
        "current-context": name,
        "contexts": [{"name": each, "context": {"cluster": each}} for each in servers],
        "clusters": [{"name": each, "cluster": {"server": url}} for each, url in servers.items()],
    }


def test_a_kubeconfig_that_is_named_counts(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBECONFIG", str(home / "one"))
    plane = find_plane(str(home / "two"), "other", None)
    assert plane.client.endpoint.server == "https://other.two.example"
    said = f"atoll get x --kubeconfig {home / 'two'} --karmada-context other"
    assert plane.command("get x") == said


@pytest.mark.parametrize(
    ("context", "server"), [(None, "https://one.example"), ("two", "https://two.example")]
)
def test_without_an_instance_the_environment_names_the_plane(
    home: Path, monkeypatch: pytest.MonkeyPatch, context: str | None, server: str
) -> None:
    monkeypatch.setenv("KUBECONFIG", f"{home / 'one'}:{home / 'two'}")
    assert find_plane(None, context, None).client.endpoint.server == server


def test_a_context_alone_is_one_of_the_usual_file(home: Path) -> None:
    (home / ".kube").mkdir()
    (home / "one").rename(home / ".kube" / "config")
    assert find_plane(None, "other", None).client.endpoint.server == "https://other.one.example"


def test_a_proxy_of_the_environment_is_used(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy:3128")
    assert find_plane(str(home / "one"), None, None).client.endpoint.proxy == "http://proxy:3128"


def test_nothing_to_speak_to_is_said_with_what_to_do(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(CommandFailed, match="no server is running; try: atoll up, or --kubeconf"):
        find_plane(None, None, None)
    with pytest.raises(CommandFailed, match="--data-dir names a plane of its own"):
        find_plane(str(home / "one"), None, str(home))
    with pytest.raises(UsageError, match='has no context "nobody"; there is one, other'):
        find_plane(str(home / "one"), "nobody", None)
    # An instance that is named is meant, and no other plane.
    monkeypatch.setenv("KUBECONFIG", str(home / "one"))
    with pytest.raises(CommandFailed, match="no server is running"):
        find_plane(None, None, str(home / "instance"))
