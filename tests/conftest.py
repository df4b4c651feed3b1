"""Fixtures for all tests: the real Kubernetes to compare with, and a deterministic Hypothesis.

A test that takes `kubernetes` talks to a real kube-apiserver, shared by the whole run: it must
keep to names of its own. Where the testenv is not built such tests are skipped with the reason;
with ATOLL_REQUIRE_TESTENV=1 they fail instead.
"""

import os
import shutil
import signal
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from testenv.build import find
from testenv.cluster import Cluster
from testenv.cluster import kubernetes as start_kubernetes
from testenv.errors import Unavailable

EXAMPLE = Path(__file__).parents[1] / "examples" / "plugin"

# The same examples in every run: a failure belongs to the change that caused it. To search for new
# ones: pytest --hypothesis-profile=default.
settings.register_profile("deterministic", derandomize=True, deadline=None)
# Searches for as long as it takes: pytest --hypothesis-profile=long --timeout=0 <tests>.
settings.register_profile("long", deadline=None, max_examples=20_000)
settings.load_profile("deterministic")
# Of a run in the background Ctrl-C is none of its business, but tests send it to what they start.
signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "kubernetes" in getattr(item, "fixturenames", ()):
            item.add_marker("testenv")


def pytest_runtest_setup(item: pytest.Item) -> None:
    if item.get_closest_marker("testenv"):
        try:
            find()
        except Unavailable as missing:
            _go_without(str(missing))


def _go_without(reason: str) -> None:
    if os.environ.get("ATOLL_REQUIRE_TESTENV") == "1":
        pytest.fail(reason, pytrace=False)
    pytest.skip(reason)


@pytest.fixture(scope="session")
def kubernetes() -> Iterator[Cluster]:
    """A real API server of the pinned Kubernetes version."""
    with start_kubernetes() as cluster:
        yield cluster


@pytest.fixture(scope="session")
def kubectl() -> Path:
    """The testenv's kubectl, else the machine's."""
    try:
        return find().kubectl
    except Unavailable as missing:
        on_path = shutil.which("kubectl")
        if on_path is None:
            _go_without(f"{missing}, and there is no kubectl on PATH")
        return Path(str(on_path))


@pytest.fixture(scope="session")
def python_with_plugins(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter of an environment of its own: what is in this one, and examples/plugin."""
    home = tmp_path_factory.mktemp("environment")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(home)], check=True)
    python = home / "bin" / "python"
    there = sysconfig.get_path("purelib", "venv", {"base": str(home)})
    here = sysconfig.get_path("purelib")
    (Path(there) / "all_of.pth").write_text(f"import site; site.addsitedir({here!r})\n")
    command = [sys.executable, "-m", "uv", "pip", "install", "--python", str(python)]
    command += ["--offline", "--no-cache", "--no-deps", "--no-build-isolation"]
    subprocess.run([*command, str(EXAMPLE)], check=True, capture_output=True)
    return python
