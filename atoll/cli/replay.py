"""`atoll replay`: a recorded run once more, and whether what is decided now is what was then."""

import difflib
import json
from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from atoll.cli.failing import ERROR, CommandFailed
from atoll.cli.options import FILE
from atoll.cli.output import JSON, output_option, show_data, show_table, versioned
from atoll.cli.printing import seconds, show, tell
from atoll.cli.tables import Column
from atoll.errors import Malformed

if TYPE_CHECKING:
    from atoll.control.replaying import Replay, Step
    from atoll.scheduling.setting import Setting

_HELP = """Decide again what a recorded run decided; exit code 1 if something is decided otherwise.

FILE is what `--record` of `atoll up` or `atoll run` has written. No plane is needed, and none is
touched.
"""


@click.command(help=_HELP)
@click.argument("file", type=FILE)
@click.option("--until", type=click.IntRange(1), metavar="N", help="End after so many events.")
@click.option("--show", "shown", type=click.IntRange(1), metavar="N", help="Show only this event.")
@output_option(JSON)
def replay(file: Path, until: int | None, shown: int | None, output: str | None) -> int:
    # What decides is half of all, and the other commands must not wait for it.
    from atoll.control.replaying import Replay

    replay, kinds, times, step = Replay(set_up), Counter[tuple[str, str]](), list[float](), None
    for step in _steps(replay, file):
        kinds[step.to, type(step.event).__name__] += 1
        times = [*times[:1], step.now]
        if (step.differs and shown is None) or step.number in (shown, until):
            break
    other = step if step is not None and step.differs else None
    if shown is not None:
        if step is None or step.number != shown:
            raise CommandFailed(f"there is no event {shown}", f"{file} has {kinds.total()}")
        show_data(_as_data(step), JSON)
    elif output == JSON:
        counts = {f"{to}/{kind}": count for (to, kind), count in sorted(kinds.items())}
        said = {"version": replay.version, "torn": replay.torn, "events": counts}
        show_data(versioned("Replay", **said, difference=other and _as_data(other)), JSON)
    else:
        span = seconds(times[-1] - times[0]) if times else "no time"
        show(f"{kinds.total()} events in {span}, recorded by atoll {replay.version}")
        if replay.torn:
            tell("A line is torn: its process was killed while it wrote it, or writes it now.")
        rows = [(*kind, str(count)) for kind, count in sorted(kinds.items())]
        show_table([Column("TO"), Column("EVENT"), Column("COUNT")], rows)
        show("All was decided again as it was." if other is None else _difference(other))
    return 0 if other is None else ERROR


def _steps(replay: "Replay", file: Path) -> Iterator["Step"]:
    try:
        with file.open("rb") as lines:
            yield from replay.steps(lines)
    except Malformed as error:
        raise CommandFailed(f"{file} cannot be replayed", str(error)) from error


def set_up(recorded: Mapping[str, Any]) -> "Setting":
    """A scheduler's setting as a recorded one was."""
    from atoll.extensions import plugins, scheduler_setting

    wanted, known = recorded["plugins"], plugins().names
    if lacking := [each for each in wanted if each not in known]:
        what = f"it was recorded with plug-ins that are not installed: {', '.join(lacking)}"
        raise CommandFailed(what, attempt="install them beside atoll, and once more")
    listed = [*wanted, *(f"-{each}" for each in known if each not in wanted)]
    gates = (f"{name}={is_open}" for name, is_open in recorded["features"].items())
    return scheduler_setting(",".join(gates), ",".join(listed))


def _as_data(step: "Step") -> dict[str, Any]:
    from atoll.control.replaying import WHOLE

    at = datetime.fromtimestamp(step.now, UTC).isoformat(timespec="milliseconds")
    told = {"number": step.number, "to": step.to, "at": at, "event": WHOLE.of(step.event)}
    return {**told, "recorded": step.recorded, "replayed": step.found}


def _difference(step: "Step") -> str:
    then, now = (json.dumps(each, indent=2).splitlines() for each in (step.recorded, step.found))
    kind = type(step.event).__name__
    said = f"Event {step.number}, {kind}, is answered otherwise by the {step.to}:"
    return "\n".join(
        [
            said,
            *difflib.unified_diff(then, now, "recorded", "replayed", lineterm=""),
            f"All of it: atoll replay FILE --show {step.number}",
        ]
    )
