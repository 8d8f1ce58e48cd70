"""A folder of documents under bad luck: other processes, kill -9, files nobody may read, names nobody should choose."""

import asyncio
import json
import os
import resource
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from deep_research.documents.corpus.folder import FolderCorpus
from deep_research.documents.corpus.scan import check_documents, require_documents
from deep_research.documents.corpus.search import CorpusSearch
from deep_research.documents.corpus.stored import FolderFiles
from deep_research.errors import CannotWrite, InputError
from deep_research.report.sources.hit import SearchQuery
from deep_research.wiring.documents import FileFetcher
from tests.unit.documents.readers.hostile_files import hungry_pdf, lying_zip
from tests.unit.documents.readers.pdf_files import make_pdf, make_protected_pdf

FILES = 120
NOBODY = 65534
QUERIES = ("harbour ferry timetable", "渡轮时刻表", "number 77", "winter")


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    return _fill(tmp_path / "docs")


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """Return a folder that a user without rights can reach, which pytest's own are not."""
    folder = Path(tempfile.mkdtemp(prefix="corpus-"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


def _fill(folder: Path) -> Path:
    folder.mkdir()
    for n in range(FILES):
        season = ("spring", "summer", "autumn", "winter")[n % 4]
        text = f"# Harbour {n}\n\nThe ferry timetable number {n} holds in {season}. 渡轮时刻表第{n}号。\n\n"
        (folder / f"{n:03}.md").write_text(text + "More is said about it here. " * n, encoding="utf-8")
    return folder


def _spawn(act: str, docs: Path, index: Path, *, kill_at: int = -1) -> subprocess.Popen[str]:
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    command = [sys.executable, __file__, act, str(docs), str(index), str(kill_at)]
    return subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


async def _answers(docs: Path, index: Path) -> list[object]:
    """Return what an index says, after a check that it holds together."""
    corpus = FolderCorpus(docs, index=index)
    found = [await corpus.search(query, limit=200) for query in QUERIES]
    counts = await corpus.frequencies(["ferri", "winter", "渡轮", "77"])
    await corpus.close()
    with sqlite3.connect(index) as file:
        file.execute("INSERT INTO terms_1(terms_1) VALUES ('integrity-check')")
        assert file.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    file.close()
    return [found, counts]


async def _fresh_answers(docs: Path, index: Path) -> list[object]:
    corpus = FolderCorpus(docs, index=index)
    await corpus.refresh()
    await corpus.close()
    return await _answers(docs, index)


@pytest.mark.long
async def test_three_processes_refresh_at_once_and_leave_one_good_index(docs, tmp_path):
    children = [_spawn("refresh", docs, tmp_path / "shared.db") for _ in range(3)]
    shown = [await asyncio.to_thread(child.communicate) for child in children]
    assert [child.returncode for child in children] == [0, 0, 0], shown
    assert {json.loads(out.splitlines()[-1])["indexed"] for out, _ in shown} == {FILES}
    assert await _answers(docs, tmp_path / "shared.db") == await _fresh_answers(docs, tmp_path / "fresh.db")


@pytest.mark.parametrize("file", [5, *(pytest.param(file, marks=pytest.mark.long) for file in (0, 40, 100))])
async def test_a_refresh_killed_anywhere_is_finished_by_the_next(docs, tmp_path, file):
    index = tmp_path / "killed.db"
    child = _spawn("refresh", docs, index, kill_at=file)
    await asyncio.to_thread(child.communicate)
    assert child.returncode == -signal.SIGKILL
    corpus = FolderCorpus(docs, index=index)
    survey = await corpus.refresh()
    await corpus.close()
    assert survey.indexed == FILES
    assert survey.read_now <= FILES - file
    assert await _answers(docs, index) == await _fresh_answers(docs, tmp_path / "fresh.db")


@pytest.mark.long
async def test_memory_does_not_grow_with_the_folder(tmp_path):
    peaks = []
    for count in (300, 3_000):
        folder = tmp_path / str(count)
        folder.mkdir()
        for n in range(count):
            (folder / f"{n}.md").write_text(
                f"# Note {n}\n\nThe ferry number {n} leaves the harbour at {n % 24} o'clock."
            )
        child = _spawn("weighed", folder, tmp_path / f"{count}.db")
        out, complaint = await asyncio.to_thread(child.communicate)
        assert child.returncode == 0, complaint
        peaks.append(int(out.splitlines()[-1]))
    assert peaks[1] < 1.2 * peaks[0]


@pytest.mark.long
async def test_searches_go_on_while_another_process_refreshes(docs, tmp_path):
    index = tmp_path / "shared.db"
    corpus = FolderCorpus(docs, index=index)
    await corpus.refresh()
    for path in docs.iterdir():
        path.write_text(path.read_text() + "And a word about tides.")
    child = _spawn("refresh", docs, index)
    searches = 0
    while child.poll() is None:
        assert len(await corpus.search("ferry timetable", limit=10)) == 10
        searches += 1
    assert child.communicate()[1] == ""
    assert searches > 5
    assert len({hit.address for hit in await corpus.search("tides", limit=400)}) == FILES
    await corpus.close()


async def test_a_cancelled_refresh_stops_between_two_files_and_the_next_goes_on(docs, tmp_path):
    corpus = FolderCorpus(docs, index=tmp_path / "corpus.db")

    def give_up(done: int, total: int, address: str) -> None:
        if done == 10:
            task.cancel()

    task = asyncio.create_task(corpus.refresh(give_up))
    with pytest.raises(asyncio.CancelledError):
        await task
    survey = await corpus.refresh()
    assert survey.indexed == FILES
    assert survey.read_now > 0
    await corpus.close()


async def test_files_and_folders_nobody_may_read_are_reported_and_the_rest_is_used(open_folder):
    docs = open_folder / "docs"
    (docs / "closed").mkdir(parents=True)
    for name in ("good.md", "secret.md", "closed/inside.md"):
        (docs / name).write_text("Ferries run daily.")
    (docs / "secret.md").chmod(0)
    (docs / "closed").chmod(0)
    child = _spawn("unprivileged", docs, open_folder / "state" / "corpus.db")
    out, complaint = await asyncio.to_thread(child.communicate)
    assert child.returncode == 0, complaint
    survey = json.loads(out.splitlines()[-1])
    (docs / "closed").chmod(0o755)
    assert survey["indexed"] == 1
    assert [one["address"] for one in survey["skipped"]] == ["closed", "secret.md"]
    assert "right to read" in survey["skipped"][0]["reason"]
    assert "check its rights" in survey["skipped"][1]["reason"]


async def test_a_folder_nobody_may_read_is_an_input_error(open_folder):
    docs = open_folder / "docs"
    docs.mkdir()
    docs.chmod(0)
    child = _spawn("unprivileged", docs, open_folder / "state" / "corpus.db")
    out, _ = await asyncio.to_thread(child.communicate)
    docs.chmod(0o755)
    assert child.returncode == InputError.exit_code
    assert "give yourself the right to read it" in out


async def test_hostile_content_costs_its_own_file(tmp_path):
    docs = tmp_path / "docs"
    docs.mkdir()
    page = "<html><body><h1>Ferries&#8;</h1><p>Ferries&#27;[2J run&#8; daily.</p></body></html>"
    (docs / "a.html").write_text(page)
    (docs / "b.pdf").write_bytes(hungry_pdf())
    (docs / "c.docx").write_bytes(lying_zip("word/document.xml", 1_000_000))
    (docs / "d.pdf").write_bytes(make_pdf([["Ferries \x1b[31mrun\x1b[0m daily\u202e."]]))
    corpus = FolderCorpus(docs, index=tmp_path / "corpus.db")
    survey = await corpus.refresh()
    assert [one.address for one in survey.skipped] == ["b.pdf", "c.docx"]
    hits = {hit.address: hit for hit in await corpus.search("ferries daily", limit=10)}
    assert {address: hit.text.splitlines()[-1] for address, hit in hits.items()} == {
        "a.html": "Ferries run daily.",
        "d.pdf": "Ferries run daily.",
    }
    await corpus.close()


async def test_hostile_names_can_be_searched_and_fetched(tmp_path):
    docs = tmp_path / "docs"
    docs.mkdir()
    names = [b"two\nlines.md", b"\xff\xfe\xc4\xea.md", b" spaces .md", b"50%.md", b"http:", "年报（终稿）.md".encode()]
    for number, name in enumerate(names):
        path = Path(os.fsdecode(os.fsencode(docs) + b"/" + name))
        if name == b"http:":
            path.mkdir()
            path /= "a.md"
        path.write_text(f"Ferries of list {number} run daily.")
    corpus = FolderCorpus(docs, index=tmp_path / "corpus.db")
    survey = await corpus.refresh()
    assert (survey.indexed, survey.skipped) == (len(names), ())
    hits = await CorpusSearch(corpus).search(SearchQuery(query="ferries daily"), limit=10)
    pages = [await FileFetcher(FolderFiles(docs)).fetch(hit.address) for hit in hits]
    assert sorted(page.raw.decode() for page in pages) == [f"Ferries of list {n} run daily." for n in range(len(names))]
    assert [page.address for page in pages] == [hit.address for hit in hits]
    await corpus.close()


async def test_a_folder_with_nothing_usable_says_what_to_do(tmp_path):
    docs = tmp_path / "docs"
    docs.mkdir()
    corpus = FolderCorpus(docs, index=tmp_path / "corpus.db")
    check_documents(docs)
    with pytest.raises(InputError, match="put files into it"):
        require_documents(await corpus.refresh(), docs)
    (docs / "locked.pdf").write_bytes(make_protected_pdf())
    with pytest.raises(InputError, match=r"'locked\.pdf' is protected by a password; save a copy without one"):
        require_documents(await corpus.refresh(), docs)
    await corpus.close()


async def test_an_index_that_cannot_be_written_is_said_in_one_sentence(docs, tmp_path):
    (tmp_path / "corpus.db").mkdir()
    corpus = FolderCorpus(docs, index=tmp_path / "corpus.db")
    with pytest.raises(CannotWrite, match="cannot be written: check its rights"):
        await corpus.refresh()
    (tmp_path / "file").write_text("")
    with pytest.raises(CannotWrite, match="Cannot create the folder"):
        await FolderCorpus(docs, index=tmp_path / "file" / "corpus.db").refresh()
    await corpus.close()


async def _refresh(docs: Path, index: Path, kill_at: int = -1) -> None:
    corpus = FolderCorpus(docs, index=index)

    def die(done: int, total: int, address: str) -> None:
        if done == kill_at:
            os.kill(os.getpid(), signal.SIGKILL)

    survey = await corpus.refresh(die)
    await corpus.close()
    print(json.dumps(survey.to_json()))


def _give_up_rights(index: Path) -> None:
    """Become a user who may not read everything; all modules are loaded first, for they may be out of reach then."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "a.md").write_text("Warm.")
        asyncio.run(_refresh(Path(folder), Path(folder) / "corpus.db"))
    index.parent.mkdir()
    if os.geteuid() == 0:
        os.chown(index.parent, NOBODY, NOBODY)
        os.setegid(NOBODY)
        os.seteuid(NOBODY)


if __name__ == "__main__":
    if sys.argv[1] == "unprivileged":
        _give_up_rights(Path(sys.argv[3]))
    try:
        asyncio.run(_refresh(Path(sys.argv[2]), Path(sys.argv[3]), int(sys.argv[4])))
        if sys.argv[1] == "weighed":
            print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
    except InputError as error:
        print(error)
        sys.exit(error.exit_code)
