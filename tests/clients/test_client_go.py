"""A program in Go that follows ConfigMaps as controllers do, while its server comes and goes."""

import itertools
import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from kubernetes import client, config
from processes import Plane, wait_until

_numbers = itertools.count(1)


@dataclass(frozen=True)
class Follower:
    """The running program."""

    process: subprocess.Popen[str]

    def ask(self, words: str) -> Any:
        assert self.process.stdin is not None
        self.process.stdin.write(words + "\n")
        self.process.stdin.flush()
        return self.hear()

    def hear(self) -> Any:
        assert self.process.stdout is not None
        return json.loads(self.process.stdout.readline())

    def seen(self) -> dict[str, dict[str, str]]:
        found: dict[str, dict[str, str]] = self.ask("state")["seen"]
        return found


@contextmanager
def following(binary: Path, plane: Plane, namespace: str, name: str = "one") -> Iterator[Follower]:
    command = [binary, "-kubeconfig", plane.kubeconfig, "-namespace", namespace, "-name", name]
    with subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        started = Follower(process)
        assert started.hear() == {"synced": 3}
        yield started
        process.kill()


@pytest.fixture
def maps(plane: Plane) -> Iterator["Maps"]:
    with config.new_client_from_config(str(plane.kubeconfig)) as made:
        core = client.CoreV1Api(made)
        namespace = f"followed-{next(_numbers)}"
        core.create_namespace({"metadata": {"name": namespace}})
        yield Maps(core, namespace)


@dataclass(frozen=True)
class Maps:
    """The ConfigMaps of a namespace, as the test changes them."""

    core: client.CoreV1Api
    namespace: str

    def make(self, name: str, **data: str) -> None:
        made = {"metadata": {"name": name}, "data": data}
        self.core.create_namespaced_config_map(self.namespace, made)

    def change(self, name: str, **data: str) -> None:
        self.core.patch_namespaced_config_map(name, self.namespace, {"data": data})

    def remove(self, name: str) -> None:
        self.core.delete_namespaced_config_map(name, self.namespace)

    def truth(self) -> dict[str, str]:
        listed = self.core.list_namespaced_config_map(self.namespace)
        return {each.metadata.name: each.metadata.resource_version for each in listed.items}


def agrees(follower: Follower, maps: Maps) -> bool:
    truth = maps.truth()
    return follower.seen() == dict.fromkeys(("typed", "dynamic", "metadata"), truth)


def test_informers_see_what_is_there_and_every_change(
    plane: Plane, follower: Path, maps: Maps
) -> None:
    for number in range(5):
        maps.make(f"before-{number}")
    wait_until(lambda: "kube-root-ca.crt" in maps.truth())
    before = len(maps.truth())
    with following(follower, plane, maps.namespace) as running:
        assert agrees(running, maps)
        maps.make("after")
        maps.change("after", a="1")
        maps.remove("before-0")
        wait_until(lambda: agrees(running, maps))
        told = running.ask("state")["events"]
        once = {"add": before + 1, "update": 1, "delete": 1}
        assert told == dict.fromkeys(("typed", "dynamic", "metadata"), once)


def test_informers_catch_up_when_the_server_is_killed_and_comes_back(
    plane: Plane, follower: Path, maps: Maps
) -> None:
    maps.make("stays")
    maps.make("goes")
    with following(follower, plane, maps.namespace) as running:
        maps.make("new")
        plane.kill()
        plane.up()
        maps.change("stays", n="1")
        maps.remove("goes")
        wait_until(lambda: agrees(running, maps))
        told = running.ask("state")["events"]
        assert {(each["update"], each["delete"]) for each in told.values()} == {(1, 1)}


def test_one_of_several_leads_and_another_takes_over(
    plane: Plane, follower: Path, maps: Maps
) -> None:
    with following(follower, plane, maps.namespace, "first") as first:
        wait_until(lambda: first.ask("state")["leader"] == "first")
        with following(follower, plane, maps.namespace, "second") as second:
            wait_until(lambda: second.ask("state")["leader"] == "first")
            plane.kill()
            plane.up()
            first.process.kill()
            wait_until(lambda: second.ask("state")["leader"] != "first")
            assert second.ask("state")["leader"] == "second"


def test_nothing_is_lost_when_several_count_at_once(
    plane: Plane, follower: Path, maps: Maps
) -> None:
    maps.make("counter", n="0")
    first = following(follower, plane, maps.namespace, "a")
    second = following(follower, plane, maps.namespace, "b")
    with first as one, second as other:
        for _ in range(10):
            for each in (one, other):
                assert each.process.stdin is not None
                each.process.stdin.write("count counter\n")
                each.process.stdin.flush()
        said = [each.hear() for each in (one, other) for _ in range(10)]
    counted = sum("counted" in each for each in said)
    found = maps.core.read_namespaced_config_map("counter", maps.namespace)
    assert found.data == {"n": str(counted)}
    assert counted >= 10
