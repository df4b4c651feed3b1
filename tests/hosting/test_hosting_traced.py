"""A plane on a real host, with real members, tells a collector how a change got to them."""

import pytest
from replicas import QUICK, Setting, replica, wait_for
from workloads import all_are_ready, enrolled, place, replicas_in

from atoll.tracing.context import ANNOTATION
from testenv.collector import collecting

pytestmark = [pytest.mark.testenv, pytest.mark.timeout(600)]

WORKS = "/apis/work.karmada.io/v1alpha1/namespaces/karmada-es-m1/works"


def test_a_trace_reaches_both_members_by_what_their_works_carry(setting: Setting):
    with collecting() as collector:
        words = (*QUICK, f"--tracing-endpoint={collector.url}")
        with replica(setting.host.account(setting.directory), *words) as leader:
            host = enrolled(setting)
            wait_for("ready members", lambda: all_are_ready(setting))
            place(host, "traced", "web", replicas=2)
            for member in setting.members.values():
                wait_for("a copy", lambda at=member: replicas_in(at, "traced", "web") == 2)

            def reported() -> set[str]:
                told = [each for each in collector.spans if each.name == "report status"]
                return {each.attributes["k8s.cluster.name"] for each in told}

            wait_for("a report of each member", lambda: reported() == {"m1", "m2"})
            works = host.client.get(WORKS)["items"]
            assert leader.stop() == 0, leader.said()
    marked = [each for each in works if ANNOTATION in each["metadata"].get("annotations", {})]
    assert len(marked) == 1
    rendered = next(each for each in collector.spans if each.name == "render works")
    assert rendered.trace in marked[0]["metadata"]["annotations"][ANNOTATION]
    delivered = [each for each in collector.spans if each.name == "deliver"]
    assert {each.parent for each in delivered} == {rendered.span}
    assert marked[0]["metadata"]["generation"] == 1
