"""Two folders searched as one: the better passage first wherever it lies, and files of one name kept apart."""

import pytest

from deep_research.documents.corpus.folder import FolderCorpus
from deep_research.documents.corpus.joined import SHARED, JoinedCorpus
from deep_research.documents.corpus.stored import FolderFiles
from deep_research.wiring.documents import FileFetcher


@pytest.fixture
async def both(corpus, write, tmp_path):
    write(notes="# Notes\n\nThe harbour office measured 52 decibels at the pump hall in May.", broken="")
    other = tmp_path / "archive"
    other.mkdir()
    (other / "notes.md").write_text("# Minutes\n\nThe pump hall cost 61 million euros.", encoding="utf-8")
    (other / "city.md").write_text("# 海绵城市\n\n海绵城市改造工程完成投资四十八亿元。", encoding="utf-8")
    second = FolderCorpus(other, index=tmp_path / "state" / "corpus.db")
    joined = JoinedCorpus(corpus, second)
    survey = await joined.refresh()
    assert (survey.files, survey.indexed, [one.address for one in survey.skipped]) == (4, 3, ["broken.md"])
    yield joined
    await joined.close()


@pytest.mark.parametrize(
    ("query", "best"),
    [
        ("decibels at the pump hall", "notes.md"),
        ("cost of the pump hall in euros", f"{SHARED}notes.md"),
        ("海绵城市投资", f"{SHARED}city.md"),
    ],
)
async def test_the_better_passage_comes_first_wherever_it_lies(both, query, best):
    found = await both.search(query, limit=5)
    assert found[0].address == best
    assert [hit.score for hit in found] == sorted((hit.score for hit in found), reverse=True)


async def test_a_query_of_common_words_alone_scores_what_it_finds(both):
    assert all(hit.score > 0 for hit in await both.search("the at", limit=5))


async def test_files_of_one_name_are_told_apart(both, docs, tmp_path):
    fetcher = FileFetcher(FolderFiles(docs), FolderFiles(tmp_path / "archive"))
    for address, words in (("notes.md", "decibels"), (f"{SHARED}notes.md", "euros")):
        assert words in (await both.passages(address))[0].text
        page = await fetcher.fetch(address)
        assert page.address == address
        assert words.encode() in page.raw
    assert [listed.title for listed in await both.contents()] == ["Notes", "海绵城市", "Minutes"]
    assert (await both.frequencies(["pump", "decibel"])) == (3, {"pump": 2, "decibel": 1})
