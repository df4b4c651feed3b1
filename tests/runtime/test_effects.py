"""Chance: named streams from one seed, and UUIDs as the standard library draws them."""

import random
import uuid

from atoll.effects import Chance


def test_equal_seeds_and_names_give_equal_draws_and_others_do_not():
    first, second = Chance("seed"), Chance("seed")
    assert [first.of("a").random() for _ in range(5)] == [second.of("a").random() for _ in range(5)]
    assert Chance("seed").of("b").random() != Chance("seed").of("a").random()
    assert Chance("other").of("a").random() != Chance("seed").of("a").random()


def test_a_draw_from_one_stream_does_not_disturb_another():
    disturbed = Chance("seed")
    disturbed.of("b").random()
    assert disturbed.of("a").random() == Chance("seed").of("a").random()


def test_uuids_are_those_of_the_standard_library():
    chance, draws = Chance("seed"), random.Random("seed/uid")
    for _ in range(200):
        expected = uuid.UUID(int=draws.getrandbits(128), version=4)
        assert chance.uuid("uid") == str(expected)
        assert expected.variant == uuid.RFC_4122
