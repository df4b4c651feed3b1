"""Builds the parts of Kubernetes, kwok and other clients from source, once per machine.

In: the Go modules below testenv, each with a recipe. Out: a directory with the binaries of one, in
a cache outside the checkout, named after everything that determines them. Two builds at once wait
for each other, and an interrupted one leaves nothing behind that looks like a finished one.
"""

import fcntl
import hashlib
import os
import platform
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from testenv.errors import Unavailable
from testenv.toolchain import find_go

MODULE = Path(__file__).parent / "go"
COMMANDS = {
    "etcd": "./etcd",
    "kube-apiserver": "k8s.io/kubernetes/cmd/kube-apiserver",
    "kube-controller-manager": "k8s.io/kubernetes/cmd/kube-controller-manager",
    "kube-scheduler": "k8s.io/kubernetes/cmd/kube-scheduler",
    "kubectl": "k8s.io/kubernetes/cmd/kubectl",
}
VERSION_PACKAGES = ("k8s.io/component-base/version", "k8s.io/client-go/pkg/version")
SAY_EVERY_S = 20


@dataclass(frozen=True, slots=True)
class Recipe:
    """What is built of one Go module: the package of each command, by the command's name."""

    module: Path
    commands: Mapping[str, str]


KUBERNETES = Recipe(MODULE, COMMANDS)
KWOK = Recipe(MODULE.with_name("kwok"), {"kwok": "sigs.k8s.io/kwok/cmd/kwok"})
KARMADACTL = Recipe(
    MODULE.with_name("karmadactl"),
    {"karmadactl": "github.com/karmada-io/karmada/cmd/karmadactl"},
)
HELM = Recipe(MODULE.with_name("helm"), {"helm": "helm.sh/helm/v4/cmd/helm"})
FOLLOWER = Recipe(MODULE.with_name("follower"), {"follower": "."})
# A command whose name ends so is the tests of its package.
CONFORMANCE = Recipe(MODULE.with_name("e2e"), {"e2e.test": "k8s.io/kubernetes/test/e2e"})


@dataclass(frozen=True, slots=True)
class Binaries:
    """Where the built commands are."""

    directory: Path

    @property
    def etcd(self) -> Path:
        return self.directory / "etcd"

    @property
    def kube_apiserver(self) -> Path:
        return self.directory / "kube-apiserver"

    @property
    def kube_controller_manager(self) -> Path:
        return self.directory / "kube-controller-manager"

    @property
    def kube_scheduler(self) -> Path:
        return self.directory / "kube-scheduler"

    @property
    def kubectl(self) -> Path:
        return self.directory / "kubectl"


def cache_directory() -> Path:
    chosen = os.environ.get("ATOLL_TESTENV_CACHE")
    if chosen:
        return Path(chosen)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "atoll" / "testenv"


def cache_key(module: Path = MODULE, commands: Mapping[str, str] = COMMANDS) -> str:
    """Changes with whatever changes the binaries: the module's files, the flags, the platform."""
    digest = hashlib.sha256()
    for path in sorted(module.rglob("*")):
        if path.is_file():
            digest.update(f"{path.relative_to(module)}\0{path.stat().st_size}\0".encode())
            digest.update(path.read_bytes())
    built = (commands, _flags(module), platform.system(), platform.machine())
    digest.update(repr(built).encode())
    return digest.hexdigest()[:16]


def versions(module: Path = MODULE) -> dict[str, str]:
    """The versions that go.mod pins, and the Go they need."""
    text = (module / "go.mod").read_text()
    found = {
        "kubernetes": re.search(r"\bk8s\.io/kubernetes v(\S+)", text),
        "etcd": re.search(r"^\s*go\.etcd\.io/etcd/server/v3 v(\S+)", text, re.MULTILINE),
        "kwok": re.search(r"\bsigs\.k8s\.io/kwok v(\S+)", text),
        "helm": re.search(r"\bhelm\.sh/helm/v\d+ v(\S+)", text),
        "karmada": re.search(r"\bgithub\.com/karmada-io/karmada v(\S+)", text),
        "go": re.search(r"^go (\S+)", text, re.MULTILINE),
    }
    return {name: match[1] for name, match in found.items() if match}


def find(recipe: Recipe = KUBERNETES) -> Binaries:
    """The built binaries; raises Unavailable if they have not been built."""
    directory = cache_directory() / cache_key(recipe.module, recipe.commands)
    if not directory.is_dir():
        raise Unavailable("the testenv is not built: run `make testenv`")
    return Binaries(directory)


def build(recipe: Recipe = KUBERNETES) -> Binaries:
    """The built binaries, building them first if need be; raises Unavailable if that fails."""
    target = cache_directory() / cache_key(recipe.module, recipe.commands)
    if target.is_dir():
        return Binaries(target)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with _lock(target.parent / "lock"):
            if not target.is_dir():
                _build(recipe, target)
    except OSError as error:
        raise Unavailable(f"the testenv cannot be built: {error}") from error
    return Binaries(target)


def _build(recipe: Recipe, target: Path) -> None:
    pinned = versions(recipe.module)
    go = find_go(target.parent, pinned["go"])
    temporary = target.with_name(f".{target.name}.{os.getpid()}")
    log = target.with_name(f"{target.name}.log")
    of = " and ".join(f"{name} {pinned[name]}" for name in pinned if name != "go")
    print(
        f"testenv: building {', '.join(recipe.commands)} ({of}), once;"
        f" this takes minutes (log: {log})"
    )
    started = time.monotonic()
    try:
        log.write_bytes(b"")
        for number, name in enumerate(recipe.commands, 1):
            step = f"{number}/{len(recipe.commands)} {name}"
            _compile(_command(go, recipe, name, temporary), recipe.module, log, step)
        temporary.rename(target)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    print(f"testenv: built in {time.monotonic() - started:.0f} s: {target}")


def _flags(module: Path) -> list[str]:
    """Clients refuse a server whose version is not semantic, so it is stamped as a release's is."""
    version = versions(module).get("kubernetes")
    stamps = {}
    if version is not None:
        major, minor, _ = version.split(".", 2)
        stamps = {"gitVersion": f"v{version}", "gitMajor": major, "gitMinor": minor}
    link = [f"-X {p}.{name}={value}" for p in VERSION_PACKAGES for name, value in stamps.items()]
    return ["-trimpath", "-buildvcs=false", "-ldflags", " ".join(["-s", "-w", *link])]


def _command(go: Path, recipe: Recipe, name: str, into: Path) -> list[str]:
    how = ["build", "-v"]
    if name.endswith(".test"):
        into.mkdir(parents=True, exist_ok=True)
        how = ["test", "-c", "-vet=off"]
    target = f"{into}/{name}" if name.endswith(".test") else f"{into}/"
    return [str(go), *how, *_flags(recipe.module), "-o", target, recipe.commands[name]]


def _compile(command: list[str], module: Path, log: Path, step: str) -> None:
    settings = {"CGO_ENABLED": "0", "GOWORK": "off", "GOTOOLCHAIN": "local"}
    # A GOROOT that is set would be that of another Go.
    environment = {k: v for k, v in os.environ.items() if k != "GOROOT"} | settings
    before = log.stat().st_size
    with log.open("ab") as output:
        process = subprocess.Popen(
            command, cwd=module, env=environment, stdout=output, stderr=output,
            start_new_session=True,
        )  # fmt: skip
        try:
            _watch(process, log, before, step)
        finally:
            # Also when interrupted: the compilers it started must not go on alone.
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
    if process.returncode != 0:
        said = log.read_bytes()[before:].decode(errors="replace").strip().splitlines()
        last = said[-1].strip() if said else f"exit status {process.returncode}"
        name = step.split()[-1]
        raise Unavailable(f"the testenv cannot be built: {name}: {last} (log: {log})")


def _watch(process: subprocess.Popen[bytes], log: Path, before: int, step: str) -> None:
    """Waits for a compilation and says every now and then how far it is."""
    started = time.monotonic()
    print(f"testenv: {step}", flush=True)
    while True:
        try:
            process.wait(SAY_EVERY_S)
        except subprocess.TimeoutExpired:
            count = log.read_bytes()[before:].count(b"\n")
            elapsed = time.monotonic() - started
            print(f"testenv: {step}: {elapsed:.0f} s, {count} packages so far", flush=True)
        else:
            return


@contextmanager
def _lock(path: Path) -> Iterator[None]:
    with path.open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print(
                "testenv: another build is under way; waiting for it", file=sys.stderr, flush=True
            )
            fcntl.flock(file, fcntl.LOCK_EX)
        yield
