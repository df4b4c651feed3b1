"""A host of these tests' own, with members that only keep what they are told."""

from collections.abc import Iterator
from contextlib import ExitStack

import pytest
from replicas import QUICK, Host, Setting, replica, wait_for

from atoll.hosting.installation import Rights
from atoll.hosting.registering import roles
from atoll.hosting.rights import at_home, everywhere, outside, rules
from testenv.build import find
from testenv.cluster import BARE, HOST, Shape, start_together, starting

TEMPLATES = (
    ("apps", "deployments"),
    ("apps", "deployments/status"),
    ("scheduling.k8s.io", "priorityclasses"),
)
"""What is propagated here: naming it leaves no wide right that others could hide behind."""


@pytest.fixture(scope="module")
def setting() -> Iterator[Setting]:
    """A host that notes who asked for what, an account with our rights, and two members.

    A replica has led there with that account, and is gone.
    """
    shapes = (Shape(HOST.controllers, is_audited=True), Shape(is_audited=True), BARE)
    with ExitStack() as started:
        host, one, two = start_together([starting(find(), each, started) for each in shapes])
        seen = Host(host)
        table = (*everywhere(TEMPLATES), *outside())
        seen.grant(Rights(everywhere=rules(table), at_home=rules(at_home())))
        for path, wire in roles():
            seen.apply(path, wire)
        directory = host.directory / "replicas"
        directory.mkdir()
        with replica(seen.account(directory), *QUICK) as first:
            wait_for("one who leads, and has told the host of us", first.terms)
            assert first.stop() == 0, first.said()
        yield Setting(seen, {"m1": one, "m2": two}, directory)
        seen.client.close()
