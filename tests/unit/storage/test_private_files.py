"""What is ours is for its owner only, whatever the umask; what is somebody else's is left alone."""

import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from deep_research.storage.private_files import HOME_FILES, is_open_to_others, make_folder, opener, tighten_files

pytestmark = pytest.mark.skipif(os.name != "posix", reason="there are no such rights here")


@pytest.fixture(params=[0o000, 0o777], ids=["everything", "nothing"])
def umask(request: pytest.FixtureRequest) -> Iterator[int]:
    before = os.umask(request.param)
    yield request.param
    os.umask(before)


def _rights(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_new_folders_and_files_are_for_their_owner_whatever_is_usual(tmp_path, umask):
    make_folder(tmp_path / "a" / "b", ours=HOME_FILES)
    with open(tmp_path / "a" / "b" / "file", "w", opener=opener) as file:
        file.write("text")
    assert [_rights(tmp_path / name) for name in ("a", "a/b", "a/b/file")] == [0o700, 0o700, 0o600]


@pytest.mark.parametrize(
    ("names", "ours", "rights"),
    [
        ([], HOME_FILES, 0o700),
        (["store.db", "store.db-wal", "index.db.damaged", "config.toml"], HOME_FILES, 0o700),
        (["store.db", "notes.txt"], HOME_FILES, 0o755),
        (["my store.db"], HOME_FILES, 0o755),
        (["store.db"], None, 0o755),
        (["anything"], re.compile(".*"), 0o700),
    ],
)
def test_a_folder_is_closed_to_others_only_if_all_in_it_is_ours(tmp_path, names, ours, rights):
    folder = tmp_path / "folder"
    folder.mkdir()
    folder.chmod(0o755)
    for name in names:
        (folder / name).touch()
    make_folder(folder, ours=ours)
    assert _rights(folder) == rights
    assert is_open_to_others(folder) is (rights != 0o700)


def test_a_folder_that_all_users_share_is_left_alone(tmp_path):
    folder = tmp_path / "shared"
    folder.mkdir()
    folder.chmod(0o1777)
    make_folder(folder, ours=HOME_FILES)
    assert _rights(folder) == 0o1777


def test_files_are_tightened_where_they_are(tmp_path):
    (tmp_path / "store.db").touch(mode=0o644)
    tighten_files([tmp_path / "store.db", tmp_path / "store.db-wal"])
    assert _rights(tmp_path / "store.db") == 0o600


def test_a_file_in_the_way_of_a_folder_is_an_error(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(FileExistsError):
        make_folder(tmp_path / "file", ours=HOME_FILES)
