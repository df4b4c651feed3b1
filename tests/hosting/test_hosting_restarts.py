"""Replicas that come and go behind a real host, and what those who use it see of that."""

import json
from collections.abc import Iterator
from contextlib import suppress
from functools import partial

import pytest
from planes import CLUSTERS, SECRET, asked, cluster, serving, write
from replicas import QUICK, Replica, Setting, replica, wait_for

from atoll.client.transport import Unreachable

pytestmark = pytest.mark.testenv


def until_it_ends(lines: Iterator[bytes]) -> list[bytes]:
    """All that a stream still tells, however it ends."""
    told: list[bytes] = []
    with suppress(Unreachable):
        told += lines
    return told


def test_a_watch_goes_on_from_where_it_was_behind_another_replica(setting: Setting):
    host = setting.host
    with serving(setting) as (one, _):
        version = host.client.get(CLUSTERS)["metadata"]["resourceVersion"]
        query = f"watch=1&resourceVersion={version}"
        with host.client.stream(CLUSTERS, query, silence_s=60) as lines:
            one.kill()
            assert until_it_ends(lines) == []
    with serving(setting):
        write(host, "POST", CLUSTERS, cluster("later"))
        with host.client.stream(CLUSTERS, query, silence_s=60) as lines:
            event = json.loads(next(lines))
        host.client.delete(f"{CLUSTERS}/later")
    assert (event["type"], event["object"]["metadata"]["name"]) == ("ADDED", "later")


def test_two_that_start_at_once_agree_on_one_certificate_authority(setting: Setting):
    host = setting.host
    host.client.delete(SECRET)
    kubeconfig = setting.directory / "administrator"
    kubeconfig.write_bytes(host.cluster.kubeconfig.read_bytes())
    with replica(kubeconfig) as one, replica(kubeconfig) as two:
        for each in (one, two):
            wait_for("a replica that serves", lambda each=each: "Serving at" in each.said())
        for each in (one, two):
            ready = partial(asked, host, f"{place(each)}/readyz")
            wait_for("a replica that is ready", lambda ready=ready: ready() == 200)
            assert ready() == 200


def place(one: Replica) -> str:
    return "https://" + one.said().partition("Serving at ")[2].split()[0]


def test_a_host_that_goes_away_for_a_while_is_waited_for(setting: Setting):
    host, kubeconfig = setting.host, setting.directory / "administrator"
    kubeconfig.write_bytes(host.cluster.kubeconfig.read_bytes())
    with replica(kubeconfig, *QUICK) as one:
        wait_for("a leader", lambda: one.terms() == 1)
        server = host.cluster.parts["kube-apiserver"]
        server.stop()
        wait_for("a leader that gives up", lambda: "leads no more" in one.said())
        server.start()
        wait_for("a leader again", lambda: one.terms() == 2)
        write(host, "POST", CLUSTERS, cluster("after"))

        def is_held() -> bool:
            return bool(host.client.get(f"{CLUSTERS}/after")["metadata"].get("finalizers"))

        wait_for("a cluster that is looked after", is_held)
        host.client.delete(f"{CLUSTERS}/after")
        wait_for("its end", lambda: host.get(f"{CLUSTERS}/after") is None)
        assert one.stop() == 0
        assert "Stopped in good order" in one.said()
