"""Which special sources a query goes to, by rules and in three scripts."""

import pytest

from deep_research.reasoning.rules.special_sources import choose_sources, describe, widen
from deep_research.report.sources.hit import SearchQuery
from deep_research.request import SearchKind
from deep_research.web.search.registry import ENGINES, EngineSpec

ALL = tuple(ENGINES.values())
FREE = tuple(spec for spec in ALL if not spec.needs_key)
KINDS: tuple[SearchKind, ...] = ("general", "academic", "news", "code", "patents", "local")
SPECIALISTS = [spec for spec in ALL if spec.is_specialist]


def _mcp(name: str, *kinds: SearchKind) -> EngineSpec:
    return EngineSpec(name=f"mcp:{name}", title=name, kinds=kinds)


def _chosen(text: str, kind: SearchKind = "general", **fields) -> tuple[str, ...]:
    return choose_sources(SearchQuery(query=text, kind=kind, **fields), ALL)


GENERAL = [
    # medicine
    ("side effects of semaglutide in older patients", {"pubmed"}, {"github", "arxiv"}),
    ("does vitamin D lower the risk of influenza", {"pubmed"}, {"gdelt"}),
    ("GLP-1 and heart failure", {"pubmed"}, {"hacker-news"}),
    ("司美格鲁肽对老年患者的副作用", {"pubmed"}, {"github"}),
    ("司美格魯肽對老年患者的副作用", {"pubmed"}, {"github"}),
    ("糖尿病的最新治疗", {"pubmed", "gdelt"}, {"arxiv"}),
    ("失智症的照護與藥物", {"pubmed"}, {"arxiv"}),
    # software
    ("PostgreSQL connection pooling", {"github", "hacker-news"}, {"pubmed"}),
    ("open-source package manager for Python", {"github", "hacker-news"}, {"pubmed"}),
    ("开源数据库的选择", {"github", "hacker-news"}, {"pubmed"}),
    ("開放原始碼資料庫的選擇", {"github", "hacker-news"}, {"pubmed"}),
    ("C++ 编译器比较", {"github"}, {"pubmed"}),
    ("memory leak in a Django websocket", {"github", "github-issues"}, {"pubmed"}),
    # artificial intelligence
    ("how large language models are aligned", {"arxiv", "hugging-face-papers"}, {"pubmed"}),
    ("AI in schools", {"arxiv"}, {"pubmed"}),
    ("大语言模型的对齐方法", {"arxiv", "hugging-face-papers"}, {"pubmed"}),
    ("大型語言模型的對齊方法", {"arxiv", "hugging-face-papers"}, {"pubmed"}),
    # physics and mathematics
    ("room temperature superconductors", {"arxiv"}, {"pubmed", "hugging-face-papers"}),
    ("黎曼猜想", {"arxiv"}, {"pubmed"}),
    ("暗物質探測", {"arxiv"}, {"hugging-face-papers"}),
    # science
    ("effect of insulation on heating demand", {"openalex", "crossref"}, {"gdelt"}),
    ("evidence that microplastics harm mussels", {"openalex"}, {"github"}),
    ("热泵结霜机制研究", {"openalex", "crossref"}, {"gdelt"}),
    ("熱泵結霜機制研究", {"openalex", "crossref"}, {"gdelt"}),
    # events
    ("latest election results in Brazil", {"gdelt"}, {"pubmed"}),
    ("steel tariffs 2025", {"gdelt"}, {"arxiv"}),
    ("2025年钢铁关税", {"gdelt"}, {"arxiv"}),
    ("2025年鋼鐵關稅", {"gdelt"}, {"arxiv"}),
    # patents
    ("patents on solid state batteries", {"epo"}, {"pubmed"}),
    ("固态电池专利", {"epo"}, {"pubmed"}),
]


@pytest.mark.parametrize(("text", "asked", "spared"), GENERAL)
def test_general_query_goes_to_wikipedia_and_where_its_words_point(text, asked, spared):
    chosen = _chosen(text)
    assert chosen[0] == "wikipedia"
    assert asked <= set(chosen)
    assert not spared & set(chosen)
    assert len(chosen) <= 4
    assert len(set(chosen)) == len(chosen)


@pytest.mark.parametrize(
    "text",
    [
        "the history of the Hanseatic League",
        "best tea houses in Kyoto",
        "汉萨同盟的历史",
        "漢薩同盟的歷史",
        "regulatory framework for transformers in a power grid",
        "building code of a city 1890",
    ],
)
def test_query_that_points_nowhere_goes_to_wikipedia_and_openalex(text):
    assert _chosen(text) == ("wikipedia", "openalex")


@pytest.mark.parametrize(
    ("kind", "text", "names"),
    [
        ("academic", "statins and dementia", ("pubmed", "openalex", "crossref", "semantic-scholar")),
        ("academic", "他汀类药物与痴呆", ("pubmed", "openalex", "crossref", "semantic-scholar")),
        (
            "academic",
            "retrieval augmented generation",
            ("arxiv", "hugging-face-papers", "hugging-face-daily", "openalex"),
        ),
        ("academic", "檢索增強生成", ("arxiv", "hugging-face-papers", "hugging-face-daily", "openalex")),
        ("academic", "gravitational waves", ("arxiv", "openalex", "crossref", "semantic-scholar")),
        ("academic", "引力波", ("arxiv", "openalex", "crossref", "semantic-scholar")),
        ("academic", "garbage collector latency", ("arxiv", "openalex", "crossref", "semantic-scholar")),
        ("academic", "medieval trade routes", ("openalex", "crossref", "semantic-scholar")),
        ("academic", "中世紀的貿易路線", ("openalex", "crossref", "semantic-scholar")),
        (
            "academic",
            "deep learning for cancer diagnosis",
            ("pubmed", "arxiv", "hugging-face-papers", "hugging-face-daily"),
        ),
        ("news", "port strike", ("gdelt",)),
        ("news", "new GitHub pricing", ("gdelt", "hacker-news")),
        ("news", "人工智能法案", ("gdelt", "hacker-news")),
        ("news", "港口罷工", ("gdelt",)),
        ("code", "parse dates in JavaScript", ("github", "github-issues", "hacker-news")),
        ("code", "asyncio deadlock on shutdown", ("github-issues", "github", "hacker-news")),
        ("code", "程序崩溃 libuv", ("github-issues", "github", "hacker-news")),
        ("code", "fine-tuning a language model", ("github", "hugging-face-blog", "github-issues", "hacker-news")),
        ("code", "微調大模型", ("github", "hugging-face-blog", "github-issues", "hacker-news")),
        ("patents", "heat pump defrosting", ("epo",)),
        ("local", "minutes of the board on cancer and software in 2024", ()),
    ],
)
def test_kind_of_a_query_decides_where_it_goes(kind, text, names):
    assert _chosen(text, kind) == names


def test_only_specialists_that_are_offered_are_chosen():
    names = {spec.name for spec in SPECIALISTS}
    for text, *_ in GENERAL:
        for kind in KINDS:
            query = SearchQuery(query=text, kind=kind)
            assert set(choose_sources(query, ALL)) <= names
            assert not {"epo", "zyte"} & set(choose_sources(query, FREE))
            assert choose_sources(query, ()) == ()


def test_engine_for_named_sites_is_asked_only_where_some_are_named():
    assert "zyte" not in _chosen("port strike", "news")
    assert _chosen("port strike", "news", sites=("example.org",)) == ("zyte", "gdelt")
    assert "zyte" not in _chosen("statins", "academic", sites=("example.org",))


def test_servers_that_were_set_up_are_chosen_where_their_kind_fits():
    offered = (*ALL, _mcp("wiki", "general"), _mcp("papers", "academic"), _mcp("tickets", "code", "local"))
    chosen = {kind: choose_sources(SearchQuery(query="tea", kind=kind), offered) for kind in KINDS}
    assert {kind: [name for name in names if name.startswith("mcp:")] for kind, names in chosen.items()} == {
        "general": ["mcp:wiki"],
        "academic": ["mcp:wiki", "mcp:papers"],
        "news": ["mcp:wiki"],
        "code": ["mcp:wiki", "mcp:tickets"],
        "patents": ["mcp:wiki"],
        "local": [],
    }


@pytest.mark.parametrize("text", [text for text, *_ in GENERAL] + ["the history of the Hanseatic League"])
def test_widening_asks_others_that_need_no_key(text):
    query = SearchQuery(query=text)
    asked = choose_sources(query, ALL)
    further = widen(query, ALL, asked)
    assert 1 <= len(further) <= 4
    assert not set(further) & set(asked)
    assert all(ENGINES[name].is_specialist and not ENGINES[name].needs_key for name in further)


def test_widening_ends_where_nothing_is_left():
    query = SearchQuery(query="the history of the Hanseatic League")
    assert widen(query, ALL, [spec.name for spec in SPECIALISTS]) == ()
    assert widen(query.model_copy(update={"kind": "local"}), ALL, ()) == ()
    assert widen(query, [ENGINES["crossref"], ENGINES["tavily"]], ()) == ("crossref",)


def test_every_specialist_is_chosen_for_some_query():
    texts = [*(text for text, *_ in GENERAL), "fine-tuning a language model"]
    chosen = {name for text in texts for kind in KINDS for name in _chosen(text, kind, sites=("example.org",))}
    assert chosen == {spec.name for spec in SPECIALISTS}


def test_description_has_a_short_line_for_each_source():
    lines = describe(ALL).splitlines()
    assert [line.partition(":")[0] for line in lines] == list(ENGINES)
    assert all(spec.about for spec in ALL)
    assert all(len(line.split()) <= 12 for line in lines)
    assert lines[list(ENGINES).index("pubmed")].endswith("(high)")
    assert describe([_mcp("wiki", "general")]) == "mcp:wiki: wiki (low)"
