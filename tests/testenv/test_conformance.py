"""Kubernetes' own tests: which are run, how they are named to it, and how its report is read."""

import re

import pytest

from testenv.build import CONFORMANCE, KUBERNETES, versions
from testenv.conformance import LIST, SERVERS, Outcome, focus, listed, outcomes

TEXT = """
# a remark
plane,member [sig-x] Things should (really) work [Conformance]
member [sig-x] Things should run
"""


@pytest.mark.parametrize(
    ("server", "found"),
    [
        pytest.param("plane", ["[sig-x] Things should (really) work [Conformance]"], id="some"),
        pytest.param("kubernetes", [], id="none"),
    ],
)
def test_a_list_says_what_is_to_pass_where(server: str, found: list[str]) -> None:
    assert listed(server, TEXT) == found


def test_every_test_is_listed_once_and_for_servers_that_there_are() -> None:
    lines = [line.split(" ", 1) for line in LIST.read_text().splitlines() if line[0] != "#"]
    assert {server for where, _ in lines for server in where.split(",")} <= set(SERVERS)
    names = [name for _, name in lines]
    assert len(names) == len(set(names)) > 100


def test_a_test_is_named_so_that_it_alone_is_meant() -> None:
    names = ["[sig-x] a.b (c) works", "[sig-x] other"]
    fits = re.compile(focus(names))
    assert [bool(fits.search(name)) for name in names] == [True, True]
    assert not fits.search("[sig-x] aXb (c) works")


def test_a_report_is_read() -> None:
    spec = {
        "ContainerHierarchyTexts": ["[sig-x] Things"],
        "LeafNodeText": "should work",
        "LeafNodeType": "It",
        "State": "failed",
        "RunTime": 2_000_000_000,
        "Failure": {"Message": "it\n  did not"},
    }
    setup = {**spec, "LeafNodeType": "BeforeSuite"}
    left_out = {**spec, "State": "skipped"}
    told = outcomes([{"SpecReports": [spec, setup, left_out]}])
    assert told == [Outcome("[sig-x] Things should work", False, 2.0, "it did not")]


def test_the_tests_are_those_of_the_kubernetes_that_is_compared_with() -> None:
    pinned = [versions(recipe.module)["kubernetes"] for recipe in (CONFORMANCE, KUBERNETES)]
    assert pinned[0] == pinned[1]
