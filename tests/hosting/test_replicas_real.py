"""Several replicas on a real host: whoever leads is lost, and another goes on where that one was.

One is killed, cut off from the host, or frozen. What an old leader had sent arrives when a new one
has moved on: it is refused, by the host and by members. Replicas are known apart in the log of a
server by their tokens.
"""

import json
import re
import ssl
import time
from contextlib import ExitStack, closing
from datetime import datetime, timedelta
from http.client import HTTPSConnection
from pathlib import Path

import pytest
from planes import authority
from replicas import (
    LEASE,
    QUICK,
    Host,
    Replica,
    Setting,
    noted,
    replica,
    token_id,
    wait_for,
)
from workloads import BULK, all_are_ready, deployment, enrolled, path_of, place, replicas_in

from atoll.wire import Wire
from testenv.cluster import Cluster
from testenv.commands import AUDIT
from testenv.relay import Relay, relaying

pytestmark = [pytest.mark.testenv, pytest.mark.timeout(900)]

WRITES = ("create", "update", "patch", "delete")


def url_of(relay: Relay) -> str:
    config = json.loads(relay.kubeconfig.read_text())
    found: str = config["clusters"][0]["cluster"]["server"]
    return found


def conflicts(server: Cluster, path: str) -> int:
    """How many writes to an object were refused for being decided on an old state."""
    lines = (server.directory / AUDIT).read_text().splitlines()
    return sum(
        each["verb"] in WRITES and each["responseStatus"]["code"] == 409
        for each in map(json.loads, lines)
        if each["requestURI"].partition("?")[0].endswith(path)
    )


def work_of(host: Host, space: str, name: str) -> int | None:
    """How many the first member is to run of a Deployment."""
    found = host.client.get("/apis/work.karmada.io/v1alpha1/namespaces/karmada-es-m1/works")
    manifests = (each["spec"]["workload"]["manifests"][0] for each in found["items"])
    wanted = (space, name)
    return next(
        (
            each["spec"]["replicas"]
            for each in manifests
            if (each["metadata"].get("namespace"), each["metadata"]["name"]) == wanted
        ),
        None,
    )


def accepted(entries: list[Wire]) -> list[tuple[str, str]]:
    """Writes that had an effect on what is placed where."""
    return [
        (each["verb"], each["requestURI"])
        for each in entries
        if each["verb"] in WRITES
        and each["responseStatus"]["code"] < 300
        and any(kind in each["requestURI"] for kind in ("karmada.io", "/apps/"))
    ]


def freeze(
    setting: Setting, leader: Replica, other: Replica, kubeconfig: Path, to_member: Relay
) -> None:
    """The leader stands still, and what it sent to a member is still on the way.

    When that arrives and it goes on itself, another has moved things: whatever it writes is
    refused, by the member and by the host.
    """
    host, member, terms = setting.host, setting.members["m1"], other.terms()
    refused, token = conflicts(member, "/deployments/web"), token_id(kubeconfig)
    to_member.freeze()
    host.apply(path_of("lost", "web"), deployment("web", "lost", 2))
    wait_for("its decision", lambda: work_of(host, "lost", "web") == 2)
    wait_for("what it sends", lambda: to_member.held > BULK / 2)
    leader.freeze()
    wait_for("another who leads", lambda: other.terms() > terms)
    wait_for("another way", lambda: host.enrol("m1", member) is None)
    host.apply(path_of("lost", "web"), deployment("web", "lost", 7))
    wait_for("its change", lambda: replicas_in(member, "lost", "web") == 7)
    before = len(noted(host.cluster, token))
    to_member.restore()
    wait_for("the refusal", lambda: conflicts(member, "/deployments/web") > refused)
    leader.thaw()
    wait_for("the old one to give up", lambda: " leads no more: " in leader.said())
    wait_for("it to look", lambda: len(noted(host.cluster, token)) > before)
    assert accepted(noted(host.cluster, token)[before:]) == []
    assert replicas_in(member, "lost", "web") == 7


def kill(setting: Setting, leader: Replica, other: Replica) -> None:
    """The leader dies; another leads when its time is over, and not before."""
    host, terms = setting.host, other.terms()
    before = host.client.get(LEASE)["spec"]
    leader.kill()
    wait_for("another who leads", lambda: other.terms() > terms)
    after = host.client.get(LEASE)["spec"]
    assert after["holderIdentity"] not in ("", before["holderIdentity"])
    assert after["leaseTransitions"] > before["leaseTransitions"]
    renewed, acquired = (
        datetime.fromisoformat(each) for each in (before["renewTime"], after["acquireTime"])
    )
    assert acquired - renewed >= timedelta(seconds=before["leaseDurationSeconds"])
    check_placing(setting, "killed")


def cut(setting: Setting, leader: Replica, other: Replica, relay: Relay) -> None:
    """The leader reaches the host no more; it gives up, and another leads."""
    terms, given_up = other.terms(), leader.said().count(" leads no more: it could not")
    relay.freeze()
    wait_for("another who leads", lambda: other.terms() > terms)
    wait_for(
        "the old one to give up",
        lambda: leader.said().count(" leads no more: it could not") > given_up,
    )
    check_placing(setting, "cut")
    relay.restore()


def stop(setting: Setting, leader: Replica, other: Replica) -> None:
    """The leader goes in good order, and gives up what it held."""
    before, terms = setting.host.leader(), other.terms()
    assert leader.stop() == 0, leader.said()
    assert "Stopped in good order" in leader.said()
    assert setting.host.leader() != before
    wait_for("another who leads", lambda: other.terms() > terms)
    check_placing(setting, "stopped")


def check_placing(setting: Setting, name: str) -> None:
    """What is made now comes to all members."""
    place(setting.host, "lost", name)
    for member in setting.members.values():
        wait_for("it everywhere", lambda m=member: replicas_in(m, "lost", name) == 1)


def test_however_the_leader_is_lost_another_goes_on_and_nothing_else_changes(
    setting: Setting,
) -> None:
    host, member = setting.host, setting.members["m1"]
    with (
        relaying(host.cluster, "leader") as relay,
        relaying(member, "member") as to_member,
        ExitStack() as started,
    ):

        def begin(*way: str) -> tuple[Replica, Path]:
            kubeconfig = host.account(setting.directory, *way)
            return started.enter_context(replica(kubeconfig, *QUICK)), kubeconfig

        one, kubeconfig = begin(url_of(relay))
        wait_for("one who leads", one.terms)
        two, _ = begin()
        enrolled(setting)
        host.enrol("m1", member, url_of(to_member))
        wait_for("members", lambda: all_are_ready(setting))
        check_placing(setting, "web")
        wait_for("one who waits", lambda: " leads\n" in two.said())
        uid = member.get(path_of("lost", "web"))["metadata"]["uid"]
        freeze(setting, one, two, kubeconfig, to_member)
        kill(setting, two, one)
        three, _ = begin()
        wait_for("one who waits", lambda: " leads\n" in three.said())
        cut(setting, one, three, relay)
        wait_for("one who waits", lambda: one.said().endswith(" leads\n"))
        stop(setting, three, one)
        assert member.get(path_of("lost", "web"))["metadata"]["uid"] == uid
        assert one.stop() == 0


def heard(host: Host, one: Replica, path: str) -> tuple[int, str | None]:
    """What a replica answers to somebody who would go on, and whether it lets them."""
    (port,) = re.findall(r"Serving at 127\.0\.0\.1:(\d+)", one.said())
    tls = ssl.create_default_context(cadata=authority(host))
    connection = HTTPSConnection("127.0.0.1", int(port), timeout=60, context=tls)
    with closing(connection):
        connection.request("GET", path)
        answer = connection.getresponse()
        return answer.status, answer.getheader("connection")


def test_one_that_is_told_to_end_lets_another_lead_and_serves_on_until_it_is_told_again(
    setting: Setting,
) -> None:
    host = setting.host
    with ExitStack() as started:

        def begin() -> Replica:
            kubeconfig = host.account(setting.directory)
            return started.enter_context(replica(kubeconfig, *QUICK, "--shutdown-delay=1h"))

        one = begin()
        wait_for("one who leads", one.terms)
        wait_for("it to know all", lambda: heard(host, one, "/readyz") == (200, None))
        two = begin()
        wait_for("one who waits", lambda: " leads\n" in two.said())
        one.process.terminate()
        wait_for("another who leads", two.terms)
        wait_for("it to say so", lambda: heard(host, one, "/version") == (200, "close"))
        assert heard(host, one, "/livez")[0] == 200
        assert heard(host, one, "/readyz")[0] == 500
        assert heard(host, one, "/readyz/shutdown")[0] == 500
        assert heard(host, two, "/readyz/shutdown") == (200, None)
        assert one.process.poll() is None
        assert one.stop() == 0, one.said()  # in far less than an hour
        assert "Stopped in good order" in one.said()


def test_one_that_is_told_to_end_does_so_by_itself_and_not_before_its_time(
    setting: Setting,
) -> None:
    with replica(setting.host.account(setting.directory), *QUICK, "--shutdown-delay=2s") as one:
        wait_for("one who leads", one.terms)
        begun = time.monotonic()
        assert one.stop() == 0, one.said()
        assert time.monotonic() - begun >= 2
        assert "Leaving; serving for 2 s more" in one.said()
        assert "Stopped in good order" in one.said()
        assert setting.host.leader() == ""
