"""python -m testenv build | clients | path | versions | up

build     builds the testenv if it is not there; where it cannot, says why in one line
clients   the same for the clients of others: karmadactl, and a program that uses client-go
path      prints the directory of the binaries
versions  prints what is built, and with which Go
up        starts a Kubernetes API server and says how to reach it, until interrupted
"""

import argparse
import os
import signal
import sys
from collections.abc import Callable
from functools import partial

from testenv.build import (
    FOLLOWER,
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


def main() -> int:
    parser = argparse.ArgumentParser(prog="testenv", description="The real Kubernetes, for tests.")
    parser.add_argument("command", choices=list(COMMANDS))
    command = parser.parse_args().command
    try:
        return COMMANDS[command]()
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


def _up() -> int:
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with kubernetes() as cluster:
        print(f"export KUBECONFIG={cluster.kubeconfig}")
        print(f"# {cluster.url}, logs in {cluster.directory}, kubectl: {cluster.kubectl}")
        print("# Ctrl-C stops it", flush=True)
        signal.pause()
    return 0


COMMANDS: dict[str, Callable[[], int]] = {
    "build": partial(_build, KUBERNETES, KWOK),
    "clients": partial(_build, FOLLOWER, KARMADACTL),
    "path": _path,
    "versions": _versions,
    "up": _up,
}

if __name__ == "__main__":
    sys.exit(main())
