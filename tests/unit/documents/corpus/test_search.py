"""Searching and fetching: best first, the same every time, in both scripts, and never outside the folder."""

import pytest

from deep_research.documents.corpus.folder import FolderCorpus
from deep_research.documents.corpus.rank import parse_question
from deep_research.documents.corpus.search import CorpusSearch
from deep_research.documents.corpus.stored import FolderFiles
from deep_research.documents.readers import read
from deep_research.errors import SourceError
from deep_research.report.sources.hit import SearchQuery
from deep_research.web.fetch.port import Fetched, Fetcher
from deep_research.web.search.port import SearchEngine
from deep_research.wiring.documents import FileFetcher

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


async def test_what_looks_like_syntax_is_taken_as_a_term(fruit):
    assert await fruit.frequencies(['pear" OR "appl', "", "\ud800"]) == (3, {'pear" OR "appl': 0, "": 0, "\ud800": 0})


def test_a_question_is_taken_apart_into_terms_phrases_and_clauses():
    question = parse_question(
        "What did the heat pump retrofit cost in Halden, and who measured the performance in a cold winter?"
    )
    assert question.terms[:5] == ("heat", "pump", "retrofit", "cost", "halden")
    assert question.phrases[:3] == ("heat pump", "pump retrofit", "retrofit cost")
    assert "cost halden" not in question.phrases
    assert [("halden" in clause, "winter" in clause) for clause in question.clauses] == [(True, False), (False, True)]
    assert parse_question("heat pump costs").clauses == ()


def test_clauses_of_a_chinese_question_are_told_apart():
    question = parse_question("海绵城市改造完成了多少投资，二〇二五年的地铁建设进度怎么样？")
    assert [("海绵" in clause, "地铁" in clause) for clause in question.clauses] == [(True, False), (False, True)]


async def test_a_second_hop_finds_what_the_best_passage_names(corpus, docs, write):
    write(
        tower="# Halden Tower\n\nThe Halden Tower was drawn by the architect Ingrid Solberg and opened in 1974.",
        solberg="# Ingrid Solberg\n\nIngrid Solberg grew up on a farm near Narvik and studied in Trondheim.",
        **{
            f"tower{n}": f"# Tower {n}\n\nThe tower number {n} was drawn by an architect and born by piles."
            for n in range(12)
        },
        **{f"other{n}": f"# Leaf {n}\n\nNothing here speaks of what is asked, only of leaf {n}." for n in range(12)},
    )
    await corpus.refresh()
    found = [hit.address for hit in await corpus.search("Where was the architect of the Halden Tower born?", limit=10)]
    assert found[0] == "tower.md"
    assert "solberg.md" in found


async def test_a_second_hop_follows_chinese_titles(corpus, write):
    write(
        塔="# 海德塔\n\n海德塔由建筑师林慕白设计，一九七四年落成开放。",
        林="# 林慕白\n\n林慕白在闽北的山村里长大，后来在杭州求学。",
        **{f"塔{n}": f"# 高塔{n}\n\n第{n}座高塔由建筑师设计，出生于何处无人知晓。" for n in range(12)},
    )
    await corpus.refresh()
    found = [hit.address for hit in await corpus.search("海德塔的建筑师出生在哪里？", limit=10)]
    assert found[0] == "塔.md"
    assert "林.md" in found


async def test_common_terms_do_not_help_to_find_but_count_in_the_score(corpus, docs, write, tmp_path):
    write(
        **{f"many{n}": f"Ferries number {n} leave daily from the quay." for n in range(30)},
        **{f"rare{n}": f"The walrus slept near box {n}. " + "Nothing else is told. " * 9 for n in range(3)},
        both="The walrus slept where ferries leave daily. " + "Nothing else is told. " * 9,
    )
    await corpus.refresh()
    pruned = FolderCorpus(docs, index=tmp_path / "state" / "corpus.db", max_scanned=20)
    question = "walrus slept, ferries daily, else told nothing"
    hits = await pruned.search(question, limit=4)
    assert hits[0].address == "both.md"
    assert {hit.address for hit in hits} == {"both.md", "rare0.md", "rare1.md", "rare2.md"}
    assert len({hit.address for hit in await pruned.search(question, limit=50)}) == 4
    assert len({hit.address for hit in await corpus.search(question, limit=50)}) == 34
    # A question of common terms only is answered by passages that hold two of them.
    assert len(await pruned.search("ferries daily quay", limit=50)) >= 30
    assert len(await pruned.search("ferries", limit=50)) >= 31
    await pruned.close()


async def test_scores_fall_along_a_ranking(fruit):
    scores = [hit.score for hit in await fruit.search("apples pears trees 海绵城市", limit=9)]
    assert scores == sorted(scores, reverse=True)
    assert 0 < scores[-1] <= scores[0] <= 1


async def test_rows_in_the_middle_of_a_table_are_found_by_its_header(corpus, docs):
    rows = "\n".join(f"| Plant {n} | {n * 37 + 11} | {n % 7} |" for n in range(200))
    table = f"# Output\n\n| Site | Turnover in kroner | Outages |\n|---|---|---|\n{rows}\n"
    (docs / "table.md").write_text(f"{table}\n## Gardens\n\nThe plants have gardens and ponds.\n")
    await corpus.refresh()
    of_table = {one.start for one in await corpus.passages("table.md") if "|" in one.text}
    assert len(of_table) > 5
    assert of_table <= {hit.start for hit in await corpus.search("turnover", limit=50)}
    best = (await corpus.search("turnover of plant 177", limit=1))[0]
    assert "| Plant 177 |" in best.text
    assert "Turnover" not in best.text
    text = read((docs / "table.md").read_bytes(), name="table.md").text
    assert text[best.start : best.end] == best.text
    assert best.text.startswith("|")
    assert best.text.endswith("|")


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
    fetcher: Fetcher = FileFetcher(FolderFiles(docs))
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
        await FileFetcher(FolderFiles(docs)).fetch(address)
    assert "secret" not in str(caught.value) or "secret" in address


@pytest.mark.parametrize("query", ["How many pieces of part P-07431 are there?", "编号P-07431的备件有多少？"])
async def test_a_question_about_one_row_of_ten_thousand_finds_it(corpus, docs, query):
    rows = (f"P-{n:05d},{('阀门', 'pump', 'hose')[n % 3]} {n % 97},{n * 7 % 901}" for n in range(10_000))
    (docs / "stock.csv").write_text("\n".join(["编号 Part,Name,Pieces", *rows]), encoding="utf-8")
    await corpus.refresh()
    assert "| P-07431 |" in (await corpus.search(query, limit=1))[0].text
