"""A member that does not answer is asked by one at a time, ever more rarely; then all may again."""

from hypothesis import given
from hypothesis import strategies as st

from atoll.members.pacing import CALM_S, FAILURES, FIRST_S, LONGEST_S, SLOW_S, Breaker


def opened(at: float = 0.0, draw: float = 1.0) -> Breaker:
    breaker = Breaker()
    for _ in range(FAILURES):
        breaker = breaker.failed(at, "lost", draw)
    return breaker


def test_it_takes_several_failures_in_a_row_to_open_it():
    breaker = Breaker()
    for _ in range(10):
        for _ in range(FAILURES - 1):
            breaker = breaker.failed(0.0, "lost", 0.0)
        assert not breaker.is_open
        breaker = breaker.answered(0.0, 0.1, 0.0)
    assert opened().is_open


def test_open_it_lets_nobody_pass_until_one_may_on_trial():
    breaker = opened()
    assert breaker.asked(FIRST_S / 2) is None
    trial = breaker.asked(FIRST_S)
    assert trial is not None
    assert trial.on_trial
    assert trial.asked(FIRST_S) is None
    assert trial.given_up().asked(FIRST_S) is not None


def test_a_trial_that_is_answered_lets_all_pass():
    trial = opened().asked(FIRST_S)
    assert trial is not None
    closed = trial.answered(2.0, 0.1, 0.5)
    assert not closed.is_open
    assert closed.asked(2.0) == closed


def test_each_trial_in_vain_is_followed_by_a_longer_pause_up_to_a_longest():
    breaker, now, pauses = opened(), 0.0, []
    for _ in range(8):
        pauses.append(breaker.wait_s(now))
        now += pauses[-1]
        trial = breaker.asked(now)
        assert trial is not None
        breaker = trial.failed(now, "lost", 1.0)
    assert pauses == [1.0, 2.0, 4.0, 8.0, 16.0, LONGEST_S, LONGEST_S, LONGEST_S]


def test_one_that_flaps_is_asked_ever_more_rarely_until_it_is_calm():
    breaker, now, pauses = Breaker(), 0.0, []
    for _ in range(4):
        for _ in range(FAILURES):
            breaker = breaker.failed(now, "lost", 1.0)
        pauses.append(breaker.wait_s(now))
        now += pauses[-1]
        breaker = breaker.answered(now, 0.1, 1.0)
    assert pauses == [1.0, 2.0, 4.0, 8.0]
    calm = breaker.answered(now + CALM_S, 0.1, 1.0)
    for _ in range(FAILURES):
        calm = calm.failed(now, "lost", 1.0)
    assert calm.wait_s(now) == FIRST_S


def test_answers_that_take_too_long_open_it_and_say_so():
    breaker = Breaker()
    for _ in range(FAILURES):
        breaker = breaker.answered(0.0, SLOW_S + 5, 0.0)
    assert breaker.is_open
    assert breaker.why == "answers take 25 s"


def test_a_slow_answer_on_trial_lets_others_pass_and_the_next_does_not():
    trial = opened().asked(FIRST_S)
    assert trial is not None
    closed = trial.answered(2.0, SLOW_S, 0.0)
    assert not closed.is_open
    assert closed.answered(3.0, SLOW_S, 0.0).is_open
    assert not closed.answered(3.0, 0.1, 0.0).failed(4.0, "lost", 0.0).is_open


def test_what_was_on_the_way_before_makes_no_pause_longer():
    breaker = opened()
    again = breaker.failed(0.1, "another", 0.5)
    assert (again.until, again.rounds, again.why) == (breaker.until, breaker.rounds, "another")


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["ask", "answer", "slow", "fail", "give up"]),
            st.floats(0.0, 100.0),
            st.floats(0.0, 1.0),
        )
    )
)
def test_at_most_one_is_on_trial_and_nobody_is_kept_out_for_longer_than_promised(steps):
    breaker, now = Breaker(), 0.0
    for what, pause_s, draw in steps:
        now += pause_s
        match what:
            case "ask":
                asked = breaker.asked(now)
                if asked is None:
                    assert breaker.on_trial or breaker.wait_s(now) > 0
                else:
                    assert not breaker.on_trial
                    breaker = asked
            case "answer":
                breaker = breaker.answered(now, 0.1, draw)
                assert not breaker.is_open
            case "slow":
                breaker = breaker.answered(now, SLOW_S, draw)
            case "fail":
                breaker = breaker.failed(now, "lost", draw)
            case "give up":
                breaker = breaker.given_up()
        assert 0.0 <= breaker.wait_s(now) <= LONGEST_S
        assert breaker.is_open or not breaker.on_trial
