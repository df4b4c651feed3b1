"""The API server measured, side by side with kube-apiserver where the testenv is built.

Machines are noisy and differ, so what counts is the ratio within one run: both servers run all the
time, and every workload of every round is done by one and then by the other, in alternating order.
"""

import asyncio
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory

import uvloop

from bench.load import close_all
from bench.report import Figure, Report, Row, Say
from bench.servers import Target, atoll, kubernetes_with_etcd
from bench.sizes import Sizes
from bench.starting import SETTLE_S, measure_starts, note_memory
from bench.workloads import Ground, Workload, prepare, workloads
from testenv.build import Binaries

GROUPS = ("start", "creates", "updates", "gets", "lists", "watch", "memory")


def measure(sizes: Sizes, groups: Sequence[str], binaries: Binaries | None, say: Say) -> Report:
    """Measure these groups of ours, and of kube-apiserver if there are binaries of it."""
    chosen = [workload for workload in workloads(sizes) if workload.group in groups]
    figures = measure_starts(sizes, binaries, say) if "start" in groups else []
    if not chosen and "memory" not in groups:
        return Report(sizes, [], figures)
    idle, loaded = Figure("memory, idle", "MiB"), Figure("memory, after the load", "MiB")
    with ExitStack() as started:
        say("starting")
        targets = _started(binaries, started)
        time.sleep(SETTLE_S)
        note_memory(idle, targets)
        rows = _rounds(sizes, chosen, targets, say)
        time.sleep(SETTLE_S)
        note_memory(loaded, targets)
    if "memory" in groups:
        figures += [idle, loaded] if chosen else [idle]
    return Report(sizes, rows, figures)


def _started(binaries: Binaries | None, started: ExitStack) -> list[Target]:
    directory = Path(started.enter_context(TemporaryDirectory(prefix="atoll-bench-")))
    targets = [started.enter_context(atoll(directory))]
    if binaries is not None:
        targets.append(started.enter_context(kubernetes_with_etcd(binaries)))
    return targets


def _rounds(
    sizes: Sizes, chosen: Sequence[Workload], targets: Sequence[Target], say: Say
) -> list[Row]:
    # Starting and stopping servers is done outside of the loop, where Ctrl-C interrupts at once.
    rows = [Row(workload.group, workload.title) for workload in chosen]
    groups = [workload.group for workload in chosen]
    grounds: list[Ground] = []
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        try:
            for target in targets:
                say(f"preparing {target.name}")
                grounds.append(runner.run(prepare(target, sizes, groups)))
            for number in range(1, sizes.rounds + 1):
                for workload, row in zip(chosen, rows, strict=True):
                    say(f"round {number} of {sizes.rounds}: {workload.title}")
                    for ground in grounds if number % 2 else reversed(grounds):
                        sample = runner.run(workload.run(ground, number))
                        row.note(ground.target.name, sample)
        finally:
            runner.run(_close(grounds))
    return rows


async def _close(grounds: Sequence[Ground]) -> None:
    for ground in grounds:
        close_all(ground.clients)
    await asyncio.sleep(0)  # for the loop to see it
