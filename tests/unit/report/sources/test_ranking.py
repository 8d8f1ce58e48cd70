"""Fusing the answers of several engines into one list."""

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deep_research.report.sources.address import canonical_address
from deep_research.report.sources.hit import Hit, SearchQuery
from deep_research.report.sources.ranking import Ranked, fuse
from deep_research.report.sources.source_quality import is_archive, source_quality_of

TODAY = date(2026, 11, 15)
QUERY = SearchQuery(query="heat pump efficiency in cold climates")
TITLE = "Heat pump efficiency in cold climates"


def _hit(address: str, title: str = "Heat pump efficiency", **fields) -> Hit:
    return Hit(address=address if "//" in address else f"https://{address}.example.com/", title=title, **fields)


def _answer(engine: str, *hits: Hit | str) -> Ranked:
    return Ranked(engine=engine, hits=tuple(_hit(hit) if isinstance(hit, str) else hit for hit in hits))


def _order(*answers: Ranked, query: SearchQuery = QUERY) -> list[str]:
    return [hit.address.removeprefix("https://").split(".")[0] for hit in fuse(answers, query=query, today=TODAY)]


def test_one_answer_keeps_its_order():
    assert _order(_answer("one", "c", "a", "b")) == ["c", "a", "b"]


def test_what_two_engines_found_comes_before_what_one_found_first():
    assert _order(_answer("one", "a", "both"), _answer("two", "b", "both")) == ["both", "a", "b"]


def test_spellings_of_one_address_are_one_and_the_most_telling_hit_stays():
    bare = _hit("https://a.example.com/x?utm_source=feed")
    dated = _hit("https://A.example.com/x/", snippet="Heat pumps work.", published="2026-01-02")
    assert fuse([_answer("one", bare), _answer("two", dated)], query=QUERY, today=TODAY) == [dated]


def test_engine_that_answers_everything_pushes_nothing_up():
    noise = [_hit(f"noise{number}", "Ten celebrities and their kitchens") for number in range(5)]
    assert _order(_answer("one", "a", "b"), _answer("two", *noise))[:2] == ["a", "b"]


@pytest.mark.parametrize(
    ("query", "near", "far"),
    [
        ("heat pump efficiency", "Efficient heat pumps", "Pumping iron at home"),
        ("热泵在寒冷地区的效率", "寒冷地区热泵的运行效率", "寒冷天气注意事项"),
        ("热泵在寒冷地区的效率", "寒冷地區熱泵的運行效率", "寒冷天氣注意事項"),
        ("熱泵在寒冷地區的效率", "寒冷地区热泵的运行效率", "寒冷天气注意事项"),
    ],
)
def test_hits_that_share_more_words_come_first_in_every_script(query, near, far):
    answers = [_answer("one", _hit("far", far)), _answer("two", _hit("near", near))]
    assert _order(*answers, query=SearchQuery(query=query)) == ["near", "far"]


def test_hit_that_shares_no_word_sinks_below_all_that_do():
    last = _hit("weak", "A pump", published="1999-01-01")
    stranger = _hit("https://stranger.gov/", "Nothing of the kind", published="2026-11-14")
    answers = [_answer("one", stranger), _answer("two", stranger), _answer("three", "a", "b", "c", last)]
    assert _order(*answers) == ["a", "b", "c", "weak", "stranger"]


def test_query_of_stop_words_leaves_the_order_to_the_engines():
    answer = _answer("one", _hit("b", "Something"), _hit("a", "Else"))
    assert _order(answer, query=SearchQuery(query="what is it")) == ["b", "a"]


@pytest.mark.parametrize(
    ("address", "quality"),
    [
        ("https://www.energy.gov/x", "primary"),
        ("https://statistics.gov.uk/x", "primary"),
        ("https://www.stats.gov.cn/x", "primary"),
        ("https://www.ntu.edu.tw/x", "primary"),
        ("https://www.meti.go.jp/x", "primary"),
        ("https://eur-lex.europa.eu/x", "primary"),
        ("https://cam.ac.uk/x", "primary"),
        ("https://www.who.int/x", "primary"),
        ("https://doi.org/10.1/x", "primary"),
        ("https://export.arxiv.org/abs/1", "primary"),
        ("https://patents.google.com/patent/X", "primary"),
        ("https://github.com/a/b", "primary"),
        ("https://docs.djangoproject.com/en", "primary"),
        ("https://example.com/", "ordinary"),
        ("https://en.wikipedia.org/wiki/X", "ordinary"),
        ("https://gov.example.com/", "ordinary"),
        ("https://notarxiv.org/", "ordinary"),
        ("https://docs.com/", "ordinary"),
        ("file:///home/me/a.pdf", "ordinary"),
        ("https://[broken", "ordinary"),
        ("", "ordinary"),
        ("https://mit.academia.edu/x", "weak"),
        ("https://docs.google.com/d/1", "weak"),
        ("https://bit.ly/x", "weak"),
        ("https://m.weibo.cn/x", "weak"),
        ("https://www.facebook.com/x", "weak"),
    ],
)
def test_hosts_are_known_by_their_names(address, quality):
    assert source_quality_of(address) == quality


@pytest.mark.parametrize(
    "address", ["https://arxiv.org/abs/1", "https://www.nature.com/x", "https://link.springer.com/x"]
)
def test_many_publish_at_an_archive(address):
    assert is_archive(address)


@pytest.mark.parametrize("address", ["https://energy.gov/x", "https://paper.example/x", "notes.md", ""])
def test_others_speak_for_themselves(address):
    assert not is_archive(address)


def test_primary_source_passes_its_neighbour_but_not_the_whole_list():
    official = _hit("https://official.gov/")
    assert _order(_answer("one", "a", official)) == ["official", "a"]
    assert _order(_answer("one", "a", "b", "c", official))[0] == "a"


def test_social_feed_falls_behind_its_neighbour():
    assert _order(_answer("one", _hit("https://reddit.com/r/x"), "a")) == ["reddit", "a"][::-1]


def test_newer_is_preferred_mildly_and_strongly_for_news():
    old = [_hit(name, published="2021-03-01") for name in "abcd"]
    answer = _answer("one", *old, _hit("new", published="2026-11-14"))
    assert _order(answer) == ["a", "b", "c", "d", "new"]
    assert _order(answer, query=QUERY.model_copy(update={"kind": "news"}))[0] == "new"
    beside = [_answer("one", _hit("a", published="2015")), _answer("two", _hit("z", published="2026-10"))]
    assert _order(*beside) == ["z", "a"]


@pytest.mark.parametrize(
    ("published", "is_kept"),
    [
        ("2024-06-01", True),
        ("2024", True),
        ("2024-03", True),
        ("2024-02-29", False),
        ("2023", False),
        ("2024-11", False),
        ("2025-01-01T10:00:00Z", False),
        ("", True),
        ("2024-06-99", True),
        ("soon", True),
    ],
)
def test_dated_hits_outside_the_time_are_dropped(published, is_kept):
    query = QUERY.model_copy(update={"since": date(2024, 3, 1), "until": date(2024, 10, 31)})
    assert bool(_order(_answer("one", _hit("a", published=published)), query=query)) is is_kept


NEWS = "The city of Harbour Falls will replace its gas boilers with heat pumps by 2030, the mayor said on Monday."
HEADLINE = "Harbour Falls replaces gas boilers with heat pumps"
NEWS_ZH = "记者从市政府获悉，该市将在二〇三〇年之前用热泵替换全部燃气锅炉，首批工程将于明年春季在北部城区开工。"


@pytest.mark.parametrize(
    ("title", "snippet", "other_title", "other_snippet", "is_copy"),
    [
        ("City to replace gas boilers - Reuters", NEWS, "City to replace gas boilers | Daily", NEWS, True),
        ("Heat pumps for all", NEWS, "Boilers on their way out", NEWS + " More to follow.", True),
        (HEADLINE, "", HEADLINE, NEWS, True),
        ("全市燃气锅炉将换成热泵_新浪", NEWS_ZH, "全市燃气锅炉将换成热泵", NEWS_ZH, True),
        ("Heat pumps", NEWS, "Heat pumps", NEWS.replace("2030", "2035"), False),
        ("Heat pumps", "", "Heat pumps", "", False),
        ("热泵", "", "热泵", "", False),
        ("Heat pumps", NEWS, "Heat pumps", "Heat pumps warm houses; how they do so in winter is told here.", False),
    ],
)
def test_copies_on_other_hosts_go_behind_everything_else(title, snippet, other_title, other_snippet, is_copy):
    query = SearchQuery(query="heat pumps gas boilers 热泵 锅炉")
    one, other = _hit("a", title, snippet=snippet), _hit("b", other_title, snippet=other_snippet)
    far = _hit("far", "Nothing of the kind")
    order = _order(_answer("one", one, other, far), query=query)
    assert set(order) == {"a", "b", "far"}
    assert (order[-1] != "far") is is_copy


def test_pages_of_one_host_are_no_copies_of_each_other():
    hits = [_hit(f"https://a.example.com/{number}", TITLE, snippet=NEWS) for number in range(3)]
    assert _order(_answer("one", *hits, _hit("far", "Nothing"))) == ["a", "a", "a", "far"]


def _pages(*names: str) -> list[Hit]:
    return [_hit(name, f"{TITLE}: {name}") for name in names]


def _files(count: int, title: str = TITLE) -> Ranked:
    return _answer("local", *(_hit(f"file:///docs/{number}.pdf", f"{title}: {number}") for number in range(count)))


def test_own_documents_and_the_web_stand_side_by_side():
    # Three engines agree on every page, and no engine but one can know the files.
    web = [_answer(engine, *_pages(*(f"page{at}" for at in range(10)))) for engine in ("one", "two", "three")]
    hits = fuse([*web, _files(10)], query=QUERY, today=TODAY)
    own = [hit.address.startswith("file:") for hit in hits]
    assert all(own[:count].count(True) in (count // 2, (count + 1) // 2) for count in range(1, 21))


def test_one_page_on_which_all_agree_lets_no_file_past_the_others():
    web = [_answer(engine, *_pages("best", *(f"{engine}{at}" for at in range(4)))) for engine in "xyz"]
    hits = fuse([*web, _files(10)], query=QUERY, today=TODAY)
    assert 4 <= sum(hit.address.startswith("file:") for hit in hits[:10]) <= 6


def test_own_documents_on_other_matters_stand_behind_the_web():
    hits = fuse([_answer("one", "a", "b"), _files(5, "Minutes of a pump club")], query=QUERY, today=TODAY)
    assert [hit.address.startswith("file:") for hit in hits[:2]] == [False, False]


def test_no_answers_give_no_hits():
    assert fuse([], query=QUERY, today=TODAY) == []
    assert fuse([_answer("one")], query=QUERY, today=TODAY) == []


_HITS = st.builds(
    Hit,
    address=st.sampled_from(
        [
            *(f"https://{name}.example.com/{path}" for name in "abc" for path in ("", "x", "x?utm_id=1")),
            *("file:///a.pdf", "https://x.gov/1", "https://t.co/1"),
        ]
    ),
    title=st.sampled_from(["Heat pump", "Boiler", TITLE, "热泵效率", ""]),
    snippet=st.sampled_from(["", NEWS, NEWS_ZH]),
    published=st.sampled_from(["", "2020", "2026-11-01", "2031-01-01"]),
)
_ANSWERS = st.lists(
    st.builds(
        Ranked,
        engine=st.sampled_from(["one", "two", "local"]),
        hits=st.lists(_HITS, max_size=8).map(tuple),
    ),
    max_size=5,
)


@given(_ANSWERS)
def test_nothing_is_lost_repeated_or_invented(answers):
    given_hits = [hit for answer in answers for hit in answer.hits]
    fused = fuse(answers, query=QUERY, today=TODAY)
    addresses = [canonical_address(hit.address) for hit in fused]
    assert len(addresses) == len(set(addresses))
    assert set(addresses) == {canonical_address(hit.address) for hit in given_hits}
    assert all(hit in given_hits for hit in fused)


@given(_ANSWERS, st.randoms(use_true_random=False))
def test_order_of_the_engines_changes_nothing(answers, random):
    shuffled = random.sample(answers, len(answers))
    assert fuse(shuffled, query=QUERY, today=TODAY) == fuse(answers, query=QUERY, today=TODAY)
