"""What is told when not all could be placed."""

from builders import make_binding, make_cluster, placed

from atoll.model.affinity import Affinity
from atoll.model.intent import Available, Fill, Pick, Quota, Shortage
from atoll.scheduling.cycle import decide
from atoll.scheduling.explain import explain
from atoll.scheduling.fleet import Fleet
from atoll.scheduling.recording import record
from atoll.scheduling.sentences import outcome, sentences
from bench.auditing import sums_check


def test_a_partial_placement_says_how_many_found_no_room() -> None:
    wanting = {"division": Fill(shortage=Shortage.PARTIAL)}
    decision = decide(make_binding(9, wanting=wanting), Fleet.of([make_cluster("a", cpu="6")]))
    report = explain(record(decision))
    assert placed(decision) == {"a": 6}
    assert outcome(report) == "6 replicas in 1 cluster: a 6; 3 more found no room"
    assert not sums_check(report)


def test_a_cluster_that_fills_no_quota_is_told_so() -> None:
    pick = Pick(quotas=(Quota(Affinity(names=("a",)), 1),))
    decision = decide(
        make_binding(2, wanting={"selection": pick, "division": Available()}),
        Fleet.of([make_cluster("a"), make_cluster("b")]),
    )
    report = explain(record(decision))
    assert placed(decision) == {"a": 2}
    assert "b  not chosen: it fills no quota" in sentences(report)
    assert not sums_check(report)
