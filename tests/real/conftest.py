"""One text, two worlds: every scenario happens on the embedded plane and on real Kubernetes.

A scenario takes `space`, a namespace of its own, and is calm: all calm ones of a world happen at
once, in threads, and each test waits for its own. One that takes `world` harms what all share, and
happens alone, after them.
"""

import os
import re
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import NoReturn

import pytest

for module in ("plane_api", "world", "embedded_ground", "real_ground"):
    pytest.register_assert_rewrite(module)

from embedded_ground import EmbeddedGround  # noqa: E402
from real_ground import RealGround  # noqa: E402
from world import Space, World  # noqa: E402

from testenv.build import KARMADACTL, find  # noqa: E402
from testenv.errors import Unavailable  # noqa: E402

AT_ONCE = 8
PATIENCE_S = 900  # for one test and the start of its world, on a machine that others use too
HERE = Path(__file__).parent
GROUNDS = {"embedded": EmbeddedGround, "real": RealGround}

_begun: dict[str, Future[None]] = {}


@pytest.fixture(scope="session", params=list(GROUNDS))
def world(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[World]:
    """A plane with three members."""
    ground = GROUNDS[request.param](tmp_path_factory.mktemp(request.param))
    with ExitStack() as opened:
        opened.callback(ground.close)
        try:
            ground.start()
        except Unavailable as missing:
            _go_without(missing)
        made = World(ground, tmp_path_factory.mktemp("home"), _tool)
        opened.callback(made.close)
        made.populate()
        yield made


def _tool(name: str) -> Path:
    try:
        return find(KARMADACTL).directory / name if name == "karmadactl" else find().kubectl
    except Unavailable as missing:
        _go_without(missing)


def _go_without(missing: Unavailable) -> NoReturn:
    if os.environ.get("ATOLL_REQUIRE_TESTENV") == "1":
        pytest.fail(str(missing), pytrace=False)
    pytest.skip(str(missing))


@pytest.fixture
def space(world: World) -> Space:
    """A place that is made when the scenario begins, by whoever begins it."""
    return world.space("unused")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Within a world, what is calm comes first."""
    places = [index for index, item in enumerate(items) if _is_ours(item)]
    ours = sorted((items[index] for index in places), key=_turn)
    for index, item in zip(places, ours, strict=True):
        item.add_marker(pytest.mark.timeout(PATIENCE_S))
        items[index] = item


def _is_ours(item: pytest.Item) -> bool:
    return HERE in item.path.parents


def _turn(item: pytest.Item) -> tuple[int, bool]:
    assert isinstance(item, pytest.Function)
    return list(GROUNDS).index(item.callspec.params["world"]), not _is_calm(item)


def _is_calm(item: pytest.Item) -> bool:
    return "space" in getattr(item, "fixturenames", ())


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Wait for a calm scenario, having begun all of its world if this is the first."""
    if not _is_ours(pyfuncitem) or not _is_calm(pyfuncitem):
        return None
    if pyfuncitem.nodeid not in _begun:
        _begin(pyfuncitem)
    _begun[pyfuncitem.nodeid].result()
    return True


def _begin(first: pytest.Function) -> None:
    ground = first.callspec.params["world"]
    world: World = first.funcargs["world"]
    pool = ThreadPoolExecutor(AT_ONCE)
    first.session.config.add_cleanup(lambda: pool.shutdown(cancel_futures=True))
    calm = [each for each in first.session.items if _is_ours(each) and _is_calm(each)]
    for item in calm:
        assert isinstance(item, pytest.Function)
        if item.callspec.params["world"] == ground:
            _begun[item.nodeid] = pool.submit(_happen, item, world)


def _happen(item: pytest.Function, world: World) -> None:
    about = re.sub(r"[^a-z0-9]+", "-", item.name.removeprefix("test_").lower())
    space = world.space(about[:40].strip("-"))
    given = {**item.callspec.params, "world": world, "space": space}
    space.open()
    item.obj(**{name: given[name] for name in item._fixtureinfo.argnames})
    space.close()
