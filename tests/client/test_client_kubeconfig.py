"""Kubeconfigs: read like kubectl does as far as we go, and refused with a reason beyond."""

import base64
import shutil
import stat
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from atoll.client.endpoint import Endpoint
from atoll.client.kubeconfig import read_kubeconfig, write_kubeconfig
from atoll.errors import UsageError

FULL = Endpoint("https://127.0.0.1:1", b"ca", b"cert", b"key", "token")


def config(cluster: dict[str, Any], user: dict[str, Any]) -> dict[str, Any]:
    return {
        "current-context": "a",
        "contexts": [
            {"name": "a", "context": {"cluster": "c", "user": "u"}},
            {"name": "b", "context": {"cluster": "d"}},
        ],
        "clusters": [
            {"name": "c", "cluster": {"server": "https://c:6443/", **cluster}},
            {"name": "d", "cluster": {"server": "https://d", "insecure-skip-tls-verify": True}},
        ],
        "users": [{"name": "u", "user": user}],
    }


def write(path: Path, document: object) -> Path:
    path.write_text(yaml.safe_dump(document))
    return path


def test_what_is_written_can_be_read_again_and_by_its_owner_only(tmp_path: Path) -> None:
    path = tmp_path / "kubeconfig"
    write_kubeconfig(path, "atoll", FULL)
    assert read_kubeconfig(path) == FULL
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.skipif(shutil.which("kubectl") is None, reason="there is no kubectl here")
def test_kubectl_understands_what_is_written(tmp_path: Path) -> None:
    path = tmp_path / "kubeconfig"
    write_kubeconfig(path, "atoll", FULL)
    command = ["kubectl", "--kubeconfig", str(path), "config", "view", "-o"]
    template = "jsonpath={.current-context} {.clusters[0].cluster.server}"
    done = subprocess.run([*command, template], capture_output=True, text=True, check=True)
    assert done.stdout == "atoll https://127.0.0.1:1"


def test_files_are_named_relative_to_the_kubeconfig(tmp_path: Path) -> None:
    for name in ("ca", "crt", "key", "token"):
        (tmp_path / name).write_text(f"the {name}")
    user = {"client-certificate": "crt", "client-key": str(tmp_path / "key"), "tokenFile": "token"}
    path = write(tmp_path / "k", config({"certificate-authority": "ca"}, user))
    expected = Endpoint("https://c:6443", b"the ca", b"the crt", b"the key", "the token")
    assert read_kubeconfig(path) == expected


def test_data_in_the_file_wins_over_a_file(tmp_path: Path) -> None:
    data = base64.b64encode(b"inline").decode()
    cluster = {"certificate-authority": "nowhere", "certificate-authority-data": data}
    path = write(tmp_path / "k", config({**cluster, "tls-server-name": "n"}, {"token": "t"}))
    assert read_kubeconfig(path) == Endpoint(
        "https://c:6443", b"inline", token="t", server_name="n"
    )


def test_another_context_can_be_named(tmp_path: Path) -> None:
    path = write(tmp_path / "k", config({}, {}))
    assert read_kubeconfig(path, "b") == Endpoint("https://d", skip_verification=True)


@pytest.mark.parametrize(
    ("document", "reason"),
    [
        pytest.param([], "is not a kubeconfig", id="a-list"),
        pytest.param({}, 'no context ""', id="empty"),
        pytest.param({**config({}, {}), "clusters": None}, 'no cluster "c"', id="no-cluster"),
        pytest.param(config({}, {"exec": {"command": "x"}}), "uses exec", id="exec"),
        pytest.param(config({"proxy-url": "x"}, {}), "uses proxy-url", id="proxy"),
        pytest.param(config({"server": ""}, {}), "names no server", id="no-server"),
        pytest.param(config({}, {"client-key": "nowhere"}), "cannot read", id="missing-file"),
        pytest.param(
            config({"certificate-authority-data": "%"}, {}), "is not base64", id="not-base64"
        ),
    ],
)
def test_what_cannot_be_used_is_refused_with_the_reason(
    document: object, reason: str, tmp_path: Path
) -> None:
    with pytest.raises(UsageError, match=reason):
        read_kubeconfig(write(tmp_path / "k", document))


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        pytest.param(None, "No such file", id="missing"),
        pytest.param(b"a: [", "is not YAML", id="broken"),
        pytest.param(b"\xff\xfe\x00", "is not YAML", id="binary"),
    ],
)
def test_a_file_that_is_none_is_refused(content: bytes | None, reason: str, tmp_path: Path) -> None:
    path = tmp_path / "k"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(UsageError, match=reason):
        read_kubeconfig(path)
