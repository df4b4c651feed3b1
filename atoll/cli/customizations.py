"""What `atoll interpret` does: files in, what the customizations in them say as YAML out.

Whatever is wrong with the files or the scripts is an error of one line that says where.
"""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from atoll.apiserver.bodies.decoding import read_yaml_or_json
from atoll.apiserver.bodies.encoding import encode_yaml
from atoll.cli.failing import USAGE, CommandFailed
from atoll.errors import Invalid, Malformed
from atoll.interpreting.customizing import layer, scripts
from atoll.interpreting.kinds import kind_of
from atoll.interpreting.operations import Interpreters, Item, Operation
from atoll.lua.pool import Pool
from atoll.model.action import Ref
from atoll.model.health import Health
from atoll.wire import Object

KIND = "ResourceInterpreterCustomization"
_BETWEEN = re.compile(rb"^---(?:[ \t].*)?$", flags=re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Asked:
    """An operation, and the files with what it is asked about."""

    operation: str
    desired: Path | None = None
    observed: Path | None = None
    statuses: Path | None = None
    replicas: int | None = None

    def object(self) -> Object:
        """The one object an operation is about."""
        if self.desired and self.observed:
            raise _lacking(f"{self.operation} is about one object: --desired or --observed")
        return self.only("--desired or --observed", self.desired or self.observed)

    def only(self, option: str, file: Path | None) -> Object:
        """The one object in a file."""
        if file is None:
            raise _lacking(f"{self.operation} needs {option}")
        found = documents(file)
        if len(found) != 1:
            raise CommandFailed(f"{file} has {len(found)} objects", "one is needed")
        return found[0]

    def items(self) -> tuple[Item, ...]:
        """What the clusters report."""
        if self.statuses is None:
            raise _lacking(f"{self.operation} needs --status")
        try:
            return tuple(Item.of(each, "status") for each in documents(self.statuses))
        except Invalid as error:
            raise CommandFailed(f"cannot use {self.statuses}", str(error)) from error


def _lacking(what: str) -> CommandFailed:
    return CommandFailed(what, "", "atoll interpret --help", code=USAGE)


def read(files: Iterable[Path]) -> list[Object]:
    """The customizations in files; anything else in them is an error."""
    found = []
    for file in files:
        for each in documents(file):
            if each.get("kind") != KIND:
                problem = f"it has a {each.get('kind')}; give {KIND}s"
                raise CommandFailed(f"cannot use {file}", problem)
            found.append(each)
    return found


def documents(file: Path) -> list[Object]:
    """The objects in a file, of lists each element."""
    try:
        texts = _BETWEEN.split(file.read_bytes())
        values = [read_yaml_or_json(text).value for text in texts if text.strip()]
    except OSError as error:
        raise CommandFailed(f"cannot read {file}", error.strerror or str(error)) from error
    except Malformed as error:
        raise CommandFailed(f"cannot read {file}", str(error)) from error
    found: list[Object] = []
    for value in values:
        listed = value.get("items") if isinstance(value, dict) else value
        each = listed if isinstance(listed, list) else [value]
        found += [one for one in each if one is not None]
    for value in found:
        if not isinstance(value, dict):
            raise CommandFailed(f"cannot use {file}", f"{value!r} is no object")
    return found


def checked(customizations: list[Object]) -> tuple[list[str], list[str]]:
    """A line for each script that has its function, and one for each that has not."""
    good, bad = [], []
    with Pool(size=1) as pool:
        for customization in customizations:
            for script in scripts(customization):
                problem = pool.call(script.source, script.function, None).error
                if problem:
                    bad.append(str(script.wrong(problem)))
                else:
                    good.append(f"{script.customization}: {script.field}: {script.function}: ok")
    return good, bad


def answered(customizations: list[Object], asked: Asked) -> str:
    """What the customizations say, as YAML."""
    operation, ask = _ASKED[asked.operation]
    with Pool(size=1) as pool:
        known = Interpreters((layer(customizations, pool.call),))
        about = asked.only("--desired", asked.desired) if ask is _retained else asked.object()
        ref = Ref(*kind_of(about), "", "")
        if not known.has(ref, operation):
            problem = f"no customization given defines {asked.operation}"
            raise CommandFailed(f"{problem} for {ref.kind} of {ref.api_version}")
        return encode_yaml(ask(known, about, asked)).decode()


def _replicas(known: Interpreters, about: Object, _: Asked) -> Any:
    found = known.replicas(about)
    return found and {"replica": found.count, "requires": found.requirements}


def _revised(known: Interpreters, about: Object, asked: Asked) -> Any:
    if asked.replicas is None:
        raise _lacking(f"{asked.operation} needs --desired-replica")
    return {"revised": known.revise(about, asked.replicas)}


def _retained(known: Interpreters, about: Object, asked: Asked) -> Any:
    return {"retained": known.retain(about, asked.only("--observed", asked.observed))}


def _healthy(known: Interpreters, about: Object, _: Asked) -> Any:
    return {"healthy": known.health(about) is Health.HEALTHY}


_Ask = Callable[[Interpreters, Object, Asked], Any]
_ASKED: dict[str, tuple[Operation, _Ask]] = {
    "InterpretReplica": (Operation.REPLICAS, _replicas),
    "InterpretComponent": (
        Operation.COMPONENTS,
        lambda known, about, _: {"components": list(known.components(about))},
    ),
    "ReviseReplica": (Operation.REVISE, _revised),
    "Retain": (Operation.RETAIN, _retained),
    "AggregateStatus": (
        Operation.AGGREGATE,
        lambda known, about, asked: {"aggregatedStatus": known.aggregate(about, asked.items())},
    ),
    "InterpretStatus": (
        Operation.REFLECT,
        lambda known, about, _: {"status": known.reflect(about)},
    ),
    "InterpretHealth": (Operation.HEALTH, _healthy),
    "InterpretDependency": (
        Operation.DEPENDENCIES,
        lambda known, about, _: {
            "dependencies": [each.wire() for each in known.dependencies(about)]
        },
    ),
}
