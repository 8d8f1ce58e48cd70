"""Home, store, run folders and reports are readable by their owner only; folders of the user's are left as they are."""

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.harness import Lab, User

pytestmark = pytest.mark.skipif(os.name != "posix", reason="there are no such rights here")


@pytest.fixture(autouse=True)
def generous() -> Iterator[None]:
    """Let everybody read what is made without saying for whom."""
    before = os.umask(0o000)
    yield
    os.umask(before)


def _rights(*folders: Path) -> dict[str, int]:
    """Return the rights of folders and of all below them that others than their owner have a right to."""
    paths = [path for folder in folders for path in (folder, *folder.rglob("*"))]
    return {str(path): rights for path in paths if (rights := stat.S_IMODE(path.stat().st_mode)) & 0o077}


def _used(user: User) -> None:
    """Let a user fill everything that is kept: store, cache, index, run folder, reports."""
    (user.folder / "docs").mkdir()
    (user.folder / "docs" / "a.md").write_text("Apples are red.")
    assert Lab(user).ask().status == "done"
    for command in (("corpus", "add", "docs"), ("cache", "show")):
        ended = user.call(*command)
        assert ended.returncode == 0, ended.stderr


def test_everything_that_is_kept_is_for_its_owner_only(tmp_path: Path) -> None:
    user = User(tmp_path / "user")
    _used(user)
    assert {file.name for file in user.home.iterdir()} >= {"store.db", "cache.db", "index.db"}
    assert any((user.folder / "logs" / "reports").iterdir())
    assert _rights(user.home, user.folder / "logs") == {}

    for path in (user.home, *user.home.rglob("*"), *(user.folder / "logs").rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)
    Lab(user).resume(user.only_run().id, retry=True)
    for command in (("corpus", "list"), ("cache", "show"), ("runs", "list")):
        assert user.call(*command).returncode == 0
    assert _rights(user.home, user.folder / "logs") == {}


def test_folders_of_the_user_are_left_as_they_are(tmp_path: Path) -> None:
    user = User(tmp_path / "user")
    own = {name: user.folder / name for name in ("home", "logs", "docs", "out")}
    for folder in own.values():
        folder.mkdir()
    for folder in (own["home"], own["logs"], own["out"]):
        (folder / "notes.txt").write_text("the user's")
    for folder in own.values():
        folder.chmod(0o755)
    (own["docs"] / "a.md").write_text("# Apples\n\nApples are red, and they have been for a long time.")
    report = own["out"] / "report.md"
    ended = user.call("ask", "What colour are apples?", "--docs", "docs", "--assume", "--output", str(report))
    assert ended.returncode in (0, 3), ended.stderr
    assert {name: stat.S_IMODE(folder.stat().st_mode) for name, folder in own.items()} == dict.fromkeys(own, 0o755)
    # Where the user names a file, it is made as the user's programs make files.
    assert stat.S_IMODE(report.stat().st_mode) == 0o666
    loose = _rights(own["home"], own["logs"])
    assert {Path(path).name for path in loose} == {"home", "logs", "notes.txt"}
    said = user.call("doctor").stdout
    assert f"others on this machine can look into it: chmod 700 {own['home']}" in said
