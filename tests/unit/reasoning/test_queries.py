"""Queries of the rules, as a person reads them: short, about the question, none twice, in three scripts."""

from pathlib import Path

import pytest

from deep_research.documents.corpus.folder import FolderCorpus
from deep_research.reasoning.rules.question.analysis import analyze_question
from deep_research.reasoning.rules.question.queries import MAX_WORDS
from deep_research.reasoning.rules.reasoner import ExtractiveReasoner
from deep_research.reasoning.values import Brief, Draft, QueryRequest, SectionPlan
from deep_research.request import Language
from deep_research.text.analyzer import content_terms
from deep_research.text.messages.words import words_in
from deep_research.text.script import detect_language

LONG = (
    "Acting as an adviser to a small town, look into district heating from river water: what has been tried in "
    "Drammen and in Mannheim, which heat pumps were bought, what the supply temperature was, how much the towns paid, "
    "who lent the money, and which of the promises that were made to the residents in 2021 have been kept until "
    "today? Leave out solar heat."
)
QUESTIONS = [
    LONG,
    "What did the Halden plant cost, and when was it finished?",
    "Transformer 的注意力机制演进",
    "请帮我整理目前全球具身智能发展的技术路线，以及各个路线的代表性公司，需要包括这些公司的技术路径，产品进度，商业化进度，融资情况，团队情况",
    "第二期裝修結算下來總共是多少錢？",
]


def asked(question: str) -> Brief:
    language = detect_language(question)
    assert language in ("en", "zh-Hans", "zh-Hant")
    return Brief(question=question, original=question, language=language, analysis=analyze_question(question))


def words(query: str) -> float:
    chinese = sum(1 for letter in query if detect_language(letter)[:2] == "zh")
    return chinese / 2 + sum(1 for word in query.split() if word.isascii())


async def planned(question: str, *, count: int = 4) -> list[str]:
    """Return the queries of all sections of the first round."""
    reasoner, brief = ExtractiveReasoner(), asked(question)
    texts: list[str] = []
    for section in (await reasoner.plan(brief)).sections:
        request = QueryRequest(brief=brief, section=section, asked=tuple(texts), count=count)
        texts += [query.query for query in await reasoner.queries(request)]
    return texts


@pytest.mark.parametrize("question", QUESTIONS)
async def test_a_query_is_short_and_made_of_the_question_and_no_two_ask_the_same(question: str) -> None:
    brief = asked(question)
    titles = " ".join((await ExtractiveReasoner().plan(brief)).titles)
    texts = await planned(question)
    assert texts
    for text in texts:
        assert 0 < words(text) <= MAX_WORDS + 1, text
        for word in text.split():
            assert word.lower() in f"{question} {titles}".lower(), f"{word!r} was not asked about"
    assert len({frozenset(content_terms(text)) for text in texts}) == len(texts)


@pytest.mark.parametrize(
    ("question", "first"),
    [
        (
            "What was the highest water temperature at Osier Island in 2021?",
            "highest water temperature Osier Island 2021",
        ),
        ("What did the Halden plant cost, and when was it finished?", "Halden plant cost finished"),
        ("Transformer 的注意力机制演进", "Transformer 注意力机制演进"),
        ("第二期裝修結算下來總共是多少錢？", "第二期裝修結算下來總共"),
    ],
)
async def test_the_first_query_keeps_names_nouns_and_dates_and_no_question_words(question: str, first: str) -> None:
    assert (await planned(question))[0] == first


async def test_each_part_of_a_question_is_asked_with_the_name_it_is_about() -> None:
    texts = await planned("How many kilos did Maison Orvane send back, and what moisture content did they measure?")
    assert "Maison Orvane moisture content measure" in texts


FILES = {
    "en": ("Purchase ledger\n\nMaison Orvane sent back 120 kg of tea on 14 March 2024.\n", "minutes.txt"),
    "zh": ("退货记录\n\nMaison Orvane于2024年3月14日退回茶叶120公斤，理由是水分过高。\n", "记录.txt"),
}
ACROSS: list[tuple[str, str, Language, str]] = [
    ("How much tea did Maison Orvane send back on 14 March 2024?", "zh", "en", "Maison Orvane 2024年3月14日"),
    ("Maison Orvane在2024年3月14日退回了多少茶叶？", "en", "zh-Hans", "Maison Orvane 14 March 2024"),
    ("Maison Orvane在2024年3月退回了多少茶葉？", "en", "zh-Hant", "Maison Orvane March 2024"),
]


@pytest.mark.parametrize(("question", "documents", "language", "query"), ACROSS)
async def test_documents_in_another_language_are_searched_by_names_and_dates_and_the_report_says_so(
    tmp_path: Path, question: str, documents: str, language: Language, query: str
) -> None:
    folder = tmp_path / "docs"
    folder.mkdir()
    text, name = FILES[documents]
    (folder / name).write_text(text, encoding="utf-8")
    corpus = FolderCorpus(folder, index=tmp_path / "corpus.db")
    await corpus.refresh()
    try:
        reasoner, brief = ExtractiveReasoner(corpus), asked(question).model_copy(update={"language": language})
        plan = await reasoner.plan(brief)
        queries = await reasoner.queries(QueryRequest(brief=brief, section=plan.sections[0], count=3))
        assert queries[0].query == query
        assert [hit.address for hit in await corpus.search(query, limit=3)] == [name]
        said = await reasoner.conclude(Draft(brief=brief, plan=plan, paragraphs=()))
    finally:
        await corpus.close()
    [line] = said.unanswered
    assert detect_language(line) == language


async def test_documents_in_the_language_of_the_question_are_searched_by_all_its_words(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "a.txt").write_text(FILES["en"][0], encoding="utf-8")
    corpus = FolderCorpus(tmp_path / "docs", index=tmp_path / "corpus.db")
    await corpus.refresh()
    try:
        brief = asked("How much tea did Maison Orvane send back?")
        request = QueryRequest(brief=brief, section=SectionPlan(title="Findings"), count=3)
        first, *_ = await ExtractiveReasoner(corpus).queries(request)
    finally:
        await corpus.close()
    assert "tea" in first.query


MIXED = {
    "halden.md": "# Halden Bay\n\nThe Harbour Heat retrofit of Halden Bay cost 146.2 million euros in total.\n",
    "fees.md": "# Tariffs\n\nThe tariff of the heat network is 11 cents for each unit of heat.\n",
    "青岚.md": "# 青岚市海绵城市改造\n\n青岚市（Qinglan）海绵城市改造工程累计完成投资48.6亿元。\n",
}


@pytest.mark.parametrize(
    ("question", "language", "title"),
    [
        ("How much did the sponge city works of Qinglan cost?", "en", "青岚市海绵城市改造"),
        ("雾港核电站改造花了多少钱？", "zh-Hans", "Halden Bay"),
    ],
)
async def test_an_unanswered_question_names_the_documents_in_another_language(
    tmp_path: Path, question: str, language: Language, title: str
) -> None:
    folder = tmp_path / "docs"
    folder.mkdir()
    for name, text in MIXED.items():
        (folder / name).write_text(text, encoding="utf-8")
    (folder / "第二.md").write_text("# 雾港\n\n雾港渔业产量稳定。\n", encoding="utf-8")
    corpus = FolderCorpus(folder, index=tmp_path / "corpus.db")
    await corpus.refresh()
    try:
        reasoner, brief = ExtractiveReasoner(corpus), asked(question).model_copy(update={"language": language})
        plan = await reasoner.plan(brief)
        said = await reasoner.conclude(Draft(brief=brief, plan=plan, paragraphs=()))
    finally:
        await corpus.close()
    [line] = said.unanswered
    assert not said.is_answered
    assert title in line
    assert line.startswith(words_in(language)("nothing.other_language", titles="\0").partition("\0")[0])
