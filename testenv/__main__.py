"""python -m testenv build | clients | path | versions | up

build     builds the testenv if it is not there; where it cannot, says why in one line
clients   the same for the clients of others: karmadactl, helm, and a program with client-go
path      prints the directory of the binaries
versions  prints what is built, and with which Go
up        starts a Kubernetes API server and says how to reach it, until interrupted; with
          --members N a host without workloads, and N clusters with --nodes nodes each
"""

import argparse
import os
import signal
import sys
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial

from testenv.build import (
    FOLLOWER,
    HELM,
    KARMADACTL,
    KUBERNETES,
    KWOK,
    Recipe,
    build,
    cache_directory,
    find,
    versions,
)
from testenv.cluster import kubernetes
from testenv.errors import StartFailed, Unavailable
from testenv.federation import federation


def main() -> int:
    parser = argparse.ArgumentParser(prog="testenv", description="The real Kubernetes, for tests.")
    parser.add_argument("command", choices=["up", *COMMANDS])
    parser.add_argument("--members", type=int, default=0, help="how many clusters besides the host")
    parser.add_argument("--nodes", type=int, default=3, help="how many nodes each of them has")
    given = parser.parse_args()
    try:
        return (
            _up(given.members, given.nodes) if given.command == "up" else COMMANDS[given.command]()
        )
    except (Unavailable, StartFailed) as error:
        print(f"testenv: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130


def _build(*recipes: Recipe) -> int:
    """Unavailability is no failure: the other tests run without it. Unless it is required."""
    try:
        for recipe in recipes:
            print(f"testenv: {build(recipe).directory}")
    except Unavailable as error:
        print(f"testenv: {error}")
        return 1 if os.environ.get("ATOLL_REQUIRE_TESTENV") == "1" else 0
    return 0


def _path() -> int:
    print(find().directory)
    return 0


def _versions() -> int:
    for name, version in versions().items():
        print(f"{name} {version}")
    print(f"cache {cache_directory()}")
    return 0


def _up(members: int, nodes: int) -> int:
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with ExitStack() as started:
        if members:
            several = started.enter_context(federation(members, nodes))
            for name, cluster in several.members.items():
                print(f"# {name}: {cluster.url}, kubeconfig: {cluster.kubeconfig}")
            host = several.host
        else:
            host = started.enter_context(kubernetes())
        print(f"export KUBECONFIG={host.kubeconfig}")
        print(f"# {host.url}, logs in {host.directory}, kubectl: {host.kubectl}")
        print("# Ctrl-C stops it", flush=True)
        signal.pause()
    return 0


COMMANDS: dict[str, Callable[[], int]] = {
    "build": partial(_build, KUBERNETES, KWOK),
    "clients": partial(_build, FOLLOWER, KARMADACTL, HELM),
    "path": _path,
    "versions": _versions,
}

if __name__ == "__main__":
    sys.exit(main())
