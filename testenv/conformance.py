"""python -m testenv.conformance [--on plane|member|kubernetes] [--only REGEX] [--keep DIR]

Runs those of Kubernetes' own end-to-end tests that need no machines, against a plane, a simulated
member, or a real kube-apiserver that stands alone. In: tests/conformance/tests.txt, which says what
is to pass where. Out: what did not, each with the reason in one line. The tests are built once into
the testenv's cache; a run takes minutes and is no part of `make test`.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from testenv.build import CONFORMANCE, build
from testenv.cluster import kubernetes
from testenv.errors import StartFailed, Unavailable

LIST = Path(__file__).parents[1] / "tests" / "conformance" / "tests.txt"
SERVERS = ("plane", "member", "kubernetes")
# There are no machines to wait for, and no logs of pods to gather.
OPTIONS = (
    "--provider=skeleton",
    "--allowed-not-ready-nodes=-1",
    "--minStartupPods=0",
    "--num-nodes=1",
    "--dump-logs-on-failure=false",
    "--disable-log-dump",
    "--ginkgo.no-color",
    "--ginkgo.succinct",
    "--ginkgo.timeout=2h",
)
# Alone, a kube-apiserver makes no accounts for namespaces, and does not clear them away.
ALONE = ("--e2e-verify-service-account=false", "--delete-namespace=false")


@dataclass(frozen=True, slots=True)
class Outcome:
    """How one test ended."""

    name: str
    passed: bool
    seconds: float
    reason: str


def listed(server: str, text: str) -> list[str]:
    """The names of the tests that are to pass on a server."""
    lines = [line.split(maxsplit=1) for line in text.splitlines() if line[:1] not in ("", "#")]
    return [name for where, name in lines if server in where.split(",")]


def focus(names: list[str]) -> str:
    """A regular expression of Go's that fits these tests and no others."""
    return "|".join(re.sub(r"([\\.+*?()|\[\]{}^$])", r"\\\1", name) for name in names)


def outcomes(report: list[Any]) -> list[Outcome]:
    """What a report of ginkgo says of the tests that were run."""
    return [
        Outcome(
            " ".join([*(spec["ContainerHierarchyTexts"] or ()), spec["LeafNodeText"]]),
            spec["State"] == "passed",
            spec["RunTime"] / 1e9,
            " ".join(spec.get("Failure", {}).get("Message", "").split())[:300],
        )
        for suite in report
        for spec in suite["SpecReports"]
        if spec["LeafNodeType"] == "It" and spec["State"] not in ("skipped", "pending")
    ]


@contextmanager
def serving(server: str, directory: Path) -> Iterator[Path]:
    """A server of this sort, for the length of the block: its kubeconfig."""
    if server == "kubernetes":
        with kubernetes() as cluster:
            yield cluster.kubeconfig
        return
    atoll = [sys.executable, "-m", "atoll"]
    where = ["--data-dir", str(directory / "atoll")]
    fleet = ["--fleet", "tiny"] if server == "member" else []
    subprocess.run([*atoll, "up", *where, *fleet], check=True)
    try:
        found = directory / "atoll"
        yield (found / "members" / "member1" if fleet else found) / "kubeconfig"
    finally:
        subprocess.run([*atoll, "down", *where], check=False)


def run(server: str, names: list[str], directory: Path) -> list[Outcome]:
    """Run these tests against a server of this sort; logs and report are left in the directory."""
    binaries = build(CONFORMANCE).directory
    kubectl = build().kubectl
    report, log = directory / "report.json", directory / "e2e.log"
    with serving(server, directory) as kubeconfig, log.open("wb") as output:
        command = [str(binaries / "e2e.test"), *OPTIONS, f"--kubeconfig={kubeconfig}"]
        command += [f"--kubectl-path={kubectl}", f"--ginkgo.json-report={report}"]
        command += [f"--ginkgo.focus={focus(names)}", *(ALONE if server == "kubernetes" else ())]
        path = f"{kubectl.parent}:{os.environ['PATH']}"
        subprocess.run(
            command, cwd=directory, env=os.environ | {"PATH": path}, stdout=output,
            stderr=subprocess.STDOUT, check=False,
        )  # fmt: skip
    if not report.exists():
        raise StartFailed(f"the tests ended without a report; see {log}")
    return outcomes(json.loads(report.read_text()))


def main() -> int:
    parser = argparse.ArgumentParser(prog="testenv.conformance", description=__doc__)
    parser.add_argument("--on", choices=SERVERS, default="plane", help="what is tested")
    parser.add_argument("--only", metavar="REGEX", default="", help="tests with such a name")
    parser.add_argument("--keep", metavar="DIR", type=Path, help="where logs and report are left")
    given = parser.parse_args()
    names = [name for name in listed(given.on, LIST.read_text()) if re.search(given.only, name)]
    if not names:
        print(f"conformance: no test for {given.on} has such a name", file=sys.stderr)
        return 1
    print(f"conformance: {len(names)} tests on {given.on}", flush=True)
    with tempfile.TemporaryDirectory(prefix="atoll-conformance-") as temporary:
        directory = given.keep or Path(temporary)
        directory.mkdir(parents=True, exist_ok=True)
        try:
            found = run(given.on, names, directory)
        except (Unavailable, StartFailed, subprocess.CalledProcessError) as error:
            print(f"conformance: {error}", file=sys.stderr)
            return 1
    return _tell(found, len(names))


def _tell(found: list[Outcome], expected: int) -> int:
    for each in found:
        if not each.passed:
            print(f"FAILED {each.name} ({each.seconds:.0f} s): {each.reason}")
    passed = sum(each.passed for each in found)
    print(f"conformance: {passed} of {expected} passed")
    return 0 if passed == expected else 1


if __name__ == "__main__":
    sys.exit(main())
