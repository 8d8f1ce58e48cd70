"""What a model writes, judges and edits: the whole report in one answer, and each sentence told by its kind."""

import json
import re

import pytest

from deep_research.reasoning.model.prompting import PromptOptions
from deep_research.reasoning.rules.reasoner import ExtractiveReasoner
from deep_research.reasoning.values import (
    Context,
    Draft,
    Findings,
    Plan,
    QuestionAnalysis,
    QuestionKind,
    SectionPlan,
    Support,
)
from deep_research.report.paragraph import Paragraph, Sentence, Verdict, row
from deep_research.request import Language
from deep_research.text.messages.words import words_in
from tests.unit.reasoning.scripted import (
    Scripted,
    brief_of,
    findings_of,
    piece_of,
    reasoner_of,
    told,
    work_of,
)


async def test_a_report_has_its_answer_first_and_tells_what_each_sentence_is() -> None:
    text = (
        "Harbour 1 cost €3.4 million [E1]. Together both cost 9.8 million [calc: 3.4 + 6.4 = 9.8; E1, E2].\n\n"
        "## What to do\n\n1. **Wait.** We recommend to wait [so: E1, E2].\n\n"
        "## Gaps\n\n- No source names the builder [none: builder | contractor; E3].\n"
    )
    written = await reasoner_of(Scripted([text])).draft(findings_of())
    assert [(one.section, one.lead, one.mark) for one in written] == [
        ("abstract", "", ""),
        ("What to do", "Wait", "number"),
        ("Gaps", "", "bullet"),
    ]
    told = [(each.kind, each.evidence, each.basis) for one in written for each in one.sentences]
    assert told == [
        ("finding", ("id0001",), ""),
        ("calculation", ("id0001", "id0002"), "3.4 + 6.4 = 9.8"),
        ("conclusion", ("id0001", "id0002"), ""),
        ("absence", ("id0003",), "builder | contractor"),
    ]


async def test_a_report_from_nothing_needs_no_model() -> None:
    model = Scripted()
    assert await reasoner_of(model).draft(findings_of(work_of(0))) == ()
    assert model.requests == []


async def test_passages_travel_with_title_author_date_and_place() -> None:
    model = Scripted()
    where = Context(
        title="Annual report", author="Harbour office", place="page 3", headings="Costs › Steel", published="2025-02-01"
    )
    await reasoner_of(model).draft(findings_of(contexts={"id0001": where}))
    text = model.requests[0].text
    # When a file was saved says nothing about what it tells.
    assert "D1: Annual report — Harbour office — no date in its text\n" in text
    assert '<source id="E1" of="D1" at="page 3 › Costs › Steel">' in text


@pytest.mark.parametrize(
    ("opening", "listed"),
    [
        ("# A note\n\nBy the harbour office, 5 May 2025.\n\n## Costs\n\nSteel.", "By the harbour office, 5 May 2025."),
        ("THE BANK\nA note\nDate: 5 May 2025. By: Water team\n\nSteel.", "Date: 5 May 2025. By: Water team"),
        ("# A note\n\n*作者：邵闻笛　2026年2月9日*\n\n暴雨没有让地铁停运。", "作者：邵闻笛 2026年2月9日"),
        ("# A note\n\n## Costs\n\nSteel was dear in 2024.", "no date in its text"),
        ("# A note\n\n" + "Nobody wants the coal plant of 5 May 2025 back. " * 9, "no date in its text"),
        ("", "no date in its text"),
    ],
)
async def test_what_is_printed_under_a_title_says_more_than_the_files_date(opening: str, listed: str) -> None:
    model = Scripted()
    for is_page in (False, True):
        where = Context(title="A note", opening=opening, published="2026-03-01T08:00:00", is_page=is_page)
        await reasoner_of(model).draft(findings_of(contexts={"id0001": where}))
    file, page = (request.text for request in model.requests)
    assert f"D1: A note — {listed}\n" in file
    assert "D1: A note — 2026-03-01\n" in page


@pytest.mark.parametrize(
    ("kind", "form"),
    [
        ("advice", "numbered list of four to seven recommendations"),
        ("comparison", "one column for each thing compared"),
        ("trend", "figures over time are a table"),
        ("yes_no", "yes or no in the first words"),
    ],
)
async def test_the_writer_is_told_the_form_that_the_question_asks_for(kind: QuestionKind, form: str) -> None:
    model = Scripted()
    brief = brief_of().model_copy(update={"analysis": QuestionAnalysis(kind=kind)})
    await reasoner_of(model).draft(findings_of(brief=brief))
    assert form in model.requests[0].prompt


@pytest.mark.parametrize(("language", "parts"), [("en", ("Conclusion", "Outlook")), ("zh-Hans", ("结论", "展望"))])
async def test_an_open_question_asks_for_conclusion_and_outlook_and_a_single_fact_for_none(
    language: Language, parts: tuple[str, ...]
) -> None:
    model = Scripted()
    quotes = {"en": "", "zh-Hans": "港口改造共花费三百四十万元，由市政府分两期承担，并于当年年底完工验收。"}
    evidence = tuple(piece_of(number, quotes[language]) for number in (1, 2))
    work = work_of(language=language, evidence=evidence)
    await reasoner_of(model).draft(findings_of(work))
    short = SectionPlan(title=words_in(language)("report.findings"))
    await reasoner_of(model).draft(findings_of(work, plan=Plan(research_title="T", sections=(short,))))
    wide, narrow = (request.prompt for request in model.requests)
    assert all(f"`## {part}`" in wide and f"`## {part}`" not in narrow for part in parts)
    assert f"at most 200 {'words' if language == 'en' else 'characters'}" in wide


@pytest.mark.parametrize(("window", "words", "asked"), [(200_000, 4_620, 4_620), (16_000, 4_620, 1_066)])
async def test_a_report_is_asked_for_in_a_length_that_its_answer_has_room_for(
    window: int, words: int, asked: int
) -> None:
    model = Scripted()
    await reasoner_of(model, PromptOptions(window=window)).draft(findings_of(words=words))
    [request] = model.requests
    assert f"{0.9 * asked:.0f} to {1.1 * asked:.0f} words" in request.prompt
    assert request.max_tokens >= 3 * asked


async def test_a_look_from_one_side_is_asked_for_again() -> None:
    side = "### Who pays\n\nHarbour 1 cost €3.4 million [E1]. So it is dear [so: E1]."
    other = "### Who gains\n\nHarbour 2 cost €6.4 million [E2]. So it is warm [so: E2]."
    parts = ["Harbour 1 cost €3.4 million [E1].", "## Analysis", side]
    model = Scripted(["\n\n".join(parts), "\n\n".join([*parts, other])])
    written = await reasoner_of(model).draft(findings_of(asks_for_analysis=True))
    assert [one.lead for one in written if one.section == "Analysis"] == ["Who pays", "Who gains"]
    assert len(model.requests) == 2


_SENTENCES = (
    Sentence(text="Harbour 1 cost little.", evidence=("id0001",)),
    Sentence(text="As said.", evidence=("id0001",), verdict=Verdict(kind="supported")),
    Sentence(text="So one should wait.", kind="conclusion", evidence=("id0001", "id0002")),
)


def _support(*sentences: Sentence) -> Support:
    return Support(brief=brief_of(), paragraphs=(told(*sentences),), passages=work_of().evidence)


async def test_a_judge_sees_the_neighbours_and_judges_only_what_has_no_verdict() -> None:
    answer = {
        "sentences": [1, 2, 3, 9],
        "verdicts": ["not_found", "Not Found", "goes beyond", "supported"],
        "spans": ["", "", "", ""],
        "passages": ["", "", "E2, E77", ""],
        "reasons": ["made false", "nobody says so", "", ""],
    }
    model = Scripted([json.dumps(answer)])
    judged = await reasoner_of(model).judge(_support(*_SENTENCES))
    assert [(one.number, one.verdict, one.premises, one.reason) for one in judged] == [
        (1, "not_found", (), "nobody says so"),
        (3, "goes_beyond", ("id0002",), ""),
    ]
    text = r"1 \(finding\) (.+) \[E2\]\n2 \(finding\) Harbour 1 cost little. \[E1\]\nAs said.\n3 \(conclusion\) So one"
    planted = re.search(text, model.requests[0].prompt)
    assert planted, "a statement that was made false stands among them"
    assert "The retrofit of harbour" in planted[1]
    assert planted[1] not in work_of().evidence[1].quote
    assert "E3" not in model.requests[0].text, "passages that nobody cites are not shown"


async def test_a_verdict_that_is_none_decides_nothing() -> None:
    answer = {"sentences": [1, 3], "verdicts": ["fine", "perhaps"]}
    assert await reasoner_of(Scripted([json.dumps(answer)])).judge(_support(*_SENTENCES)) == ()


async def test_the_sentences_of_a_section_are_judged_in_one_call_and_very_many_in_few() -> None:
    one = Sentence(text="Harbour 1 cost little.", evidence=("id0001",))
    for count, calls in ((1, 1), (28, 1), (65, 3)):
        model = Scripted()
        judged = await reasoner_of(model).judge(_support(*[one] * count))
        assert [each.number for each in judged] == list(range(1, count + 1))
        assert len(model.requests) == calls


async def test_an_editor_sees_what_was_refused_and_why() -> None:
    refused = Sentence(
        text="Harbour 2 cost 9.", evidence=("id0002",), verdict=Verdict(kind="not_found", reason="number: 9")
    )
    draft = Draft(
        brief=brief_of(),
        plan=Plan(research_title="T", sections=()),
        paragraphs=(told(_SENTENCES[1], refused),),
        evidence=work_of().evidence,
    )
    answer = {"sentences": [2, 1, 7], "texts": ["Harbour 2 cost €6.4 million [E2]. It was dear [so: E2].", "", "New."]}
    model = Scripted([json.dumps(answer)])
    edits = await reasoner_of(model).edit(draft)
    assert [(edit.number, [(one.text, one.kind, one.evidence) for one in edit.sentences]) for edit in edits] == [
        (
            2,
            [
                ("Harbour 2 cost €6.4 million.", "finding", ("id0002",)),
                ("It was dear.", "conclusion", ("id0002",)),
            ],
        ),
        (1, []),
    ]
    assert "2: not_found, number: 9" in model.requests[0].prompt
    assert '<source id="E2">' in model.requests[0].text
    assert '<source id="E3">' not in model.requests[0].text


async def test_an_editor_hands_back_a_row_as_cells_or_deletes_it_or_changes_nothing() -> None:
    rows = [
        row((("Port", f"Harbour {number}"), ("Cost", f"€{number} million")), (f"id000{number}",))
        for number in (1, 2, 3, 4)
    ]
    table = Paragraph(section="Costs", kind="table", sentences=tuple(rows))
    draft = Draft(
        brief=brief_of(),
        plan=Plan(research_title="T", sections=()),
        paragraphs=(table,),
        evidence=work_of().evidence,
        words=200,
    )
    texts = ["| Harbour 1 | **€3.4 million** | [E1, E2] |", "", "Harbour 3 cost €9.4 million [E3].", "| Harbour 4 |"]
    model = Scripted([json.dumps({"sentences": [1, 2, 3, 4], "texts": texts})])
    edits = await reasoner_of(model).edit(draft)
    assert [(edit.number, edit.sentences) for edit in edits] == [
        (1, (row((("Port", "Harbour 1"), ("Cost", "€3.4 million")), ("id0001", "id0002")),)),
        (2, ()),
    ]
    assert "| Port | Cost |\n1 (finding, table row) | Harbour 1 | €1 million | [E1]" in model.requests[0].prompt


async def test_an_editor_sees_and_may_fill_the_empty_cells_of_a_row() -> None:
    rows = [
        row((("Port", "Harbour 1"), ("Cost", "€1 million"), ("Why", "storms")), ("id0001",)),
        row((("Port", "Harbour 2"), ("Why", "age")), ("id0002",)),
    ]
    draft = Draft(
        brief=brief_of(),
        plan=Plan(research_title="T", sections=()),
        paragraphs=(Paragraph(section="Costs", kind="table", sentences=tuple(rows)),),
        evidence=work_of().evidence,
        words=200,
    )
    model = Scripted([json.dumps({"sentences": [2], "texts": ["| Harbour 2 | €2 million | age | [E2] |"]})])
    edits = await reasoner_of(model).edit(draft)
    assert "2 (finding, table row) | Harbour 2 |  | age | [E2]" in model.requests[0].prompt
    cells = (("Port", "Harbour 2"), ("Cost", "€2 million"), ("Why", "age"))
    assert [edit.sentences for edit in edits] == [(row(cells, ("id0002",)),)]


async def test_a_row_may_be_edited_into_a_calculation_or_a_conclusion() -> None:
    before = row((("Port", "Both"), ("Cost", "€10 million")), ("id0001",))
    draft = Draft(
        brief=brief_of(),
        plan=Plan(research_title="T", sections=()),
        paragraphs=(Paragraph(section="Costs", kind="table", sentences=(before, before)),),
        evidence=work_of().evidence,
        words=200,
    )
    texts = ["| Both | 9.8 | [calc: 3.4 + 6.4 = 9.8; E1, E2] |", "| Two | dear | [so: E2] |"]
    edits = await reasoner_of(Scripted([json.dumps({"sentences": [1, 2], "texts": texts})])).edit(draft)
    assert [[(one.kind, one.basis, one.evidence, one.cells) for one in edit.sentences] for edit in edits] == [
        [("calculation", "3.4 + 6.4 = 9.8", ("id0001", "id0002"), (("Port", "Both"), ("Cost", "9.8")))],
        [("conclusion", "", ("id0002",), (("Port", "Two"), ("Cost", "dear")))],
    ]


async def test_the_answer_is_the_one_the_report_was_written_with_or_the_rules() -> None:
    model = Scripted()
    lead = told(Sentence(text="It cost much.", evidence=("id0001",)), section="abstract")
    body = told(Sentence(text=piece_of(1).quote, evidence=("id0001",)))
    plan = Plan(research_title="T", sections=())
    draft = Draft(brief=brief_of(), plan=plan, paragraphs=(lead, body), evidence=work_of().evidence)
    assert (await reasoner_of(model).conclude(draft)).abstract == (lead,)
    without = draft.model_copy(update={"paragraphs": (body,)})
    assert await reasoner_of(model).conclude(without) == await ExtractiveReasoner().conclude(without)
    assert model.requests == []


def _settled(*titles: str) -> Findings:
    plan = Plan(research_title="T", sections=tuple(SectionPlan(title=title) for title in titles))
    return findings_of(plan=plan, brief=brief_of().model_copy(update={"has_settled_plan": True}))


async def test_sections_that_a_user_settled_are_demanded_and_asked_for_again_where_one_is_left_out() -> None:
    answer = "Harbour 1 cost €3.4 million [E1].\n\n"
    price, noise = "## What is the price\n\nIt cost €3.4 million [E1].\n\n", "## Noise\n\nHarbour 2 is loud [E2].\n"
    model = Scripted([answer + price, answer + price + noise])
    written = await reasoner_of(model).draft(_settled("What is the price?", "Noise"))
    assert "exactly the planned ones, with their titles and in their order" in model.requests[0].text
    assert len(model.requests) == 2
    assert "in this order: What is the price?; Noise" in model.requests[1].turns[-1].text
    assert [one.section for one in written] == ["abstract", "What is the price?", "Noise"]


async def test_a_plan_that_nobody_looked_at_stays_advice() -> None:
    model = Scripted(["Harbour 1 cost €3.4 million [E1].\n\n## Other\n\nHarbour 2 cost €6.4 million [E2].\n"])
    await reasoner_of(model).draft(_settled("Price", "Noise").model_copy(update={"brief": brief_of()}))
    assert "take them, merge them or leave them out" in model.requests[0].text
    assert len(model.requests) == 1


@pytest.mark.parametrize(
    ("language", "name", "text"),
    [
        (
            "de",
            "German",
            "Der Umbau des Hafens 1 kostete am 1. März 2024 rund 3,4 Mio. Euro und z. B. die Kai war teuer",
        ),
        ("ja", "Japanese", "港1の改修には2024年に340万ユーロの費用がかかったことが報告書に記されている"),
        ("und", "the language of the question", "Uosto 1 rekonstrukcija 2024 metais kainavo 3,4 milijono eurų"),
    ],
)
async def test_a_report_is_written_in_the_language_of_the_question(language: str, name: str, text: str) -> None:
    stop = "。" if language == "ja" else "."
    model = Scripted([f"{text} [E1]{stop}\n\n## Titel\n\n{text} [E2]{stop}\n"])
    written = await reasoner_of(model).draft(findings_of(work_of(language=language)))
    assert f"Language of the report: {name}" in model.requests[0].text
    assert f"in {name}, from the passages" in model.requests[0].text
    assert len(model.requests) == 1
    assert [[each.text for each in one.sentences] for one in written] == [[f"{text}{stop}"]] * 2


async def test_a_report_in_another_language_than_the_questions_is_asked_for_again() -> None:
    english = "The retrofit of the harbour cost about €3.4 million, and it was paid by the city [E1]."
    german = "Der Umbau des Hafens kostete rund 3,4 Mio. Euro, und er wurde von der Stadt bezahlt [E1]."
    model = Scripted([english, german])
    written = await reasoner_of(model).draft(findings_of(work_of(language="de")))
    assert [request.turns[-1].text for request in model.requests[1:] if "wrong language" in request.turns[-1].text]
    assert written[0].sentences[0].text.startswith("Der Umbau")
