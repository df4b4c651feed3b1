"""Who leads: a table of what is planned, and laws that hold however requests travel."""

from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from atoll.hosting.leading import (
    Candidate,
    LeaseTimes,
    Sight,
    StepDown,
    Take,
    Wait,
    believed_until,
    holder_of,
    plan,
    released,
    see,
)
from atoll.model.action import Ref
from atoll.wire import Object

SEAT = Ref("coordination.k8s.io/v1", "Lease", "atoll-system", "atoll-controllers")
TIMES = LeaseTimes()
UNDER_WAY_S = 4.0  # so long what a leader sent at its last moment may take to arrive
NOON = datetime(2026, 1, 1, 12, 0, 0, 250000, tzinfo=UTC)
CALLED_NOON = "2026-01-01T12:00:00.250000Z"


def lease(holder: str = "other", **spec: Any) -> dict[str, Any]:
    written = {
        "holderIdentity": holder,
        "leaseDurationSeconds": 15,
        "acquireTime": "2026-01-01T11:00:00.000000Z",
        "renewTime": "2026-01-01T11:59:59.000000Z",
        "leaseTransitions": 3,
    }
    metadata = {"namespace": SEAT.namespace, "name": SEAT.name, "uid": "u", "resourceVersion": "7"}
    head = {"apiVersion": SEAT.api_version, "kind": SEAT.kind, "metadata": metadata}
    return {**head, "spec": {**written, **spec}}


def seen(wire: Object | None, at: float = 100.0) -> Sight:
    return see(Sight(), wire, at, TIMES)


def moved(sight: Sight, now: float, sent: float | None = None) -> Any:
    return plan(Candidate("me", SEAT, sight, sent), now, NOON, TIMES)


def test_where_there_is_no_lease_one_is_made():
    move = moved(Sight(), 5.0)
    assert move == Take(
        {
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": {"namespace": "atoll-system", "name": "atoll-controllers"},
            "spec": {
                "holderIdentity": "me",
                "leaseDurationSeconds": 15,
                "acquireTime": CALLED_NOON,
                "renewTime": CALLED_NOON,
                "leaseTransitions": 0,
            },
        }
    )


def test_another_s_lease_is_waited_for_from_when_it_was_first_seen_so():
    sight = seen(lease(), at=100.0)
    assert moved(sight, 104.0) == Wait(11.0)
    again = see(sight, lease(), 110.0, TIMES)
    assert moved(again, 114.5) == Wait(0.5)
    move = moved(again, 115.0)
    assert isinstance(move, Take)
    assert move.lease["spec"] == {
        "holderIdentity": "me",
        "leaseDurationSeconds": 15,
        "acquireTime": CALLED_NOON,
        "renewTime": CALLED_NOON,
        "leaseTransitions": 4,
    }
    assert move.lease["metadata"]["resourceVersion"] == "7"


def test_a_label_does_not_make_a_lease_younger_and_the_write_names_the_new_version():
    labelled = lease()
    labelled["metadata"] = {**labelled["metadata"], "resourceVersion": "9", "labels": {"a": "b"}}
    sight = see(seen(lease(), at=100.0), labelled, 114.0, TIMES)
    move = moved(sight, 115.0)
    assert isinstance(move, Take)
    assert move.lease["metadata"]["resourceVersion"] == "9"


@pytest.mark.parametrize(
    "wire",
    [
        pytest.param(lease(renewTime="2026-01-01T11:00:01.000000Z"), id="renewed"),
        pytest.param(lease(renewTime="1999-01-01T00:00:00.000000Z"), id="clock-put-back"),
        pytest.param(lease("third"), id="another-holder"),
        pytest.param({**lease(), "metadata": {**lease()["metadata"], "uid": "v"}}, id="made-anew"),
    ],
)
def test_every_sign_of_life_begins_the_wait_anew(wire):
    sight = see(seen(lease(), at=100.0), wire, 114.0, TIMES)
    assert moved(sight, 128.0) == Wait(1.0)


@pytest.mark.parametrize(
    ("wire", "free_at"),
    [
        pytest.param(None, 100.0, id="never-there"),
        pytest.param(lease(""), 100.0, id="released"),
        pytest.param(lease(leaseDurationSeconds=40), 140.0, id="for-longer"),
        pytest.param(lease(leaseDurationSeconds=None), 115.0, id="for-an-unknown-time"),
        pytest.param(lease(leaseDurationSeconds=-4), 115.0, id="for-a-senseless-time"),
        pytest.param({**lease(), "spec": None}, 100.0, id="without-a-spec"),
    ],
)
def test_a_lease_counts_as_held_for_as_long_as_it_says(wire, free_at):
    sight = see(
        Sight(lease("x", renewTime="before"), 1000.0) if wire else Sight(), wire, 100.0, TIMES
    )
    assert sight.free_at == (free_at if wire else 0.0)


def test_a_lease_that_is_gone_while_it_was_held_is_waited_for_all_the_same():
    gone = see(seen(lease(), at=100.0), None, 104.0, TIMES)
    assert moved(gone, 118.0) == Wait(1.0)
    assert isinstance(moved(gone, 119.0), Take)
    again = see(gone, None, 110.0, TIMES)
    assert again.free_at == gone.free_at


def test_a_leader_renews_after_a_while_and_keeps_since_when_it_leads():
    sight = seen(lease("me"), at=100.0)
    assert moved(sight, 101.5, sent=100.0) == Wait(0.5)
    move = moved(sight, 102.0, sent=100.0)
    assert isinstance(move, Take)
    assert move.lease["spec"]["acquireTime"] == "2026-01-01T11:00:00.000000Z"
    assert move.lease["spec"]["renewTime"] == CALLED_NOON
    assert move.lease["spec"]["leaseTransitions"] == 3


def test_a_leader_whose_lease_was_removed_makes_it_again_at_once():
    gone = see(seen(lease("me"), at=100.0), None, 101.0, TIMES)
    assert isinstance(moved(gone, 101.0, sent=100.0), Take)


def test_a_leader_that_cannot_renew_steps_down_before_another_may_lead():
    sight = seen(lease("me"), at=100.0)
    assert isinstance(moved(sight, 109.9, sent=100.0), Take)
    assert moved(sight, 110.0, sent=100.0) == StepDown("it could not be renewed for 10 s")
    assert believed_until(100.0, TIMES) + UNDER_WAY_S < 100.0 + TIMES.duration_s


@pytest.mark.parametrize(("holder", "said"), [("other", "other"), ("", "nobody")])
def test_a_leader_that_sees_another_s_name_steps_down_at_once(holder, said):
    assert moved(seen(lease(holder)), 101.0, sent=100.0) == StepDown(f"{said} holds the Lease now")


def test_what_we_wrote_without_hearing_of_it_is_taken_up_at_once():
    move = moved(seen(lease("me"), at=100.0), 100.0)
    assert isinstance(move, Take)
    assert move.lease["spec"]["leaseTransitions"] == 3


def test_a_lease_that_is_given_up_is_free_at_once():
    given = released(lease("me"), NOON)
    assert given["spec"] == {
        "holderIdentity": "",
        "leaseDurationSeconds": 1,
        "acquireTime": CALLED_NOON,
        "renewTime": CALLED_NOON,
        "leaseTransitions": 3,
    }
    assert isinstance(moved(seen(given), 100.0), Take)


def test_two_renewals_in_one_microsecond_differ():
    wire = lease("me", renewTime=CALLED_NOON)
    move = moved(seen(wire, at=100.0), 103.0, sent=100.0)
    assert isinstance(move, Take)
    assert move.lease["spec"]["renewTime"] == "2026-01-01T12:00:00.250001Z"


@pytest.mark.parametrize(
    ("times", "said"),
    [
        pytest.param(LeaseTimes(), "", id="usual"),
        pytest.param(
            LeaseTimes(duration_s=10.0),
            "the lease duration of a leader must be greater than its renew deadline",
            id="duration",
        ),
        pytest.param(
            LeaseTimes(retry_s=10.0),
            "the renew deadline of a leader must be greater than its retry period",
            id="deadline",
        ),
        pytest.param(
            LeaseTimes(retry_s=0.0),
            "the retry period of a leader must be greater than zero",
            id="retry",
        ),
    ],
)
def test_times_that_cannot_keep_the_promise_are_told(times, said):
    assert times.fault() == said


@dataclass
class Sent:
    """A write on its way, and what became of it."""

    sent: float
    wire: Object
    stored: Object | None = None
    is_answered: bool = False


@dataclass
class One:
    """A candidate with a clock of its own, a write it waits for, and how long it may still act."""

    mind: Candidate
    rate: float
    waits_for: Sent | None = None
    acts_until: float = -1.0


@dataclass
class Host:
    """The server, several candidates, and every write that has not arrived yet."""

    ones: list[One]
    now: float = 0.0
    versions: list[Object | None] = field(default_factory=lambda: [None])
    on_the_way: list[Sent] = field(default_factory=list)

    def clock(self, one: One) -> float:
        return 1000.0 + self.now * one.rate

    def see(self, one: One, wire: Object | None) -> None:
        sight = see(one.mind.sight, wire, self.clock(one), TIMES)
        one.mind = replace(one.mind, sight=sight)

    def act(self, one: One) -> None:
        clock, stamp = self.clock(one), NOON + timedelta(seconds=self.now)
        match plan(one.mind, clock, stamp, TIMES):
            case StepDown():
                one.mind = replace(one.mind, sent=None)
            case Take(wire) if one.waits_for is None:
                one.waits_for = Sent(clock, wire)
                self.on_the_way.append(one.waits_for)

    def arrive(self, number: int) -> None:
        if not self.on_the_way:
            return
        request = self.on_the_way.pop(number % len(self.on_the_way))
        there = self.versions[-1]
        version = None if there is None else there["metadata"]["resourceVersion"]
        if request.wire["metadata"].get("resourceVersion") == version:
            metadata = {**request.wire["metadata"], "resourceVersion": str(len(self.versions))}
            request.stored = {**request.wire, "metadata": {"uid": "u", **metadata}}
            self.versions.append(request.stored)
        request.is_answered = True

    def hear(self, one: One) -> None:
        request = one.waits_for
        if request is None or not request.is_answered:
            return
        one.waits_for = None
        if request.stored is None:
            self.see(one, self.versions[-1])
            return
        self.see(one, request.stored)
        until = believed_until(request.sent, TIMES)
        if self.clock(one) < until:
            one.mind = replace(one.mind, sent=request.sent)
            one.acts_until = until + UNDER_WAY_S

    def give_up(self, one: One) -> None:
        """Go in good order: stop first, then say so."""
        if one.mind.sent is None or one.waits_for is not None:
            return
        one.mind, one.acts_until = replace(one.mind, sent=None), -1.0
        wire = one.mind.sight.lease
        if wire is not None and holder_of(wire) == one.mind.me:
            self.on_the_way.append(Sent(0.0, released(wire, NOON + timedelta(seconds=self.now))))

    def acting(self) -> list[str]:
        return [one.mind.me for one in self.ones if self.clock(one) < one.acts_until]


STEPS = st.lists(
    st.tuples(
        st.sampled_from(("write", "see", "act", "arrive", "hear", "old", "lose", "give up")),
        st.integers(0, 1),
        st.just(0.0) | st.floats(0.0, 6.0) | st.sampled_from((10.0, 14.0, 14.1, 15.0)),
    ),
    max_size=40,
)
RATES = st.lists(st.floats(1.0, 1.07), min_size=2, max_size=2)


@settings(max_examples=300)
@given(rates=RATES, steps=STEPS)
def test_no_two_ever_act_as_leaders_however_late_requests_are(rates, steps):
    host = Host([One(Candidate(f"c{i}", SEAT), rate) for i, rate in enumerate(rates)])
    for what, number, pause in steps:
        one = host.ones[number]
        match what:
            case "write":
                host.act(one)
                host.arrive(-1)
                host.hear(one)
            case "see":
                host.see(one, host.versions[-1])
            case "old":
                host.see(one, host.versions[-min(2, len(host.versions))])
            case "act":
                host.act(one)
            case "arrive":
                host.arrive(number)
            case "hear":
                host.hear(one)
            case "lose":
                one.waits_for = None
            case "give up":
                host.give_up(one)
        assert len(host.acting()) <= 1
        host.now += pause
        assert len(host.acting()) <= 1
    transitions = [each["spec"]["leaseTransitions"] for each in host.versions if each]
    holders = [holder_of(each) for each in host.versions if each]
    for index, (before, after) in enumerate(pairwise(holders)):
        grown = transitions[index + 1] - transitions[index]
        assert grown == (after not in ("", before)), (holders, transitions)


@given(slow=st.floats(1.0, 1.07), fast=st.floats(1.0, 1.07), late_s=st.floats(0.0, 30.0))
def test_whoever_takes_over_finds_that_the_last_one_has_stopped(slow, fast, late_s):
    stopped_at = (believed_until(0.0, TIMES) + UNDER_WAY_S) / slow
    sight = seen(lease(), at=late_s * fast)
    assert isinstance(moved(sight, stopped_at * fast), Wait)
    assert isinstance(moved(sight, (late_s * fast) + TIMES.duration_s), Take)


@given(
    seen_at=st.floats(0.0, 1e6),
    duration=st.integers(1, 3600),
    passed=st.floats(0.0, 4000.0),
)
def test_another_takes_over_when_the_lease_time_is_over_and_never_before(seen_at, duration, passed):
    sight = seen(lease(leaseDurationSeconds=duration), at=seen_at)
    now = seen_at + passed
    move = moved(sight, now)
    assert isinstance(move, Take) == (now >= seen_at + duration)
    if isinstance(move, Wait):
        assert move.for_s > 0
