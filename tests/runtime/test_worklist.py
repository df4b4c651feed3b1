"""Keys to look at: each at most once, in order, and again if it failed or changed meanwhile."""

import asyncio
import logging
from collections import Counter
from functools import partial

from atoll.runtime.causes import cause, caused_by
from atoll.runtime.supervisor import Supervisor
from atoll.runtime.turns import Turns
from atoll.runtime.worklist import Worklist
from simulation.world import simulate


def now() -> float:
    return asyncio.get_running_loop().time()


def worked_on(add, work, **options):
    """What a worker did: the keys it took, with the time, while `add` was adding them."""

    async def main(world):
        keys: Worklist[str] = Worklist("test", **options)
        seen: list[tuple[str, float]] = []

        async def note_and_work(key):
            seen.append((key, now()))
            await work(key)

        async with Supervisor("test", world.effects("hub").chance) as it:
            it.start("worker", lambda: keys.run(note_and_work))
            await add(keys)
        return seen, len(keys)

    return simulate(main, seed=0).value


async def nothing(_key):
    pass


def test_a_key_that_waits_is_worked_on_once_however_often_it_was_added():
    async def add(keys):
        for key in "abcab":
            keys.add(key)
        await asyncio.sleep(1)

    assert worked_on(add, nothing) == ([("a", 0.0), ("b", 0.0), ("c", 0.0)], 0)


def test_a_key_added_while_it_is_worked_on_is_worked_on_again():
    async def work(_key):
        await asyncio.sleep(10)

    async def add(keys):
        keys.add("a")
        await asyncio.sleep(5)
        keys.add("a")
        await asyncio.sleep(60)

    assert worked_on(add, work) == ([("a", 0.0), ("a", 10.0)], 0)


def test_a_key_that_fails_comes_back_after_growing_pauses_and_holds_up_nobody(caplog):
    failures = iter([ValueError("no"), ValueError("no"), ValueError("no")])

    async def work(key):
        if key == "bad" and (error := next(failures, None)):
            raise error

    async def add(keys):
        keys.add("bad")
        keys.add("good")
        await asyncio.sleep(60)
        keys.add("bad")
        await asyncio.sleep(60)

    with caplog.at_level(logging.ERROR, logger="atoll.runtime"):
        seen, left = worked_on(add, work)
    assert left == 0
    assert seen[:2] == [("bad", 0.0), ("good", 0.0)]
    assert [key for key, _ in seen[2:]] == ["bad"] * 4
    assert [round(at, 6) for _, at in seen[2:]] == [0.05, 0.15, 0.35, 60.0]
    assert len(caplog.messages) == 3
    assert caplog.messages[0].startswith("test: bad (again in 0.05 s) failed: ValueError: no")


def test_failures_that_pass_are_not_reported_as_errors(caplog):
    async def work(_key):
        raise ConnectionError("nobody there")

    async def add(keys):
        keys.add("far away")
        await asyncio.sleep(1)

    with caplog.at_level(logging.INFO, logger="atoll.runtime"):
        seen, _ = worked_on(add, work, passing=(ConnectionError,))
    assert len(seen) > 2
    assert not caplog.messages


def test_pauses_have_a_longest():
    async def work(_key):
        raise ValueError("always")

    async def add(keys):
        keys.add("bad")
        await asyncio.sleep(600)

    seen, _ = worked_on(add, work)
    assert 20 < len(seen) < 40
    assert seen[-1][1] - seen[-2][1] == 30.0


def test_several_workers_share_the_keys_and_none_is_ever_with_two_of_them():
    async def main(world):
        keys: Worklist[str] = Worklist("test")
        held: list[str] = []
        seen: list[tuple[str, float]] = []

        async def work(key):
            assert key not in held
            held.append(key)
            seen.append((key, now()))
            await asyncio.sleep(10)
            held.remove(key)

        async with Supervisor("test", world.effects("hub").chance) as it:
            for worker in range(2):
                it.start(f"worker {worker}", lambda: keys.run(work))
            for key in "abc":
                keys.add(key)
            await asyncio.sleep(1)
            keys.add("a")
            await asyncio.sleep(60)
        return seen

    expected = [("a", 0.0), ("b", 0.0), ("c", 10.0), ("a", 10.0)]
    assert simulate(main, seed=0).value == expected


def test_a_key_can_be_added_for_later():
    async def add(keys):
        keys.add_later("a", 3.0)
        await asyncio.sleep(5)

    assert worked_on(add, nothing) == ([("a", 3.0)], 0)


def test_a_key_that_is_added_for_later_several_times_is_worked_on_once_at_the_first_of_them():
    async def add(keys):
        for pause_s in (4.0, 3.0, 5.0):
            keys.add_later("a", pause_s)
        await asyncio.sleep(10)

    assert worked_on(add, nothing) == ([("a", 3.0)], 0)


def test_a_key_is_added_for_later_at_each_level_it_is_asked_for():
    async def add(keys):
        keys.add_later("a", 3.0, level=2)
        keys.add_later("a", 4.0, level=0)
        await asyncio.sleep(10)

    assert worked_on(add, nothing) == ([("a", 3.0), ("a", 4.0)], 0)


def test_a_list_that_is_closed_adds_nothing_later():
    async def add(keys):
        keys.add_later("a", 3.0)
        keys.close()
        keys.add_later("b", 3.0)
        await asyncio.sleep(10)

    assert worked_on(add, nothing) == ([], 0)


def taken_in_turn(first_s: float, add) -> list[tuple[str, float]]:
    """What two lists with one worker each did that share turns; each key takes `first_s`."""

    async def main(world):
        turns, seen = Turns(), []
        pressing: Worklist[str] = Worklist("pressing", turns)
        calm: Worklist[str] = Worklist("calm", turns)

        async def work(key):
            seen.append((key, round(now(), 3)))
            await asyncio.sleep(first_s)

        async with Supervisor("test", world.effects("hub").chance) as it:
            add(pressing, calm)
            it.start("calm", lambda: calm.run(work))
            it.start("pressing", lambda: pressing.run(work))
            await asyncio.sleep(60)
        return seen

    return simulate(main, seed=0).value


def test_what_presses_less_waits_until_nothing_that_presses_more_waits_or_is_in_hand():
    def add(pressing, calm):
        calm.add("later", 2)
        pressing.add("a")
        pressing.add("b")

    assert taken_in_turn(0.01, add) == [("a", 0.0), ("b", 0.01), ("later", 0.02)]


def test_all_that_waits_for_something_in_hand_begins_at_once_when_that_is_done():
    async def main(world):
        turns, seen = Turns(), []
        pressing: Worklist[str] = Worklist("pressing", turns)
        calm: Worklist[str] = Worklist("calm", turns)

        async def work(key):
            seen.append((key, round(now(), 3)))
            await asyncio.sleep(0.01)

        async with Supervisor("test", world.effects("hub").chance) as it:
            it.start("pressing", lambda: pressing.run(work))
            for worker in range(3):
                it.start(f"calm {worker}", lambda: calm.run(work))
            pressing.add("first")
            await asyncio.sleep(0.005)
            for key in "abc":
                calm.add(key, 1)
            await asyncio.sleep(1)
        return seen

    found = simulate(main, seed=0).value
    assert found == [("first", 0.0), ("a", 0.01), ("b", 0.01), ("c", 0.01)]


def test_what_is_in_hand_for_long_holds_up_what_presses_less_for_a_moment_only():
    def add(pressing, calm):
        calm.add("later", 2)
        pressing.add("a")

    assert taken_in_turn(50.0, add) == [("a", 0.0), ("later", 0.1)]


def test_what_presses_less_does_not_wait_for_ever_for_what_is_stuck():
    def add(pressing, calm):
        calm.add("later", 1)
        pressing.add("a")
        pressing.add("b")

    assert taken_in_turn(50.0, add) == [("a", 0.0), ("later", 0.1), ("b", 50.0)]


def test_what_hangs_in_hand_does_not_count_whatever_else_is_taken_meanwhile():
    async def main(world):
        turns, seen = Turns(), []
        pressing: Worklist[str] = Worklist("pressing", turns)
        calm: Worklist[str] = Worklist("calm", turns)

        async def work(key):
            seen.append((key, round(now(), 3)))
            await asyncio.sleep(50 if key == "hangs" else 0.01)

        async with Supervisor("test", world.effects("hub").chance) as it:
            it.start("calm", lambda: calm.run(work))
            for worker in range(2):
                it.start(f"pressing {worker}", lambda: pressing.run(work))
            pressing.add("hangs")
            await asyncio.sleep(1)
            pressing.add("a")
            calm.add("later", 2)
            await asyncio.sleep(1)
        return seen

    assert simulate(main, seed=0).value == [("hangs", 0.0), ("a", 1.0), ("later", 1.01)]


def test_a_list_in_which_nobody_gets_on_holds_up_the_others_only_once():
    async def main(world):
        turns, seen = Turns(), []
        hanging: Worklist[str] = Worklist("hanging", turns)
        calm: Worklist[str] = Worklist("calm", turns)

        async def hang(_key):
            await asyncio.sleep(50)

        async def note(key):
            seen.append((key, round(now(), 3)))

        async with Supervisor("test", world.effects("hub").chance) as it:
            for key in "ab":
                hanging.add(key)
            for key in ("x", "y", "z"):
                calm.add(key, 2)
            it.start("hanging", lambda: hanging.run(hang))
            it.start("calm", lambda: calm.run(note))
            await asyncio.sleep(40)
        return seen

    assert simulate(main, seed=0).value == [("x", 0.1), ("y", 0.1), ("z", 0.1)]


def test_a_key_that_waits_is_taken_at_the_most_pressing_level_it_was_added_at():
    def add(pressing, calm):
        calm.add("status", 1)
        calm.add("both", 2)
        calm.add("both", 0)
        calm.add("both", 1)

    assert taken_in_turn(0.01, add) == [("both", 0.0), ("status", 0.01)]


def test_a_list_that_comes_to_share_turns_lets_others_go_first_from_then_on():
    async def main(world):
        turns, seen = Turns(), []
        pressing: Worklist[str] = Worklist("pressing", turns)
        calm: Worklist[str] = Worklist("calm")

        async def work(key):
            seen.append(key)
            await asyncio.sleep(0.01)

        calm.add("later", 1)
        calm.share(turns)
        pressing.add("a")
        pressing.add("b")
        async with Supervisor("test", world.effects("hub").chance) as it:
            it.start("calm", lambda: calm.run(work))
            it.start("pressing", lambda: pressing.run(work))
            await asyncio.sleep(1)
        return seen

    assert simulate(main, seed=0).value == ["a", "b", "later"]


def unhurried_among(
    presses: float, until: float, *, few: float = 0, waiting: str = "ab"
) -> list[tuple[str, float]]:
    """When an unhurried list came to its keys, while something pressed every so often."""

    async def main(world):
        turns, seen = Turns(), []
        pressing: Worklist[float] = Worklist("pressing", turns)
        telling: Worklist[str] = Worklist("telling", turns, few=few)

        async def work(_key):
            await asyncio.sleep(0.01)

        async def tell(key):
            seen.append((key, round(now(), 1)))

        async with Supervisor("test", world.effects("hub").chance) as it:
            it.start("telling", lambda: telling.run(tell))
            it.start("pressing", lambda: pressing.run(work))
            for key in waiting:
                telling.add(key, 3)
            while now() < until:
                pressing.add(now())
                await asyncio.sleep(presses)
            await asyncio.sleep(5)
        return seen

    return simulate(main, seed=0).value


def test_an_unhurried_list_leaves_the_gaps_between_what_presses_to_others_but_for_one_at_times():
    # What waits for its turn is let in once a second; without the wait both would be told at once.
    assert unhurried_among(presses=0.15, until=0.8) == [("a", 1.0), ("b", 1.0)]
    assert unhurried_among(presses=1.0, until=3.0) == [("a", 0.3), ("b", 0.3)]


def test_an_unhurried_list_does_not_wait_for_calm_for_ever():
    told = dict(unhurried_among(presses=0.15, until=60.0))
    assert max(told.values()) < 25.0


def test_what_presses_little_and_is_little_uses_the_gaps_between_what_presses():
    assert unhurried_among(presses=0.15, until=5.0, few=2) == [("a", 0.0), ("b", 0.0)]


def test_of_more_than_a_few_each_waits_for_calm_the_longer_the_more_there_are():
    among = partial(unhurried_among, presses=0.15, until=30.0, few=5)
    assert among(waiting="abcdef")[0] == ("a", 1.2)
    assert among(waiting="abcdefghijklmn")[0][1] > 2


def in_turn(*batches: list[tuple[str, str]], each_s: float = 0.01) -> list[str]:
    """What one worker did of keys in lanes; the second batch and so on come one key later each."""

    async def main(world):
        keys: Worklist[str] = Worklist("test", lane=lambda key: key[0])
        seen: list[str] = []

        async def work(key):
            seen.append(key)
            await asyncio.sleep(each_s)

        async with Supervisor("test", world.effects("hub").chance) as it:
            it.start("worker", lambda: keys.run(work))
            for batch in batches:
                for key, why in batch:
                    with caused_by(why):
                        keys.add(key)
                await asyncio.sleep(each_s)
            await asyncio.sleep(10)
        return seen

    return simulate(main, seed=0).value


def test_lanes_take_turns_and_a_new_one_goes_first():
    bulk = [(f"a{number}", "") for number in range(6)]
    found = in_turn(bulk, [], [("b0", ""), ("c0", "")])
    assert found == ["a0", "a1", "b0", "a2", "c0", "a3", "a4", "a5"]


def test_what_one_change_leads_to_is_one_lane_whomever_it_is_about():
    bulk = [(f"{letter}0", "policy") for letter in "abcdef"]
    found = in_turn(bulk, [("x0", "")])
    assert found.index("x0") == 1


def test_what_is_changed_by_its_owner_does_not_wait_among_the_bulk():
    bulk = [(f"{letter}0", "policy") for letter in "abcdef"]
    found = in_turn(bulk, [("f0", "")])
    assert found == ["a0", "f0", "b0", "c0", "d0", "e0"]


def test_what_is_added_meanwhile_or_later_has_the_same_cause():
    async def main(world):
        first, then = Worklist("first"), Worklist("then")
        seen = []

        async def work(key):
            then.add(key)
            then.add_later(f"{key} later", 1.0)

        async def note(key):
            seen.append((key, cause()))

        async with Supervisor("test", world.effects("hub").chance) as it:
            it.start("first", lambda: first.run(work))
            it.start("then", lambda: then.run(note))
            with caused_by("policy"):
                first.add("a")
            first.add("b")
            await asyncio.sleep(5)
        return seen

    assert sorted(simulate(main, seed=0).value) == [
        *(("a", "policy"), ("a later", "policy"), ("b", ""), ("b later", "")),
    ]


def test_what_presses_less_has_its_share_while_something_presses_all_the_time():
    async def main(world):
        turns, seen = Turns(), Counter()
        lists = {level: Worklist(str(level), turns, few=0) for level in range(4)}

        async def work(key):
            seen[key] += 1
            await asyncio.sleep(0.01)
            lists[key].add(key, key)

        async with Supervisor("test", world.effects("hub").chance) as it:
            for level, each in lists.items():
                it.start(each.name, partial(each.run, work))
                each.add(level, level)
            await asyncio.sleep(20)
        return seen

    found = simulate(main, seed=0).value
    assert found[1] > found[0] / 10
    assert found[2] > found[0] / 10
    assert found[3] > found[0] / 80
