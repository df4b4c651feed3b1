"""What can be run in a simulated pod: a handful of commands, so that `kubectl exec` has an answer.

A command and its input come in line by line, output and an exit code go out. There is no machine
behind it: nothing is written, nothing is reached.
"""

import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

KNOWN = ("cat", "date", "echo", "env", "exit", "false", "hostname", "sh", "true")
_NOT_FOUND = 127
PROMPT = "$ "


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a command wrote, and how it ended."""

    output: str = ""
    complaint: str = ""
    code: int = 0


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a command finds in its container."""

    hostname: str
    now: Callable[[], str]
    variables: Mapping[str, str] = field(default_factory=dict)


def reads_input(words: Sequence[str]) -> bool:
    """Whether a command goes on until its input ends: a shell without a script, or `cat`."""
    return (
        bool(words)
        and words[0].rpartition("/")[2] in ("sh", "bash", "ash", "cat")
        and (len(words) == 1)
    )


def run(words: Sequence[str], around: Surroundings) -> Outcome:
    """What a command that reads no input comes to."""
    if not words:
        return Outcome()
    name, rest = words[0].rpartition("/")[2], words[1:]
    match name:
        case "true" | "cat":
            return Outcome()
        case "false":
            return Outcome(code=1)
        case "echo":
            return Outcome(" ".join(rest) + "\n")
        case "hostname":
            return Outcome(f"{around.hostname}\n")
        case "date":
            return Outcome(f"{around.now()}\n")
        case "env":
            every = {"HOSTNAME": around.hostname, **around.variables}
            return Outcome("".join(f"{key}={value}\n" for key, value in every.items()))
        case "sh" | "bash" | "ash":
            return _script(rest, around)
    known = ", ".join(KNOWN)
    complaint = f'"{name}" is not there; this is a simulated pod, which knows: {known}\n'
    return Outcome(complaint=complaint, code=_NOT_FOUND)


def answer(line: str, around: Surroundings) -> Outcome:
    """What a shell answers to a line."""
    try:
        words = shlex.split(line)
    except ValueError as error:
        return Outcome(complaint=f"sh: {error}\n", code=2)
    return run(words, around)


def _script(rest: Sequence[str], around: Surroundings) -> Outcome:
    if len(rest) < 2 or rest[0] != "-c":
        return Outcome(complaint="sh: a simulated shell takes -c and a script\n", code=2)
    outcome = Outcome()
    for line in rest[1].replace(";", "\n").replace("&&", "\n").splitlines():
        words = line.split()
        if words[:1] == ["exit"]:
            given = words[1] if words[1:] and words[1].isdigit() else "0"
            return Outcome(outcome.output, outcome.complaint, int(given) % 256)
        step = answer(line, around)
        outcome = Outcome(
            outcome.output + step.output, outcome.complaint + step.complaint, step.code
        )
    return outcome
