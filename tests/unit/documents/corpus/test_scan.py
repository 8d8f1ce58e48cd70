"""What a folder holds: files by address, and a clear sentence for everything that is not used."""

import os
from pathlib import Path

import pytest

from deep_research.documents.corpus.port import Skipped, Survey
from deep_research.documents.corpus.scan import (
    Scan,
    ScannedFile,
    check_documents,
    locate,
    require_documents,
    scan_folder,
)
from deep_research.errors import InputError, SourceError


def _write(root: Path, *names: str) -> None:
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("Some text.")


def _scan(root: Path) -> tuple[list[str], Scan]:
    taken: list[ScannedFile] = []
    scan = scan_folder(root, taken.append)
    return sorted(entry.address for entry in taken), scan


def _addresses(root: Path) -> list[str]:
    return _scan(root)[0]


def test_files_are_found_below_the_folder(tmp_path):
    _write(tmp_path, "b.md", "a/c.txt", "a/b/年报.HTML", "Z.md")
    assert _addresses(tmp_path) == ["Z.md", "a/b/年报.HTML", "a/c.txt", "b.md"]


def test_hidden_files_and_folders_of_programs_are_passed_over_in_silence(tmp_path):
    _write(tmp_path, ".git/x.md", "node_modules/y.md", "__pycache__/z.md", ".venv/v.md", ".hidden.md", "~$open.docx")
    assert _scan(tmp_path) == ([], (0, []))


def test_unknown_endings_are_counted_and_listed_with_the_fix(tmp_path):
    _write(tmp_path, "a.md", "photo.jpg", "README")
    _, scan = _scan(tmp_path)
    assert scan.files == 3
    assert [one.address for one in scan.skipped] == ["README", "photo.jpg"]
    assert all("convert it to one of .txt" in one.reason for one in scan.skipped)


def test_of_many_files_with_one_unknown_ending_some_are_listed_and_the_rest_counted(tmp_path):
    _write(tmp_path, *(f"{n}.jpg" for n in range(50)), "a.xyz")
    _, scan = _scan(tmp_path)
    assert scan.files == 51
    assert len(scan.skipped) == 22
    (rest,) = [one for one in scan.skipped if one.address == "*.jpg"]
    assert rest.reason.startswith("30 more files ending in .jpg are not listed; convert it to one of .txt")


def test_links_that_leave_the_folder_are_not_followed_and_reported(tmp_path):
    _write(tmp_path, "outside/secret.md", "docs/a.md")
    docs = tmp_path / "docs"
    (docs / "file.md").symlink_to(tmp_path / "outside" / "secret.md")
    (docs / "folder").symlink_to(tmp_path / "outside")
    (docs / "above").symlink_to("..")
    addresses, scan = _scan(docs)
    assert addresses == ["a.md"]
    assert [one.address for one in scan.skipped] == ["above", "file.md", "folder"]
    assert all("leaves the folder" in one.reason for one in scan.skipped)


def test_a_folder_beside_it_with_a_longer_name_is_outside(tmp_path):
    _write(tmp_path, "docs/a.md", "docs-private/b.md")
    (tmp_path / "docs" / "link").symlink_to(tmp_path / "docs-private")
    assert _addresses(tmp_path / "docs") == ["a.md"]


def test_links_inside_are_followed_once_and_loops_end(tmp_path):
    _write(tmp_path, "a/x.md", ".store/kept.md")
    (tmp_path / "again").symlink_to("a")
    (tmp_path / "a" / "up").symlink_to("..")
    (tmp_path / "one").symlink_to("two")
    (tmp_path / "two").symlink_to("one")
    (tmp_path / "gone.md").symlink_to("nowhere.md")
    (tmp_path / "kept.md").symlink_to(".store/kept.md")
    (tmp_path / "shelf").symlink_to(".store")
    addresses, scan = _scan(tmp_path)
    assert addresses == ["a/x.md", "kept.md", "shelf/kept.md"]
    assert [one.address for one in scan.skipped] == ["gone.md", "one", "two"]


def test_a_pipe_is_reported_and_never_opened(tmp_path):
    os.mkfifo(tmp_path / "pipe.txt")
    addresses, scan = _scan(tmp_path)
    assert addresses == []
    assert scan.skipped == [Skipped(address="pipe.txt", reason="'pipe.txt' is not a regular file; remove it.")]


def test_names_with_newlines_and_bytes_that_are_not_utf8_get_printable_addresses(tmp_path):
    _write(tmp_path, "two\nlines.md")
    Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff\xfe.md")).write_text("x")
    assert _addresses(tmp_path) == ["%FF%FE.md", "two%0Alines.md"]


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("missing", "There is no folder"),
        ("file.foo", "has a name that no reader knows"),
        ("nul\0", "There is no folder"),
    ],
)
def test_what_is_no_folder_is_refused_with_the_fix(tmp_path, name, words):
    _write(tmp_path, "file.foo")
    with pytest.raises(InputError, match=words) as caught:
        check_documents(tmp_path / name)
    assert caught.value.exit_code == 65
    assert "\0" not in str(caught.value)


def test_a_folder_is_accepted(tmp_path):
    check_documents(tmp_path)


def test_an_empty_folder_is_refused_and_a_folder_of_broken_files_says_what_is_wrong(tmp_path):
    with pytest.raises(InputError, match="holds no documents: put files"):
        require_documents(Survey(files=0, indexed=0), tmp_path)
    broken = Skipped(address="a.pdf", reason="'a.pdf' is damaged; export it again.")
    with pytest.raises(InputError, match=r"the first of 1: 'a\.pdf' is damaged"):
        require_documents(Survey(files=1, indexed=0, skipped=(broken,)), tmp_path)
    require_documents(Survey(files=1, indexed=1), tmp_path)


def test_a_file_stands_for_a_folder_that_holds_nothing_else(tmp_path):
    _write(tmp_path, "one.md")
    _write(tmp_path, "two.md")
    only = tmp_path / "one.md"
    assert _addresses(only) == ["one.md"]
    assert locate(only, "one.md") == ("one.md", only)
    for address in ("two.md", "../one.md", "one.md/two.md"):
        with pytest.raises(SourceError):
            locate(only, address)
    only.unlink()
    with pytest.raises(SourceError, match="cannot be found"):
        locate(only, "one.md")


def test_a_hidden_file_is_read_if_it_is_named(tmp_path):
    _write(tmp_path, ".notes.md")
    assert _addresses(tmp_path / ".notes.md") == [".notes.md"]
    assert locate(tmp_path / ".notes.md", ".notes.md")[0] == ".notes.md"
