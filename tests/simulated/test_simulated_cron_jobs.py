"""CronJobs of members: when their schedules come round, and what they do then, in virtual time."""

import asyncio
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from simulated_talk import BATCH, CORE, ask, template

from atoll.simulated.member import build, running
from atoll.simulated.plans.cronjobs import last_time, next_time
from simulation.world import simulate

JOBS, CRON_JOBS = f"{BATCH}jobs", f"{BATCH}cronjobs"


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


@pytest.mark.parametrize(
    ("schedule", "zone", "now", "last", "following"),
    [
        ("* * * * *", "", "2026-01-01 10:00:30", "2026-01-01 10:00", "2026-01-01 10:01"),
        ("*/15 8-9 * * ?", "", "2026-01-01 10:00", "2026-01-01 09:45", "2026-01-02 08:00"),
        ("0 12 * * mon", "", "2026-01-01 10:00", "2025-12-29 12:00", "2026-01-05 12:00"),
        ("0 0 13 * 5", "", "2026-01-01 10:00", "2025-12-26 00:00", "2026-01-02 00:00"),
        ("@monthly", "", "2026-01-15 10:00", "2026-01-01 00:00", "2026-02-01 00:00"),
        ("0 9 * * *", "Europe/Berlin", "2026-07-01 08:00", "2026-07-01 07:00", "2026-07-02 07:00"),
        ("30 2 * * *", "Europe/Berlin", "2026-03-29 05:00", "2026-03-28 01:30", "2026-03-30 00:30"),
        ("0 0 30 2 *", "", "2026-01-15 10:00", None, None),
    ],
    ids=["minutes", "steps", "weekday", "either day", "word", "zone", "skipped hour", "never"],
)
def test_a_schedule_comes_round(schedule, zone, now, last, following):
    start = at("2025-06-01 00:00")
    found = [each(schedule, zone, start, at(now)) for each in (last_time, next_time)]
    assert found == [None if each is None else at(each) for each in (last, following)]


def test_equal_pauses_are_counted_from_the_start():
    start, now = at("2026-01-01 00:00:07"), at("2026-01-01 03:10:00")
    assert last_time("@every 1h30m", "", start, now) == at("2026-01-01 03:00:07")
    assert next_time("@every 1h30m", "", start, now) == at("2026-01-01 04:30:07")


@given(
    minute=st.sampled_from(["*", "*/7", "3", "10-20/5", "0,59"]),
    hour=st.sampled_from(["*", "*/5", "23", "1,2"]),
    day=st.sampled_from(["*", "1", "31", "*/10"]),
    seconds=st.integers(0, 400 * 86400),
)
def test_the_next_time_is_the_last_one_as_soon_as_it_has_come(minute, hour, day, seconds):
    schedule, start = f"{minute} {hour} {day} * *", at("2025-01-01 00:00")
    now = start + timedelta(seconds=seconds)
    following = next_time(schedule, "", start, now)
    assert following is not None
    assert following > now
    assert last_time(schedule, "", start, following) == following
    just_before = last_time(schedule, "", start, following - timedelta(seconds=1))
    assert just_before == last_time(schedule, "", start, now)


def cron_job(sleeps: int, **spec):
    """A cron job of every minute whose jobs take so long."""
    made = template(restartPolicy="Never")
    made["spec"]["containers"][0]["command"] = ["sleep", str(sleeps)]
    job = {"metadata": {"labels": {"of": "c"}}, "spec": {"template": made}}
    return {
        "metadata": {"name": "c"},
        "spec": {"schedule": "* * * * *", "jobTemplate": job, **spec},
    }


def played(minutes: float, wanted, *changes):
    """A cron job's status and jobs after so many minutes; after each change again."""

    async def main(world):
        member = build("m1", world.effects("m1"))
        found = []
        async with running(member):
            await ask(member, "POST", CRON_JOBS, wanted)
            for change in (None, *changes):
                if change is not None:
                    await ask(member, "PATCH", f"{CRON_JOBS}/c", {"spec": change})
                await asyncio.sleep(minutes * 60)
                jobs = (await ask(member, "GET", JOBS))["items"]
                found.append(((await ask(member, "GET", f"{CRON_JOBS}/c"))["status"], jobs))
        return found

    return simulate(main, 1).value


def active(jobs):
    return [one["metadata"]["name"] for one in jobs if one["status"].get("active")]


def test_jobs_are_made_in_time_and_only_the_last_are_kept():
    [(status, jobs)] = played(10.5, cron_job(10, successfulJobsHistoryLimit=2))
    done = [one for one in jobs if one["status"].get("succeeded")]
    assert len(done) == 2
    due = at(status["lastScheduleTime"][:-1])
    newest = max(jobs, key=lambda one: one["metadata"]["name"])["metadata"]
    assert newest["name"] == f"c-{int(due.timestamp()) // 60}"
    assert newest["annotations"] == {
        "batch.kubernetes.io/cronjob-scheduled-timestamp": status["lastScheduleTime"]
    }
    assert (newest["labels"], newest["ownerReferences"][0]["kind"]) == ({"of": "c"}, "CronJob")
    assert status["lastSuccessfulTime"] >= done[0]["status"]["completionTime"]


@pytest.mark.parametrize(
    ("policy", "most", "least"), [("Allow", 9, 4), ("Forbid", 1, 1), ("Replace", 1, 1)]
)
def test_jobs_that_take_long_are_many_one_or_replaced(policy, most, least):
    first, second = played(5.5, cron_job(1000, concurrencyPolicy=policy), {"suspend": False})
    for status, jobs in (first, second):
        assert least <= len(active(jobs)) == len(status["active"]) <= 2 * most
    is_another = set(active(first[1])) != set(active(second[1]))
    assert is_another == (policy != "Forbid")


def test_one_that_is_suspended_rests_and_goes_on_later():
    suspended = cron_job(1, suspend=True)
    rested, resumed = played(4.5, suspended, {"suspend": False})
    assert rested == ({}, [])
    assert resumed[0]["lastScheduleTime"]
    assert resumed[1]


def test_times_it_is_too_late_for_are_left_out():
    # The first takes from the first minute into the third; when it ends, one minute was missed.
    patient = cron_job(90, concurrencyPolicy="Forbid")
    strict = cron_job(90, concurrencyPolicy="Forbid", startingDeadlineSeconds=20)
    [(_, made)], [(_, fewer)] = played(2.8, patient), played(2.8, strict)
    assert (len(made), len(fewer)) == (2, 1)


def test_a_job_that_a_quota_refuses_is_made_when_there_is_room():
    async def main(world):
        member = build("m1", world.effects("m1"))
        async with running(member):
            hard = {"spec": {"hard": {"count/jobs.batch": "0"}}}
            await ask(member, "POST", f"{CORE}resourcequotas", {"metadata": {"name": "q"}, **hard})
            await ask(member, "POST", CRON_JOBS, cron_job(1))
            await asyncio.sleep(100)
            none = (await ask(member, "GET", JOBS))["items"]
            told = (await ask(member, "GET", f"{CORE}events"))["items"]
            await ask(member, "DELETE", f"{CORE}resourcequotas/q")
            await asyncio.sleep(100)
            return none, told, (await ask(member, "GET", JOBS))["items"]

    none, [event], some = simulate(main, 1).value
    assert (none, event["reason"], event["involvedObject"]["kind"]) == (
        [],
        "FailedCreate",
        "CronJob",
    )
    assert some
