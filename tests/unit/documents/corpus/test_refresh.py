"""A refresh reads what is new, once; forgets what is gone; and leaves the same index as a fresh one."""

import asyncio
import multiprocessing
import os
import sqlite3
import tracemalloc
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest

from deep_research.documents.corpus import index
from deep_research.documents.corpus.folder import FolderCorpus, open_index
from deep_research.documents.corpus.refresh import refresh
from deep_research.documents.corpus.sqlite_index import IndexFile
from deep_research.documents.corpus.stored import FolderFiles
from deep_research.documents.readers.versions import EXTRACTOR_VERSIONS, extractor_of
from deep_research.errors import InputError, SourceError

EXAMPLES = Path(__file__).parents[4] / "examples" / "documents"


async def _found(corpus: FolderCorpus, query: str) -> list[str]:
    return [hit.address for hit in await corpus.search(query, limit=20)]


def _touch(path: Path, seconds: int) -> None:
    os.utime(path, ns=(0, path.stat().st_mtime_ns + seconds * 10**9))


async def test_the_example_documents_are_indexed_and_the_broken_one_is_reported(tmp_path):
    corpus = FolderCorpus(EXAMPLES, index=tmp_path / "corpus.db")
    survey = await corpus.refresh()
    assert (survey.files, survey.indexed, survey.read_now) == (22, 21, 22)
    assert [one.address for one in survey.skipped] == ["audit-letter-truncated.pdf"]
    again = await corpus.refresh()
    assert again == survey.model_copy(update={"read_now": 0})
    await corpus.close()


async def test_a_changed_file_is_read_alone(corpus, docs, write):
    write(a="Apples are red.", b="Bananas are yellow.", c="Cherries are dark.")
    assert (await corpus.refresh()).read_now == 3
    write(b="Blueberries are round.")
    _touch(docs / "b.md", 10)
    assert (await corpus.refresh()).read_now == 1
    assert await _found(corpus, "blueberries") == ["b.md"]
    assert await _found(corpus, "bananas") == []


async def test_a_file_that_was_only_touched_is_not_read_again(corpus, docs, write):
    write(a="Apples are red.")
    await corpus.refresh()
    _touch(docs / "a.md", 10)
    assert (await corpus.refresh()).read_now == 0


async def test_a_removed_file_disappears(corpus, docs, write):
    write(a="Apples are red.", b="Bananas are yellow.")
    await corpus.refresh()
    (docs / "a.md").unlink()
    survey = await corpus.refresh()
    assert (survey.files, survey.indexed, survey.removed, survey.read_now) == (1, 1, 1, 0)
    assert await _found(corpus, "apples") == []
    with pytest.raises(SourceError, match="not in the index"):
        await corpus.passages("a.md")


async def test_a_renamed_file_is_not_read_again(corpus, docs, write):
    write(a="Apples are red.", b="# Bananas\n\nBananas are yellow.")
    await corpus.refresh()
    (docs / "sub").mkdir()
    (docs / "a.md").rename(docs / "sub" / "cherries.md")
    (docs / "b.md").rename(docs / "0.md")
    survey = await corpus.refresh()
    assert (survey.files, survey.indexed, survey.removed, survey.read_now) == (2, 2, 2, 0)
    hits = {hit.address: hit.title for hit in await corpus.search("apples bananas", limit=5)}
    assert hits == {"0.md": "Bananas", "sub/cherries.md": "cherries"}
    # A title that is the name of the file is found by the new name, and no longer by the old one.
    assert await _found(corpus, "cherries") == ["sub/cherries.md"]
    assert await _found(corpus, "b") == []


async def test_the_same_content_is_indexed_once_under_the_first_address(corpus, docs, write):
    write(b="Apples are red.", c="Apples are red.")
    survey = await corpus.refresh()
    assert (survey.files, survey.indexed, survey.read_now) == (2, 1, 1)
    assert await _found(corpus, "apples") == ["b.md"]
    assert [passage.address for passage in await corpus.passages("c.md")] == ["c.md"]
    write(a="Apples are red.")
    await corpus.refresh()
    assert await _found(corpus, "apples") == ["a.md"]
    (docs / "a.md").unlink()
    (docs / "b.md").unlink()
    assert (await corpus.refresh()).indexed == 1
    assert await _found(corpus, "apples") == ["c.md"]


async def test_the_same_bytes_under_another_ending_are_another_document(corpus, docs):
    for name in ("a.md", "a.txt"):
        (docs / name).write_text("# Apples\n\nApples are **red**.")
    await corpus.refresh()
    texts = {hit.address: hit.text for hit in await corpus.search("apples", limit=5)}
    assert texts == {"a.md": "Apples\n\nApples are red.", "a.txt": "Apples\n\nApples are **red**."}


async def test_a_broken_file_is_reported_each_time_and_read_once(corpus, docs, write):
    (docs / "broken.pdf").write_bytes(b"%PDF-1.7 and nothing more")
    (docs / "empty.txt").write_bytes(b"")
    (docs / "picture.md").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(50))
    write(a="Apples are red.")
    first, second = await corpus.refresh(), await corpus.refresh()
    assert [one.address for one in first.skipped] == ["broken.pdf", "empty.txt", "picture.md"]
    assert second.skipped == first.skipped
    assert (first.indexed, first.read_now, second.read_now) == (1, 4, 0)
    (docs / "broken.pdf").write_text("Now it is text about pears.")
    mended = await corpus.refresh()
    assert (mended.read_now, mended.indexed) == (1, 2)
    assert [(one.address, "holds text" in one.remark) for one in mended.remarks] == [("broken.pdf", True)]


async def test_many_changes_leave_the_index_of_a_fresh_start(docs, write, tmp_path):
    worn = FolderCorpus(docs, index=tmp_path / "worn.db")
    for turn in range(4):
        write(**{f"file{n}": f"# Title {n}\n\nApples of turn {turn * (n % 3)} in box {n}." for n in range(6 + turn)})
        for path in docs.iterdir():
            _touch(path, 10 * (turn + 1))
        (docs / f"file{turn}.md").unlink()
        await worn.refresh()
    fresh = FolderCorpus(docs, index=tmp_path / "fresh.db")
    await fresh.refresh()
    for query in ("apples box", "title 5", "turn 3", "turn 0 box 7"):
        assert await worn.search(query, limit=50) == await fresh.search(query, limit=50)
    assert await worn.frequencies(["appl", "turn", "3"]) == await fresh.frequencies(["appl", "turn", "3"])
    for made in (worn, fresh):
        await made.close()
    with sqlite3.connect(tmp_path / "worn.db") as file:
        file.execute("INSERT INTO terms_1(terms_1) VALUES ('integrity-check')")
    file.close()


async def test_a_file_that_changes_while_it_is_read_is_read_again(corpus, docs, write, monkeypatch):
    write(a="Apples are red.")
    before = os.fstat

    def grow_after(descriptor):
        status = before(descriptor)
        (docs / "a.md").write_text("Apples are red. Pears were added meanwhile.")
        return status

    monkeypatch.setattr(os, "fstat", grow_after)
    await corpus.refresh()
    monkeypatch.undo()
    assert (await corpus.refresh()).read_now == 1
    assert await _found(corpus, "pears") == ["a.md"]


def test_noting_a_folder_takes_no_more_memory_for_ten_times_the_files(tmp_path):
    # In a process of its own: what threads of other tests hold is not counted.
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as alone:
        few, many = (alone.submit(_peak_of_noting, tmp_path / str(count), count).result() for count in (400, 4_000))
    assert many < 1.5 * few


def _peak_of_noting(folder, count):
    folder.mkdir()
    for n in range(count):
        (folder / f"{n}.md").touch()
    with closing(open_index(folder.with_suffix(".db"))) as index:
        tracemalloc.start()
        refresh("docs", FolderFiles(folder), index, lambda done, total, address: None, lambda: True)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    return peak


async def test_folders_in_one_index_do_not_change_each_other(tmp_path):
    one, two = tmp_path / "one", tmp_path / "two"
    for number, folder in enumerate((one, two)):
        folder.mkdir()
        for n in range(4 + 20 * number):
            (folder / f"{n}.md").write_text(f"Apples and {'pears' if n % 2 else 'plums'} {n}.")
    first, second = (FolderCorpus(folder, index=tmp_path / "corpus.db") for folder in (one, two))
    await first.refresh()
    alone = await first.search("pears 3", limit=10)
    await second.refresh()
    assert await first.search("pears 3", limit=10) == alone
    assert (await first.frequencies(["pear"]), await second.frequencies(["pear"])) == (
        (4, {"pear": 2}),
        (24, {"pear": 12}),
    )
    await first.close()
    await second.close()


async def test_progress_is_told_on_the_event_loop_for_each_file_that_is_read(corpus, write):
    write(a="Apples.", b="Bananas.")
    told = []

    def note(done, total, address):
        asyncio.get_running_loop()
        told.append((done, total, address))

    await corpus.refresh(note)
    assert told == [(0, 2, "a.md"), (1, 2, "b.md"), (2, 2, "")]


async def test_a_folder_that_vanished_is_an_input_error_and_costs_nothing_in_the_index(corpus, docs, write):
    write(a="Apples are red.")
    await corpus.refresh()
    docs.rename(docs.with_name("elsewhere"))
    with pytest.raises(InputError, match="There is no folder"):
        await corpus.refresh()
    docs.with_name("elsewhere").rename(docs)
    assert (await corpus.refresh()).read_now == 0


async def test_searching_before_the_first_refresh_is_an_error_that_says_so(corpus):
    with pytest.raises(SourceError, match="refresh it first"):
        await corpus.search("apples", limit=3)


async def test_an_index_that_another_process_is_making_anew_is_waited_for(docs, tmp_path, monkeypatch):
    make_ready, failures = IndexFile.make_ready, iter([1])

    def moved_once(file: IndexFile, connection: sqlite3.Connection) -> None:
        if next(failures, None):
            error = sqlite3.OperationalError("attempt to write a readonly database")
            error.sqlite_errorcode = sqlite3.SQLITE_READONLY_DBMOVED
            raise error
        make_ready(file, connection)

    monkeypatch.setattr(IndexFile, "make_ready", moved_once)
    corpus = FolderCorpus(docs, index=tmp_path / "index.db")
    assert (await corpus.refresh()).files == 0
    await corpus.close()


async def test_a_file_that_is_no_index_is_put_aside(docs, write, tmp_path):
    write(a="Apples are red.")
    path = tmp_path / "corpus.db"
    path.write_text("something of the user's, not a database " * 100)
    corpus = FolderCorpus(docs, index=path)
    assert (await corpus.refresh()).indexed == 1
    await corpus.close()
    assert (tmp_path / "corpus.db.damaged").read_text().startswith("something of the user's")


async def test_a_database_of_something_else_is_put_aside(docs, write, tmp_path):
    write(a="Apples are red.")
    with sqlite3.connect(tmp_path / "corpus.db") as other:
        other.execute("CREATE TABLE precious (thing)")
    other.close()
    corpus = FolderCorpus(docs, index=tmp_path / "corpus.db")
    assert (await corpus.refresh()).indexed == 1
    await corpus.close()
    with sqlite3.connect(tmp_path / "corpus.db.damaged") as other:
        assert other.execute("SELECT count(*) FROM precious").fetchone() == (0,)
    other.close()


async def test_an_index_that_other_code_made_is_built_anew(corpus, write, tmp_path):
    write(a="Apples are red.")
    await corpus.refresh()
    await corpus.close()
    path = tmp_path / "state" / "corpus.db"
    with sqlite3.connect(path) as file:
        file.execute("UPDATE maker SET code = 'older'")
    file.close()
    renewed = FolderCorpus(corpus.folder, index=path)
    assert (await renewed.refresh()).read_now == 1
    assert await _found(renewed, "apples") == ["a.md"]
    await renewed.close()


@pytest.fixture
def raise_version(monkeypatch) -> Iterator[Callable[[str], None]]:
    """Return what raises the version of an extractor, or of the analyzer, as another release would."""

    def raised(name: str) -> None:
        if name == "analyzer":
            monkeypatch.setattr(index, "ANALYZER_VERSION", 99)
        elif name:
            monkeypatch.setitem(EXTRACTOR_VERSIONS, name, 99)
        extractor_of.cache_clear()
        index.index_version.cache_clear()

    yield raised
    monkeypatch.undo()
    raised("")


@pytest.mark.parametrize(("raised", "read_now"), [("", 0), ("html", 1), ("analyzer", 1)])
async def test_an_index_is_valid_for_as_long_as_its_versions_are(
    corpus, write, tmp_path, raise_version, raised, read_now
):
    write(a="Apples are red.")
    await corpus.refresh()
    await corpus.close()
    raise_version(raised)
    later = FolderCorpus(corpus.folder, index=tmp_path / "state" / "corpus.db")
    assert (await later.refresh()).read_now == read_now
    assert (await later.refresh()).read_now == 0
    await later.close()


def test_what_made_an_index_is_told_by_versions_and_by_no_source():
    names = {part.partition("/")[0] for part in index.index_version().replace("+", " ").split()}
    packages = {"snowballstemmer", "PyStemmer", "opencc", "lxml"}
    packages |= {"trafilatura", "pypdfium2", "python-docx", "python-pptx", "openpyxl"}
    assert names == {"index", "analyzer", *EXTRACTOR_VERSIONS, *packages}


async def test_the_index_is_no_larger_than_three_and_a_half_times_the_text(tmp_path):
    docs = tmp_path / "docs"
    docs.mkdir()
    sample = (EXAMPLES / "qinglan-opinion.md").read_text() + (EXAMPLES / "measured-performance-2025.md").read_text()
    for n in range(30):
        (docs / f"{n}.md").write_text(f"# {n}\n\n{sample}")
    corpus = FolderCorpus(docs, index=tmp_path / "corpus.db")
    await corpus.refresh()
    await corpus.close()
    text_bytes = sum(path.stat().st_size for path in docs.iterdir())
    assert (tmp_path / "corpus.db").stat().st_size <= 3.5 * text_bytes
