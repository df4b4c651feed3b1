"""Kubeconfigs: read as kubectl reads them, and refused with a reason where it would refuse."""

import base64
import shutil
import stat
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from atoll.client.endpoint import Endpoint, Impersonation
from atoll.client.kubeconfig import read_kubeconfig, read_kubeconfigs, write_kubeconfig
from atoll.errors import UsageError

EXEC = {"command": "x", "apiVersion": "client.authentication.k8s.io/v1"}
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


@pytest.mark.parametrize(
    "endpoint",
    [
        pytest.param(FULL, id="usual"),
        pytest.param(replace(FULL, server_name="plane.example"), id="another-name"),
        pytest.param(replace(FULL, ca=None, skip_verification=True), id="not-verified"),
    ],
)
def test_what_is_written_can_be_read_again_and_by_its_owner_only(
    tmp_path: Path, endpoint: Endpoint
) -> None:
    path = tmp_path / "kubeconfig"
    write_kubeconfig(path, "atoll", endpoint)
    assert read_kubeconfig(path) == endpoint
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
    files = Endpoint("https://c:6443", b"the ca", b"the crt", b"the key")
    assert read_kubeconfig(path) == replace(files, token_file=tmp_path / "token")


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
        pytest.param({}, "has no contexts", id="empty"),
        pytest.param(
            {**config({}, {}), "current-context": ""}, "no current-context; name", id="no-current"
        ),
        pytest.param({"kind": "Pod"}, "it is a Pod", id="another-kind"),
        pytest.param({"clusters": {}}, "clusters must be a list", id="a-map"),
        pytest.param({"users": [{}]}, r"users\[0\] has no name", id="nameless"),
        pytest.param({"users": [{"name": "u", "user": 1}]}, 'user "u" must have', id="no-fields"),
        pytest.param({"users": [{"name": "u"}] * 2}, 'two users called "u"', id="twice"),
        pytest.param({**config({}, {}), "current-context": "x"}, 'context "x".*a, b', id="context"),
        pytest.param({**config({}, {}), "clusters": None}, 'the cluster "c", which', id="cluster"),
        pytest.param({**config({}, {}), "users": None}, 'the user "u", which', id="user"),
        pytest.param(config({}, {"exec": 1}), 'user "u": exec must have fields', id="exec"),
        pytest.param(config({}, {"exec": {"args": []}}), "names no command", id="exec-command"),
        pytest.param(
            config({}, {"exec": {"command": "x", "apiVersion": "client.authentication/v1alpha1"}}),
            "update the plug-in",
            id="exec-version",
        ),
        pytest.param(
            config({}, {"exec": {**EXEC, "interactiveMode": "no"}}), "interactiveMode", id="mode"
        ),
        pytest.param(config({}, {"exec": {**EXEC, "env": ["A=b"]}}), "exec.env must", id="env"),
        pytest.param(config({}, {"auth-provider": {"name": "gcp"}}), "gke-gcloud", id="provider"),
        pytest.param(config({}, {"token": "t", "username": "u"}), "both a token", id="two-ways"),
        pytest.param(config({}, {"token": 12}), "token must be text", id="a-number"),
        pytest.param(config({}, {"as-groups": ["g"]}), "need an as", id="as-nobody"),
        pytest.param(config({}, {"as": "a", "as-groups": "g"}), "list of texts", id="as-groups"),
        pytest.param(config({}, {"client-key-data": "eA=="}), "go together", id="half-a-pair"),
        pytest.param(config({"proxy-url": "ftp://x"}, {}), "proxy-url.*socks5", id="proxy"),
        pytest.param(
            config({"insecure-skip-tls-verify": "yes"}, {}), "true or false", id="not-boolean"
        ),
        pytest.param(
            config({"insecure-skip-tls-verify": True, "certificate-authority-data": "eA=="}, {}),
            "exclude each other",
            id="trust-twice",
        ),
        pytest.param(config({"server": "ftp://c"}, {}), "is no URL of a server", id="ftp"),
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


def test_files_are_merged_and_the_first_to_say_something_counts(tmp_path: Path) -> None:
    first = {"contexts": [{"name": "a", "context": {"cluster": "d"}}], "clusters": []}
    one, two = write(tmp_path / "1", first), write(tmp_path / "2", config({}, {"token": "t"}))
    (tmp_path / "3").write_text("")
    merged = read_kubeconfigs(f"{one}:{tmp_path / 'nowhere'}:{two}:{tmp_path / '3'}")
    assert (list(merged.contexts), merged.current) == (["a", "b"], "a")
    assert merged.endpoint() == Endpoint("https://d", skip_verification=True)


def test_a_file_that_is_named_alone_must_be_there(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot read"):
        read_kubeconfigs(str(tmp_path / "nowhere"))
    with pytest.raises(UsageError, match="none of"):
        read_kubeconfigs(f"{tmp_path}/a:{tmp_path}/b")


def test_everything_about_a_user_and_a_proxy_is_read(tmp_path: Path) -> None:
    user = {
        "username": "u",
        "password": "p",
        "as": "somebody",
        "as-uid": "7",
        "as-groups": ["g", "h"],
        "as-user-extra": {"reason": ["x"]},
    }
    path = write(tmp_path / "k", config({"proxy-url": "socks5://p:1"}, user))
    found = read_kubeconfig(path)
    assert (found.username, found.password, found.proxy) == ("u", "p", "socks5://p:1")
    assert found.acting_as == Impersonation("somebody", "7", ("g", "h"), {"reason": ("x",)})


def test_a_plug_in_is_found_beside_the_kubeconfig_and_told_of_the_cluster(tmp_path: Path) -> None:
    extension = {"name": "client.authentication.k8s.io/exec", "extension": {"a": 1}}
    plugin = {
        **EXEC,
        "command": "./bin/login",
        "args": ["-v"],
        "env": [{"name": "A", "value": "b"}],
        "provideClusterInfo": True,
        "installHint": "get it",
    }
    path = write(tmp_path / "k", config({"extensions": [extension]}, {"exec": plugin}))
    found = read_kubeconfig(path).plugin
    assert found is not None
    assert found.command == str(tmp_path / "bin" / "login")
    assert (found.arguments, found.environment, found.hint) == (("-v",), {"A": "b"}, "get it")
    assert found.cluster == {"server": "https://c:6443", "config": {"a": 1}}
