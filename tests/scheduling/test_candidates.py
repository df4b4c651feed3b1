"""Candidates: whatever ranks them, however large the numbers, the order is the same."""

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from atoll.scheduling.candidates import Candidates
from atoll.scheduling.columns import Numbers

NUMBERS = st.integers(-3, 3) | st.integers(-(2**40), 2**40) | st.integers(-(2**62), 2**62)
RANKED_BY = st.lists(st.tuples(st.integers(0, 3), NUMBERS, NUMBERS), min_size=1, max_size=40)


def column(numbers: list[int]) -> Numbers:
    return np.array(numbers, np.int64)


@given(RANKED_BY, st.sampled_from(["room", "score", "tier", "tier and score"]))
@example([(0, 2**62, 1), (0, -(2**62), 1)], "score")
def test_best_first_is_by_tier_then_score_then_room_then_name(
    ranked_by: list[tuple[int, int, int]], kinds: str
) -> None:
    tiered, scored = "tier" in kinds, "score" in kinds
    tiers, scores, room = (list(each) for each in zip(*ranked_by, strict=True))
    candidates = Candidates(
        np.arange(len(room)) * 3,
        column(tiers) if tiered else None,
        column(scores) if scored else None,
        column(room),
        column(room),
    )
    order = sorted(
        range(len(room)),
        key=lambda i: (tiers[i] if tiered else 0, -scores[i] if scored else 0, -room[i], i),
    )
    assert candidates.best_first().tolist() == order
    assert candidates.rows_in_order.tolist() == [3 * each for each in order]
    some = np.arange(0, len(room), 2)
    assert candidates.best_of(some).tolist() == [each for each in order if each % 2 == 0]
