"""Searching and fetching: best first, the same every time, in both scripts, and never outside the folder."""

import pytest

from deep_research.corpus.fetcher import CorpusFetcher
from deep_research.corpus.folder import FolderCorpus
from deep_research.corpus.query import match_expression, query_terms, rarest
from deep_research.corpus.search import CorpusSearch
from deep_research.errors import SourceError
from deep_research.fetch.port import Fetched, Fetcher
from deep_research.readers import read
from deep_research.search.port import SearchEngine
from deep_research.sources.hit import SearchQuery

HOSTILE = [
    '"', "'", "*", "a*", "^a", "NEAR(", "NEAR(apples pears, 2)", "title:apples", "- title : apples", "apples AND",
    "OR OR OR", "NOT apples", '" OR "1"="1', "'; DROP TABLE passages; --", "{title body} : apples", "(((((", "apples)",
    "\x00apples", "\ud800 half", "\u202eselppa", "%s %n {0} {folder}", "苹果\" OR '梨", "🍎👩‍🚀", "​", "Ṱ̺̺̕o͞ ̷i̲̬͇̪͙n̝̗",
    "a" * 50_000, "apples " * 5_000, " ".join(f"word{n}" for n in range(3_000)), "-", ".", "1.2.3", "+apples -pears",
    "apples\nOR\npears",
]  # fmt: skip


@pytest.fixture
async def fruit(corpus, write):
    write(
        apples="# Apples\n\nApples are red. They grow on trees in the north.",
        pears="# Pears\n\nPears are green. An apple tree may stand beside them.",
        beijing="# 海绵城市\n\n海绵城市改造工程完成投资四十八亿元，效果良好。",
    )
    await corpus.refresh()
    return corpus


@pytest.mark.parametrize("query", HOSTILE, ids=lambda query: repr(query[:12]))
async def test_no_query_is_read_as_syntax(fruit, query):
    for hit in await fruit.search(query, limit=5):
        assert hit.score > 0


async def test_the_title_weighs_more_than_the_body(fruit):
    assert [hit.address for hit in await fruit.search("apples", limit=5)] == ["apples.md", "pears.md"]


@pytest.mark.parametrize("query", ["海绵城市改造花了多少钱？", "海綿城市改造花了多少錢？", "investment in 海綿城市"])
async def test_either_script_finds_chinese_text(fruit, query):
    assert (await fruit.search(query, limit=1))[0].address == "beijing.md"


async def test_offsets_are_those_of_the_reader(fruit, docs):
    for hit in [*await fruit.search("apples pears", limit=9), *await fruit.passages("beijing.md")]:
        text = read((docs / hit.address).read_bytes(), name=hit.address).text
        assert text[hit.start : hit.end] == hit.text


async def test_a_long_text_gives_all_its_passages_in_order(corpus, docs):
    text = "\n\n".join(f"Paragraph {n} speaks about 主题{n}. " + "It goes on and on. " * 6 for n in range(900))
    (docs / "long.txt").write_text(text, encoding="utf-8")
    await corpus.refresh()
    passages = await corpus.passages("long.txt")
    assert len(text) > 100_000
    assert [passage.text for passage in passages] == [text[one.start : one.end] for one in passages]
    (best,) = await corpus.search("paragraph 777 主题777", limit=1)
    assert best in [passage.model_copy(update={"score": best.score}) for passage in passages]
    assert "Paragraph 777 " in best.text


async def test_equal_scores_are_ordered_by_address_and_place(docs, write, tmp_path):
    write(**{f"z{n}": f"Apples number {chr(97 + n)}x." for n in range(9)})
    forward, backward = (FolderCorpus(docs, index=tmp_path / name) for name in ("one.db", "two.db"))
    await forward.refresh()
    for n in range(8, -1, -1):
        (docs / f"z{n}.md").rename(docs / f"y{n}.txt")
        await backward.refresh()
        (docs / f"y{n}.txt").rename(docs / f"z{n}.md")
        await backward.refresh()
    expected = [f"z{n}.md" for n in range(4)]
    for corpus in (forward, backward, forward):
        assert [hit.address for hit in await corpus.search("apples", limit=4)] == expected
    await forward.close()
    await backward.close()


async def test_nothing_is_found_for_nothing(fruit):
    assert await fruit.search("", limit=5) == []
    assert await fruit.search("zebra", limit=5) == []
    assert await fruit.search("apples", limit=0) == []


async def test_a_query_of_stop_words_is_taken_as_it_is(fruit):
    assert [hit.address for hit in await fruit.search("what may be beside them", limit=1)] == ["pears.md"]


def test_common_terms_leave_a_query_only_where_many_passages_and_enough_other_terms_are():
    counts = {"heat": 9_000, "pump": 40, "cost": 800, "retrofit": 12, "absent": 0}
    assert rarest(counts, 10_000) == ["retrofit", "pump", "cost"]
    assert rarest(counts, 4_000) == ["retrofit", "pump", "cost", "heat"]
    assert rarest({"heat": 9_000, "pump": 40}, 10_000) == ["pump", "heat"]


def test_terms_are_quoted():
    assert query_terms("The cost of pumps") == ["cost", "pump"]
    assert match_expression(["a", 'b"c']) == '"a" OR "b""c"'


async def test_the_engine_gives_each_file_once_with_its_best_passage(corpus, docs):
    many = "\n\n".join(f"## Part {n}\n\nApples of part {n} are red." for n in range(120))
    (docs / "many.md").write_text(many)
    (docs / "few.md").write_text("Apples " + "and a great many other things that grow in gardens " * 12)
    await corpus.refresh()
    engine: SearchEngine = CorpusSearch(corpus)
    hits = await engine.search(SearchQuery(query="apples part 7"), limit=2)
    assert [hit.address for hit in hits] == ["many.md", "few.md"]
    assert hits[0].snippet.startswith("Part 7 Apples of part 7")
    assert {hit.engine for hit in hits} == {"local"}
    assert len(hits[1].snippet) <= 300


async def test_the_fetcher_gives_the_bytes_and_kind_of_a_file(docs):
    (docs / "年报 2025.md").write_bytes(b"\xff\x00raw")
    fetcher: Fetcher = CorpusFetcher(docs, Fetched)
    page = await fetcher.fetch("年报 2025.md")
    assert page == Fetched(address="年报 2025.md", media_type="text/markdown", raw=b"\xff\x00raw")
    assert (await fetcher.fetch("%E5%B9%B4报%202025.md")).address == "年报 2025.md"


@pytest.mark.parametrize(
    "address",
    [
        "",
        ".",
        "..",
        "../secret.md",
        "a/../../secret.md",
        "%2e%2e/secret.md",
        "/etc/passwd",
        "%2Fetc/hosts.txt",
        "link.md",
        "folder/secret.md",
        "missing.md",
        "sub.md",
        ".env",
        ".git/config.md",
        "prog.exe",
        "x%00.md",
        "50%.md",
        "x" * 5_000 + ".md",
        "loop.md",
        "half \ud800.md",
        "https://example.test/a.md",
    ],
)
async def test_the_fetcher_never_leaves_the_folder_or_gives_what_is_no_document(docs, tmp_path, address):
    (tmp_path / "secret.md").write_text("secret")
    (docs / ".env").write_text("secret")
    (docs / "prog.exe").write_text("secret")
    (docs / "sub.md").mkdir()
    (docs / "link.md").symlink_to(tmp_path / "secret.md")
    (docs / "folder").symlink_to(tmp_path)
    (docs / "loop.md").symlink_to("loop.md")
    with pytest.raises(SourceError) as caught:
        await CorpusFetcher(docs, Fetched).fetch(address)
    assert "secret" not in str(caught.value) or "secret" in address
