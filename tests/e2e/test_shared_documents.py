"""Documents in PostgreSQL: what one host was given another one searches and quotes, without the first one's disk."""

import asyncio
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from pydantic import SecretStr

pytest.importorskip("psycopg_pool", reason="needs the extra postgres")

from deep_research import resume_run
from deep_research.documents.corpus.folder import FolderCorpus
from deep_research.errors import InputError, SourceGone, StoreCorrupt
from deep_research.service.accounts.identity import Identity
from deep_research.service.documents.documents import Documents
from deep_research.service.moving import copy_home
from deep_research.service.runs.new_run import NewRun
from deep_research.service.service import ResearchService
from deep_research.settings import Settings
from deep_research.storage.database.postgres import PostgresDatabase
from deep_research.wiring.documents import documents_from
from tests.support.server import settings_for

WHO = Identity()
EXAMPLES = Path(__file__).parents[2] / "examples" / "documents"
PAPERS = ("measured-performance-2025.md", "council-closing-report.pdf", "青岚市调蓄池技术说明.md")
FILES = 40


def _host(folder: Path, url: str, docs: Path | None = None) -> Settings:
    return settings_for(folder, database_url=SecretStr(url), docs=docs)


async def _uploaded(documents: Documents, names: tuple[str, ...] = PAPERS) -> str:
    collection = (await documents.create("Papers", WHO)).id
    async with documents.upload(collection, WHO) as upload:
        for name in names:
            await upload.begin(name)
            await upload.write((EXAMPLES / name).read_bytes())
            await upload.end()
        added = await documents.add(collection, upload.files, WHO)
    assert [file.name for file in added.added] == list(names)
    return collection


async def _read_through(documents: Documents, collection: str) -> None:
    while any(file.state == "reading" for file in (await documents.read(collection, WHO)).documents):
        await asyncio.sleep(0.05)
    while (await documents.search(collection, "cost", WHO, limit=1)).is_reading:
        await asyncio.sleep(0.05)


async def test_a_worker_answers_from_what_a_server_was_sent(tmp_path: Path, database_url: str) -> None:
    own = tmp_path / "own"
    own.mkdir()
    shutil.copy(EXAMPLES / "tariff-sheet-2026.txt", own)
    async with ResearchService(_host(tmp_path / "server", database_url, own), at_once=0) as service:
        collection = await _uploaded(service.documents)
        await _read_through(service.documents, collection)
        while not (await service.documents.read("server", WHO)).documents:
            await asyncio.sleep(0.05)
        asked = NewRun(
            question="What did the Harbour Heat project cost, and what is the tariff in 2026?",
            documents=collection,
            shared_documents=True,
        )
        run = (await service.create(asked, WHO)).id
    # Nothing of the first host is left but what the database has.
    assert not list((tmp_path / "server").rglob("*.md"))
    shutil.rmtree(tmp_path / "server")
    shutil.rmtree(own)
    there = _host(tmp_path / "worker", database_url)
    result = await resume_run(run, settings=there)
    cited = {source["address"] for source in result.sources}
    assert "council-closing-report.pdf" in cited
    assert "shared/tariff-sheet-2026.txt" in cited
    documents = documents_from(there.with_changes(docs=f"collection:{collection}"))
    assert documents is not None
    page = await documents.fetcher.fetch(PAPERS[1])
    assert page.raw == (EXAMPLES / PAPERS[1]).read_bytes()
    with pytest.raises(SourceGone):
        await documents.fetcher.fetch("../own/tariff-sheet-2026.txt")
    await documents.corpus.close()


async def test_uploads_of_a_home_are_copied_found_and_quoted(tmp_path: Path, database_url: str) -> None:
    before = settings_for(tmp_path / "files", docs=None)
    asked = "What did the Harbour Heat project cost?"
    async with ResearchService(before, at_once=0) as service:
        collection = await _uploaded(service.documents)
        run = (await service.create(NewRun(question=asked, documents=collection), WHO)).id
    after = _host(tmp_path / "moved", database_url)
    counts = await copy_home(after, before.home)
    assert counts["uploaded files"] == len(PAPERS)
    assert await copy_home(after, before.home) == counts
    # Nothing of the home is needed any longer.
    shutil.rmtree(tmp_path / "files")
    async with ResearchService(after, at_once=0) as service:
        await _read_through(service.documents, collection)
        listed = await service.documents.read(collection, WHO)
        assert {file.name for file in listed.documents} == set(PAPERS)
        assert {file.state for file in listed.documents} == {"ready"}
        found = await service.documents.search(collection, "调蓄池", WHO, limit=3)
        assert PAPERS[2] in {passage.address for passage in found.passages}
        # A run of before the move goes on, and a new one asks the same files.
        new = (await service.create(NewRun(question=asked, documents=collection), WHO)).id
    for each in (run, new):
        result = await resume_run(each, settings=after)
        assert "council-closing-report.pdf" in {source["address"] for source in result.sources}


async def test_an_uploaded_file_that_is_missing_is_named_and_the_copy_can_be_begun_again(
    tmp_path: Path, database_url: str
) -> None:
    before = settings_for(tmp_path / "files", docs=None)
    async with ResearchService(before, at_once=0) as service:
        collection = await _uploaded(service.documents)
    lost = before.uploads_path / collection / PAPERS[0]
    raw = lost.read_bytes()
    lost.unlink()
    after = _host(tmp_path / "moved", database_url)
    with pytest.raises(StoreCorrupt, match=PAPERS[0]):
        await copy_home(after, before.home)
    lost.write_bytes(raw)
    assert (await copy_home(after, before.home))["uploaded files"] == len(PAPERS)


async def test_what_one_server_deletes_is_gone_for_all(tmp_path: Path, database_url: str) -> None:
    here, there = [ResearchService(_host(tmp_path / name, database_url), at_once=0) for name in ("here", "there")]
    async with here, there:
        collection = await _uploaded(here.documents)
        await _read_through(here.documents, collection)
        question = "调蓄池的容积是多少"
        found = await there.documents.search(collection, question, WHO, limit=5)
        assert found.passages[0].address == PAPERS[2]
        file = next(each for each in (await there.documents.read(collection, WHO)).documents if each.name == PAPERS[2])
        await there.documents.remove_file(collection, file.id, WHO)
        await _read_through(there.documents, collection)
        found = await here.documents.search(collection, question, WHO, limit=5)
        assert PAPERS[2] not in {passage.address for passage in found.passages}
        await here.documents.delete(collection, WHO)
    with pytest.raises(InputError, match="no documents"):
        documents_from(_host(tmp_path / "worker", database_url).with_changes(docs=f"collection:{collection}"))


def _killed_after(files: int, docs: Path, url: str) -> int:
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    return subprocess.run([sys.executable, __file__, str(docs), url, str(files)], env=env, check=False).returncode


@pytest.mark.long
async def test_an_indexing_that_is_killed_again_and_again_is_finished_by_another_host(tmp_path, database_url):
    docs = tmp_path / "docs"
    docs.mkdir()
    for n in range(FILES):
        (docs / f"{n:02}.md").write_text(f"# Ferry {n}\n\nThe ferry number {n} leaves at {n % 24}. 渡轮第{n}号。")
    for files in (3, 11):
        assert await asyncio.to_thread(_killed_after, files, docs, database_url) == -signal.SIGKILL
    corpora = [
        FolderCorpus(docs, index=lambda: PostgresDatabase(database_url, package="deep_research.documents.corpus")),
        FolderCorpus(docs, index=tmp_path / "index.db"),
    ]
    surveys = [await corpus.refresh() for corpus in corpora]
    assert surveys[0].indexed == surveys[1].indexed == FILES
    assert surveys[0].read_now <= FILES - 11
    for query in ("ferry number 7", "渡轮 第12号", "leaves"):
        one, other = [await corpus.search(query, limit=50) for corpus in corpora]
        assert [(hit.address, hit.text) for hit in one] == [(hit.address, hit.text) for hit in other]
    terms = ["ferri", "7", "渡轮", "leav"]
    assert await corpora[0].frequencies(terms) == await corpora[1].frequencies(terms)
    for corpus in corpora:
        await corpus.close()


async def _index_until_killed(docs: Path, url: str, files: int) -> None:
    def count(done: int, total: int, address: str) -> None:
        if done >= files:
            os.kill(os.getpid(), signal.SIGKILL)

    corpus = FolderCorpus(docs, index=lambda: PostgresDatabase(url, package="deep_research.documents.corpus"))
    await corpus.refresh(count)


if __name__ == "__main__":
    asyncio.run(_index_until_killed(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])))
