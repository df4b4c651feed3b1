"""From the previous version to this one, replica by replica, while workloads are being placed.

The previous version is the program as it was before this one got its number.
"""

import io
import subprocess
import zipfile
from pathlib import Path

import pytest
from replicas import QUICK, Setting, replica, wait_for
from workloads import all_are_ready, deployment, enrolled, path_of, place, replicas_in

from atoll import __version__
from testenv.cluster import Cluster

pytestmark = [pytest.mark.testenv, pytest.mark.timeout(900)]

ROOT = Path(__file__).parents[2]
VERSION = "atoll/__init__.py"
SPACE = "upgraded"
WORKLOADS = 20


def git(*words: str) -> bytes:
    done = subprocess.run(["git", "-C", str(ROOT), *words], capture_output=True)
    if done.returncode:
        raise LookupError(done.stderr.decode().strip())
    return done.stdout


@pytest.fixture
def previous(tmp_path: Path) -> Path:
    """The program as it was in the previous version."""
    numbered = f'__version__ = "{__version__}"'
    try:
        begun = git("log", "-1", "--format=%H", f"-S{numbered}", "--", VERSION).decode().strip()
        revision = git("rev-parse", f"{begun}^").decode().strip()
        archive = git("archive", "--format=zip", revision, "atoll")
    except LookupError as problem:
        pytest.skip(f"there is no history of this checkout: {problem}")
    with zipfile.ZipFile(io.BytesIO(archive)) as packed:
        packed.extractall(tmp_path)
    assert numbered not in (tmp_path / VERSION).read_text()
    return tmp_path


def uids(member: Cluster) -> dict[str, str]:
    """What a member has of it, by name."""
    found = member.get(f"/apis/apps/v1/namespaces/{SPACE}/deployments")["items"]
    return {each["metadata"]["name"]: each["metadata"]["uid"] for each in found}


def test_a_rolling_upgrade_places_everything_and_makes_nothing_anew(
    setting: Setting, previous: Path
) -> None:
    host, members = setting.host, setting.members
    names = [f"web-{number}" for number in range(WORKLOADS)]
    first, second = host.account(setting.directory), host.account(setting.directory)
    with replica(first, *QUICK, program=previous) as old:
        wait_for("the old version to lead", old.terms)
        enrolled(setting)
        wait_for("members", lambda: all_are_ready(setting))
        place(host, SPACE, *names[:5])
        wait_for("the first of them", lambda: set(names[:5]) <= uids(members["m1"]).keys())
        before = uids(members["m1"])
        with replica(second, *QUICK) as new:
            wait_for("the new version to wait", lambda: " leads\n" in new.said())
            place(host, SPACE, *names[5:12])
            assert old.stop() == 0, old.said()
            for name in names[12:]:
                wire = deployment(name, SPACE, 1)
                wait_for("one more", lambda n=name, w=wire: host.apply(path_of(SPACE, n), w))
            wait_for("the new version to lead", new.terms)
            host.apply(path_of(SPACE, names[0]), deployment(names[0], SPACE, 3))
            for member in members.values():
                wait_for("all of them", lambda m=member: set(names) <= uids(m).keys())
                wait_for("a change", lambda m=member: replicas_in(m, SPACE, names[0]) == 3)
            assert before.items() <= uids(members["m1"]).items()
            assert new.stop() == 0, new.said()
