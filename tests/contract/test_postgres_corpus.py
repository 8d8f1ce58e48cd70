"""An index in PostgreSQL finds, scores and forgets what one in a file does; several hosts share it."""

import asyncio
import os
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from deep_research.documents.corpus.folder import Catalogue, FolderCorpus, open_index
from deep_research.documents.corpus.index import IndexLocation
from deep_research.documents.corpus.rank import MAX_SCANNED
from deep_research.errors import SourceError

pytest.importorskip("psycopg_pool", reason="needs the extra postgres")

from deep_research.storage.database.postgres import PostgresDatabase

EXAMPLES = Path(__file__).parents[2] / "examples" / "documents"
QUERIES = (
    "What did the heat network cost, and who pays for it?",
    "measured performance of the heat pumps in 2025 against the engineering note",
    "How many households are connected to Harbour Heat",
    "opinion of the ratepayers' association and the council's closing report",
    "青岚市调蓄池的投资是多少",
    "調蓄池 顧問意見",
    "内涝 投诉 2025 年 下降 百分之多少",
    "the and of",
    "Halden",
    "zebra",
    "",
)


@pytest.fixture
def shared(database_url: str) -> IndexLocation:
    return lambda: PostgresDatabase(database_url, package="deep_research.documents.corpus")


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    folder = tmp_path / "docs"
    folder.mkdir()
    return folder


class Both:
    """A folder in an index of each kind; what they say is compared wherever it is asked for."""

    def __init__(
        self, folder: Path, file: IndexLocation, shared: IndexLocation, max_scanned: int = MAX_SCANNED
    ) -> None:
        self.corpora = [FolderCorpus(folder, index=place, max_scanned=max_scanned) for place in (file, shared)]
        self.catalogues = [Catalogue(file), Catalogue(shared)]
        self.folder = folder

    async def refresh(self) -> None:
        one, other = [await corpus.refresh() for corpus in self.corpora]
        assert one == other

    async def found(self, query: str, limit: int = 60) -> list[str]:
        """Return the addresses that both find, in their order."""
        one, other = [await corpus.search(query, limit=limit) for corpus in self.corpora]
        # The two sum up in another order, which moves the last digit.
        assert [hit.score for hit in one] == pytest.approx([hit.score for hit in other], rel=1e-9)
        without_score = [[hit.model_copy(update={"score": 0.0}) for hit in hits] for hits in (one, other)]
        assert without_score[0] == without_score[1]
        return [hit.address for hit in one]

    async def compare(self, terms: list[str]) -> None:
        """Compare everything else that an index can be asked for."""
        for ask in (
            lambda corpus: corpus.contents(),
            lambda corpus: corpus.frequencies(terms),
            lambda corpus: asyncio.gather(*(corpus.spelled_like(term) for term in terms)),
        ):
            one, other = [await ask(corpus) for corpus in self.corpora]
            assert one == other
        one, other = [catalogue.documents(self.folder) for catalogue in self.catalogues]
        assert one == other
        for document in one:
            first, second = [await corpus.passages(document.address) for corpus in self.corpora]
            assert first == second

    async def close(self) -> None:
        for corpus in self.corpora:
            await corpus.close()


@pytest.fixture
async def both(docs: Path, tmp_path: Path, shared: IndexLocation) -> AsyncIterator[Both]:
    made = Both(docs, tmp_path / "index.db", shared)
    yield made
    await made.close()


@pytest.fixture
def write(docs: Path) -> Callable[..., None]:
    def put(**files: str) -> None:
        for name, text in files.items():
            (docs / f"{name}.md").write_text(text, encoding="utf-8")

    return put


@pytest.mark.parametrize("max_scanned", [MAX_SCANNED, 3])
async def test_both_find_the_same_in_the_example_documents(tmp_path, shared, max_scanned):
    # With few passages to look at, pairs of common terms lead to them.
    both = Both(EXAMPLES, tmp_path / "index.db", shared, max_scanned)
    await both.refresh()
    found = [await both.found(query) for query in QUERIES]
    assert [bool(addresses) for addresses in found] == [True] * (len(QUERIES) - 2) + [False] * 2
    assert "qinglan-consultant-opinion-hant.md" in found[5][:3]
    await both.compare(["heat", "household", "调蓄", "haldne", "infrastructre", "2025", "\ud800", "nul\0", "x" * 3_000])
    await both.close()


async def test_changes_deletions_and_duplicates_leave_the_same(both, docs, write):
    write(
        a="# Apples\n\nApples are red.", b="Apples are red.", c="# Bananas\n\nBananas, not apples.", d="Apples are red."
    )
    await both.refresh()
    assert await both.found("apples bananas") == ["c.md", "a.md", "b.md"]
    write(c="# Cherries\n\nCherries are dark.", e="# Apples\n\nApples are red!")
    os.utime(docs / "c.md", ns=(0, 1))
    (docs / "b.md").unlink()
    (docs / "a.md").rename(docs / "z.md")
    await both.refresh()
    assert await both.found("bananas") == []
    assert "c.md" in await both.found("cherries apples")
    await both.compare(["appl", "banana", "cherri", "chery"])
    for file in docs.iterdir():
        file.unlink()
    write(new="What else?")
    await both.refresh()
    await both.compare(["appl", "els"])


async def test_names_in_a_passage_lead_on_to_the_same_documents(both, write):
    write(
        **{f"n{n}": f"# Note {n}\n\nNote {n} says little about the tower of the year {1900 + n}." for n in range(40)},
        mill="# Ardent Mill\n\nArdent Mill was built by Oswin Carr in 1871. 由《晨光建筑》承建。",
        carr="# Oswin Carr\n\nOswin Carr was born in Tarn Head and died there.",
        tower="# 晨光建筑\n\n晨光建筑成立于一八六〇年，总部位于塔恩黑德。",
    )
    await both.refresh()
    assert set((await both.found("Where was the builder of Ardent Mill born?", limit=8))[:3]) >= {"mill.md", "carr.md"}
    await both.found("Ardent Mill 的承建商总部在哪里？", limit=8)


async def test_a_term_without_an_end_and_a_long_name_are_kept(both, docs):
    (docs / f"{'long' * 50}.md").write_text(f"# {'t' * 1_100}\n\n{'x' * 3_000} stands here. {'字' * 1_500}。")
    await both.refresh()
    for query in ("t" * 1_100, "x" * 1_200, "字字"):
        assert len(await both.found(query)) >= 1


async def test_folders_do_not_count_in_each_other(tmp_path, shared):
    folders = [tmp_path / name for name in ("one", "two")]
    for number, folder in enumerate(folders):
        folder.mkdir()
        for n in range(5 * number + 1):
            (folder / f"{n}.md").write_text(f"Apples of box {n}.")
        corpus = FolderCorpus(folder, index=shared)
        await corpus.refresh()
        await corpus.close()
    one, two = [FolderCorpus(folder, index=shared) for folder in folders]
    assert await one.frequencies(["appl"]) == (1, {"appl": 1})
    assert await two.frequencies(["appl"]) == (6, {"appl": 6})
    catalogue = Catalogue(shared)
    assert [folder.documents for folder in catalogue.folders()] == [1, 6]
    assert catalogue.forget(folders[1])
    assert not catalogue.forget(folders[1])
    with pytest.raises(SourceError, match="not indexed"):
        await two.search("apples", limit=5)
    assert len(await one.search("apples", limit=5)) == 1
    for corpus in (one, two):
        await corpus.close()


async def test_one_host_at_a_time_refreshes_a_folder(docs, write, shared):
    write(**{f"f{n}": f"File {n} about apples." for n in range(30)})
    corpora = [FolderCorpus(docs, index=shared) for _ in range(4)]
    surveys = await asyncio.gather(*(corpus.refresh() for corpus in corpora))
    # Whoever comes second finds the work done.
    assert sorted(survey.read_now for survey in surveys) == [0, 0, 0, 30]
    assert [survey.indexed for survey in surveys] == [30] * 4
    for corpus in corpora:
        await corpus.close()


async def test_a_claim_of_a_host_that_is_gone_lapses(docs, write, shared, database_url):
    write(a="Apples are red.")
    gone = open_index(shared)
    folder = gone.write(lambda session: session.add_folder(str(docs)))
    assert gone.acquire(folder)
    other = open_index(shared)
    assert not other.acquire(folder)
    database = PostgresDatabase(database_url, package="deep_research.documents.corpus")
    with database._opened().connection() as connection:
        connection.execute("UPDATE corpus_folders SET claimed_until = clock_timestamp() - interval '1 second'")
    assert other.acquire(folder)
    for each in (gone, other, database):
        each.close()
