"""What is noted of a server's credentials, and who makes them where the note does not fit."""

import os
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from atoll.apiserver.certificates import ensure_credentials
from atoll.apiserver.credentials import Credentials, is_known_good
from atoll.apiserver.renewal import kept_credentials, make_elsewhere, make_here
from atoll.errors import Damaged

NOW = datetime.now(UTC)


def nobody(_directory: Path, _now: datetime, _names: Sequence[str]) -> None:
    raise AssertionError("there is nothing to be made")


@pytest.mark.parametrize("make", [make_here, make_elsewhere])
def test_what_was_made_once_is_not_looked_at_again(
    make: Callable[[Path, datetime, Sequence[str]], None], tmp_path: Path
) -> None:
    made = kept_credentials(tmp_path / "pki", NOW, ["10.1.2.3"], make)
    assert all(path.read_bytes() for path in made.all)
    later = NOW + timedelta(days=200)
    assert kept_credentials(tmp_path / "pki", later, ["10.1.2.3", "localhost"], nobody) == made


def _spoil(name: str) -> Callable[[Credentials], None]:
    return lambda known: (known.directory / name).write_bytes(b"other")


def _remove(name: str) -> Callable[[Credentials], None]:
    return lambda known: (known.directory / name).unlink()


@pytest.mark.parametrize(
    ("change", "now", "names"),
    [
        pytest.param(_spoil("server.crt"), NOW, (), id="another-certificate"),
        pytest.param(_spoil("server.key"), NOW, (), id="another-key"),
        pytest.param(_remove("admin.token"), NOW, (), id="no-token"),
        pytest.param(_spoil("good.json"), NOW, (), id="a-note-that-cannot-be-read"),
        pytest.param(_remove("good.json"), NOW, (), id="no-note"),
        pytest.param(None, NOW + timedelta(days=300), (), id="near-the-end"),
        pytest.param(None, NOW - timedelta(days=2), (), id="before-the-beginning"),
        pytest.param(None, NOW, ("plane.example",), id="another-name"),
    ],
)
def test_a_note_that_does_not_fit_is_not_believed(
    change: Callable[[Credentials], None] | None,
    now: datetime,
    names: Sequence[str],
    tmp_path: Path,
) -> None:
    known = ensure_credentials(tmp_path, NOW)
    assert is_known_good(known, NOW, ())
    if change is not None:
        change(known)
    assert not is_known_good(known, now, names)
    ensure_credentials(tmp_path, now, more_names=names)
    assert is_known_good(known, now, names)


def test_another_process_tells_what_is_damaged(tmp_path: Path) -> None:
    ensure_credentials(tmp_path, NOW).ca.write_bytes(b"garbage")
    with pytest.raises(Damaged, match=r"^the CA in .* cannot be read"):
        make_elsewhere(tmp_path, NOW, ())


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_another_process_tells_where_it_may_not_write(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(PermissionError) as raised:
        make_elsewhere(tmp_path / "pki", NOW, ())
    assert raised.value.filename == str(tmp_path / "pki")


def test_another_process_tells_what_is_in_its_way(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(NotADirectoryError) as raised:
        make_elsewhere(tmp_path / "file" / "pki", NOW, ())
    assert raised.value.filename == str(tmp_path / "file" / "pki")
