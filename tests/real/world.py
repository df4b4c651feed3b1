"""The world that scenarios happen in: a plane, three members, the commands people use, and faults.

What stands below it (`Ground`) is the embedded plane with simulated members, or a real Kubernetes
as host with real clusters; a scenario cannot tell which. Members m1 and m2 are joined and pushed
to, m3 is registered and pulls by an agent. Namespaces are a scenario's own (`Space`), so that many
can happen at once in one world.
"""

import os
import re
import shlex
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, TypeVar

from plane_api import Api
from wanted_objects import cluster_ref

from atoll.client.refusals import Refused, Taken
from atoll.client.transport import Unreachable
from atoll.wire import Wire

T = TypeVar("T")

REGIONS = {"m1": "north", "m2": "south", "m3": "south"}
PUSHED, PULLING = ("m1", "m2"), "m3"
PATIENCE_S = 200.0
LOOK_EVERY_S = 0.1
# What becomes of clusters is to be believed while one looks; a slow machine is no lost cluster.
QUICK = (
    *("--cluster-status-update-frequency", "1s"),
    *("--cluster-failure-threshold", "2s", "--cluster-success-threshold", "1s"),
)
PLANE_QUICK = (
    *QUICK,
    *("--cluster-monitor-period", "1s", "--cluster-monitor-grace-period", "15s"),
    *("--feature-gates", "PropagationPolicyPreemption=true"),
)
AGENT_QUICK = (*QUICK, "--cluster-lease-duration", "4s")


class Ground(Protocol):
    """What a world stands on. Faults last until they are taken back."""

    name: str
    kubeconfig: Path  # of the plane

    def member(self, name: str) -> Path:
        """The kubeconfig of a member, for its people."""

    def way(self, name: str) -> Path:
        """The kubeconfig by which plane and agent reach a member; it can be cut."""

    def cut(self, name: str) -> None:
        """Let nobody who comes by the way reach a member any more."""

    def heal(self, name: str) -> None:
        """Let them reach it again."""

    def restart_hub(self) -> None:
        """End every process of the plane with kill -9, and start them again."""

    def change_leader(self) -> None:
        """Have another process lead; where there is only one, it is killed and started again."""

    def close(self) -> None:
        """Leave nothing running."""


@dataclass(frozen=True)
class Result:
    """What a command said, and how it ended."""

    code: int
    out: str
    err: str


def expect(see: Callable[[], T], wanted: object, within_s: float = PATIENCE_S) -> T:
    """Wait until what is seen is what is wanted; say what was seen last if that never comes.

    Wanted may also be a function that says whether it is that. Whoever does not answer for a while
    is asked again.
    """
    deadline = time.monotonic() + within_s
    while True:
        seen: Any
        try:
            seen = see()
            if wanted(seen) if callable(wanted) else seen == wanted:
                found: T = seen
                return found
        except (Unreachable, Refused) as problem:
            seen = problem
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {within_s:g} s: {wanted}\nseen last: {seen}")
        time.sleep(LOOK_EVERY_S)


def make(api: Api, wire: Wire) -> None:
    """Create an object; if nobody answers, again, until it is there."""
    deadline, unsure = time.monotonic() + PATIENCE_S, False
    while True:
        try:
            api.create(wire)
        except Unreachable:
            unsure = True
            if time.monotonic() > deadline:
                raise
        except Taken:
            if not unsure:
                raise
            return
        else:
            return
        time.sleep(LOOK_EVERY_S)


@dataclass
class Agent:
    """The agent of a cluster that pulls, in a process of its own."""

    command: list[str]
    environment: dict[str, str]
    log: Path
    process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        with self.log.open("ab") as file:
            self.process = subprocess.Popen(
                self.command,
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=subprocess.STDOUT,
            )

    def kill(self) -> None:
        """What a power failure does to it."""
        if self.process is not None:
            self.process.send_signal(signal.SIGKILL)
            self.process.wait(60)
            self.process = None


@dataclass
class World:
    """A plane with its members, and everything that can be done to them."""

    ground: Ground
    home: Path
    find_tool: Callable[[str], Path]
    plane: Api = field(init=False)
    members: dict[str, Api] = field(init=False)
    agent: Agent | None = None
    _numbers: dict[str, int] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        self.plane = Api(self.ground.kubeconfig)
        self.members = {name: Api(self.ground.member(name)) for name in REGIONS}

    def populate(self) -> None:
        """Make the three clusters members, by the ordinary commands, and wait for them."""
        with ThreadPoolExecutor(len(REGIONS)) as pool:
            waiting = [pool.submit(self.join, name) for name in PUSHED]
            waiting.append(pool.submit(self.register, PULLING))
            for each in waiting:
                each.result()
        expect(lambda: [name for name in REGIONS if not self.is_open(name)], [])
        # Until its agent has told of its nodes, a cluster that pulls is judged by its summary.
        kind = {"apiVersion": "placement.atoll.io/v1alpha1", "kind": "ClusterNodes"}
        expect(lambda: self.plane.find({**kind, "metadata": {"name": PULLING}}), bool)

    def close(self) -> None:
        for api in (self.plane, *self.members.values()):
            api.close()
        if self.agent is not None:
            self.agent.kill()

    def environment(self) -> dict[str, str]:
        kept = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
        own = {"HOME": str(self.home), "KUBECONFIG": str(self.ground.kubeconfig)}
        return {**kept, **own, "PYTHONUTF8": "1"}

    def run(self, command: Iterable[str | Path], stdin: str = "") -> Result:
        done = subprocess.run(
            [str(word) for word in command],
            env=self.environment(),
            input=stdin,
            capture_output=True,
            text=True,
            timeout=2 * PATIENCE_S,
            check=False,
        )
        assert "Traceback" not in done.stderr, done.stderr
        return Result(done.returncode, done.stdout, done.stderr)

    def atoll(self, words: str) -> str:
        """What `atoll` prints when it succeeds."""
        done = self.run([sys.executable, "-m", "atoll", *shlex.split(words)])
        assert done.code == 0, done.err
        return done.out

    def tool(self, name: str, words: str, stdin: str = "") -> Result:
        """What kubectl or karmadactl says to the plane."""
        return self.run([self.find_tool(name), *shlex.split(words)], stdin)

    def kubectl(self, words: str, stdin: str = "") -> str:
        done = self.tool("kubectl", words, stdin)
        assert done.code == 0, done.err
        return done.out

    def join(self, name: str, more: str = "") -> str:
        way, region = self.ground.way(name), REGIONS[name]
        return self.atoll(
            f"join {name} --cluster-kubeconfig {way} --cluster-region {region} {more}"
        )

    def unjoin(self, name: str) -> str:
        way = self.ground.way(name)
        return self.atoll(f"unjoin {name} --yes --wait 200s --cluster-kubeconfig {way}")

    def register(self, name: str) -> None:
        """Register a cluster, and start its agent."""
        invited = self.atoll("token create --print-register-command").strip()
        file = self.home / f"{name}.kubeconfig"
        where = f"--kubeconfig {self.ground.way(name)} --agent-kubeconfig {file}"
        words = f"--cluster-name {name} --cluster-region {REGIONS[name]}"
        said = self.atoll(f"{invited.removeprefix('atoll ')} {where} {words}")
        command = next(line for line in said.splitlines() if re.search(r"atoll agent ", line))
        asked = shlex.split(command.strip())[1:]
        started = [sys.executable, "-m", "atoll", *asked, *AGENT_QUICK]
        self.agent = Agent(started, self.environment(), self.home / "agent.log")
        self.agent.start()

    def cluster(self, name: str) -> Wire:
        return self.plane.find(cluster_ref(name)) or {}

    def readiness(self, name: str) -> str:
        """What the plane says of a cluster: True, False, Unknown, or nothing yet."""
        conditions = (self.cluster(name).get("status") or {}).get("conditions") or ()
        return next((each["status"] for each in conditions if each["type"] == "Ready"), "")

    def taints(self, name: str) -> list[str]:
        found = (self.cluster(name).get("spec") or {}).get("taints") or ()
        return sorted(f"{each['key']}:{each['effect']}" for each in found)

    def is_open(self, name: str) -> bool:
        """Whether a cluster is ready, and takes what is new."""
        return self.readiness(name) == "True" and not self.taints(name)

    def space(self, about: str) -> "Space":
        """A namespace that nobody else has used."""
        with self._lock:
            number = self._numbers[about] = self._numbers.get(about, 0) + 1
        return Space(self, about if number == 1 else f"{about}-{number}")


@dataclass
class Space:
    """One scenario's place: a namespace of its own in a world, and what is seen in it."""

    world: World
    name: str
    _wide: list[Wire] = field(default_factory=list)

    @property
    def plane(self) -> Api:
        return self.world.plane

    def open(self) -> None:
        self.plane.create(
            {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": self.name}}
        )

    def close(self) -> None:
        """Take away what others might stumble over; all else ends with the world."""
        for wire in reversed(self._wide):
            self.plane.delete(wire)

    def here(self, wire: Wire) -> Wire:
        """The object in this namespace, if its kind lives in one."""
        place = self.plane.collection(wire["apiVersion"], wire["kind"])
        if not place.namespaced or "namespace" in wire["metadata"]:
            return wire
        return {**wire, "metadata": {**wire["metadata"], "namespace": self.name}}

    def create(self, wire: Wire) -> Wire:
        """Create an object in the plane; gives what was asked for, which finds it anywhere."""
        placed = self.here(wire)
        make(self.plane, placed)
        if "namespace" not in placed["metadata"]:
            self._wide.append(placed)
        return placed

    def find(self, wire: Wire, member: str = "") -> Wire | None:
        """The object as the plane, or a member, has it."""
        api = self.world.members[member] if member else self.plane
        return api.find(self.here(wire))

    def where(self, wire: Wire) -> list[str]:
        """The members that have an object, those of the plane's making only."""
        found = {name: self.find(wire, name) for name in REGIONS}
        return [name for name, each in found.items() if each is not None and is_managed(each)]

    def replicas(self, wire: Wire) -> dict[str, int]:
        """How many replicas which member is asked for."""
        found = {name: self.find(wire, name) for name in REGIONS}
        return {
            name: each["spec"].get("replicas", each["spec"].get("parallelism"))
            for name, each in found.items()
            if each is not None
        }

    def status(self, wire: Wire, *names: str) -> list[Any]:
        """These fields of an object's status in the plane."""
        status = (self.find(wire) or {}).get("status") or {}
        return [status.get(name) for name in names]

    def binding(self, wire: Wire) -> Wire:
        """The ResourceBinding of a template, as it is now."""
        name = f"{wire['metadata']['name']}-{wire['kind'].lower()}"
        kind = {"apiVersion": "work.karmada.io/v1alpha2", "kind": "ResourceBinding"}
        return self.find({**kind, "metadata": {"name": name}}) or {}

    def targets(self, wire: Wire) -> dict[str, int]:
        """Where the scheduler has placed a template, with how many replicas."""
        chosen = (self.binding(wire).get("spec") or {}).get("clusters") or ()
        return {each["name"]: each.get("replicas", 0) for each in chosen}


def is_managed(wire: Wire) -> bool:
    labels = wire["metadata"].get("labels") or {}
    return labels.get("karmada.io/managed") == "true"
