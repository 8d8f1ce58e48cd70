"""The model's reasoner against scripted answers: repair, refusal, bounds, and prompts that begin alike."""

import json

import pytest

from deep_research.documents.readers import PROMPT_INJECTION_FOUND
from deep_research.errors import UnusableAnswer
from deep_research.llm.port import ModelRequest
from deep_research.llm.tokens import tokens_at_most
from deep_research.reasoning.model.planning import finished_titles
from deep_research.reasoning.model.prompting import WARNING, PromptOptions, Prompts
from deep_research.reasoning.model.reasoner import ModelReasoner
from deep_research.reasoning.rules.reasoner import ExtractiveReasoner
from deep_research.reasoning.rules.weighing.charts import possible_series
from deep_research.reasoning.values import (
    Context,
    Draft,
    Finding,
    Inquiry,
    Plan,
    QueryRequest,
    ReadingRequest,
    SectionPlan,
    SourceFacts,
    Support,
)
from deep_research.report.evidence.passage import Evidence
from deep_research.report.paragraph import Sentence, Verdict
from deep_research.report.sources.document import Document
from tests.unit.reasoning.pieces import rows_of, table
from tests.unit.reasoning.scripted import (
    REFLECTION,
    SCORES,
    Script,
    Scripted,
    brief_of,
    findings_of,
    piece_of,
    reasoner_of,
    told,
    work_of,
)


async def test_a_reflection_carries_the_five_dimensions_and_is_told_where_the_passages_come_from() -> None:
    answer = {**SCORES, "added": "It cost much.", "gaps": ["who paid"], "next_queries": ["who paid"]}
    model = Scripted([json.dumps(answer)])
    sources = tuple(
        SourceFacts(document=name, host=host, published=day)
        for name, host, day in (("a", "x.test", "2019-05-01"), ("b", "x.test", "2024"), ("c", "y.test", ""))
    )
    judged = await reasoner_of(model).reflect(work_of(2, sources=sources, synthesis="It was repaired."))
    assert judged.dimensions.to_json() == SCORES
    assert (judged.synthesis, judged.coverage) == ("It was repaired.\n\nIt cost much.", 0.8)
    assert (judged.overall_score, judged.is_sufficient, judged.gaps) == (6, False, ("who paid",))
    told = "3 documents, of 2 sites on the web; dated 2019 to 2024; 1 without a date"
    assert told in model.requests[0].prompt


async def test_a_reflection_over_own_documents_and_over_none_says_so() -> None:
    for sources, line in (((SourceFacts(document="a"),), "1 documents; 1 without a date"), ((), "from: (none)")):
        model = Scripted()
        await reasoner_of(model).reflect(work_of(2, sources=sources))
        assert line in model.requests[0].prompt


async def test_whoever_chooses_charts_sees_each_series_with_its_document_and_little_else() -> None:
    rows = [row for row, _ in rows_of(table(["Year", "Cost"], ["2021", "€5"], ["2022", "€7"], ["2024", "€9"]), "a")]
    work = work_of(0, evidence=tuple(rows), synthesis="It cost €3.4 million. " * 1_000)
    model = Scripted([json.dumps({"charts": [1]})])
    contexts = {row.id: Context(title="The tariff sheet") for row in rows}
    (chart,) = await reasoner_of(model).plan_charts(findings_of(work, contexts=contexts))
    (request,) = model.requests
    assert len(chart.rows) == 3
    assert "The tariff sheet\nlabel | value\n2021 | 5\n" in request.prompt
    assert request.prompt.count("It cost €3.4 million.") < 100


@pytest.mark.parametrize(
    ("others", "form", "expected"),
    [
        (["Sweden"], "area", ("area", {"Norway", "Sweden"})),
        (["Sweden", "Share"], "pie", ("pie", {""})),
        ([], "hologram", ("line", {""})),
    ],
    ids=["joined", "another unit", "alone"],
)
async def test_a_model_joins_series_of_one_unit_and_chooses_the_form(
    others: list[str], form: str, expected: tuple[str, set[str]]
) -> None:
    header = ["Year", "Norway", "Sweden", "Share"]
    lines = [["2020", "91", "58", "5 %"], ["2021", "103", "71", "7 %"], ["2022", "119", "84", "8 %"]]
    rows = [row for row, _ in rows_of(table(header, *lines), "a")]
    findings = findings_of(work_of(0, evidence=tuple(rows)))
    numbers = {one.measure: at for at, one in enumerate(possible_series(findings, most=9, is_chosen=True), start=1)}
    joined = ", ".join(str(numbers[name]) for name in others)
    charts = {"charts": [numbers["Norway"]], "titles": ["Sales"], "joined": [joined]}
    answer = {**charts, "forms": [form], "programs": ["draw()"]}
    given = findings.model_copy(update={"has_sandbox": True})
    (chart,) = await reasoner_of(Scripted([json.dumps(answer)])).plan_charts(given)
    assert (chart.chart_type, {row.series for row in chart.rows}) == expected
    assert chart.python_code == "draw()"
    # Without programs, only what ours can draw.
    (plain,) = await reasoner_of(Scripted([json.dumps(answer)])).plan_charts(findings)
    assert (plain.chart_type, plain.rows) == ("line", chart.rows)


# Repair and refusal


async def test_an_unreadable_answer_is_repaired_with_what_was_wrong() -> None:
    model = Scripted(["I think the coverage is good.", REFLECTION])
    reflection = await reasoner_of(model).reflect(work_of())
    assert reflection.synthesis == "It cost €3.4 million."
    first, second = model.requests
    assert second.context == first.context
    assert second.prompt == first.prompt
    assert [turn.speaker for turn in second.turns] == ["model", "user"]
    assert second.turns[0].text == "<draft>\nI think the coverage is good.\n</draft>"
    assert "no JSON object" in second.turns[1].text


async def test_two_unreadable_answers_are_given_up() -> None:
    model = Scripted(["nonsense", "more nonsense"])
    with pytest.raises(UnusableAnswer, match="reflect"):
        await reasoner_of(model).reflect(work_of())
    assert len(model.requests) == 2


TRANSCRIPTS: dict[str, Script] = {
    "empty": ["", ""],
    "echo of the prompt": ["# Step: write the report\n\nWrite the report that the asker needs."] * 2,
    "refusal": [("I'm sorry, but I can't help with that.", "refusal")] * 2,
    "endless repetition": [("the the the the " * 600, "loop")] * 2,
    "no citation": ["The retrofit was costly. Everybody agrees about that in the whole city."] * 2,
    "invented sources": ["The retrofit was costly [E77]. It is known to all [E78]."] * 2,
    "wrong language": ["Le projet a coûté trois millions d'euros au total, selon la ville de Halden [E1]."] * 2,
    "cut before the first sentence ended": [("The retrofit of the harbour cost in all", "length")] * 2,
    "a list of fragments": ['["E1", "E2"]'] * 2,
}


@pytest.mark.parametrize("script", TRANSCRIPTS.values(), ids=TRANSCRIPTS)
async def test_a_draft_that_cannot_be_used_is_given_up_after_one_repair(script: Script) -> None:
    model = Scripted(script)
    with pytest.raises(UnusableAnswer):
        await reasoner_of(model).draft(findings_of())
    assert len(model.requests) == 2


async def test_a_draft_in_the_wrong_language_is_repaired() -> None:
    wrong = "Le projet a coûté trois millions d'euros au total, selon la ville de Halden [E1]."
    model = Scripted([wrong, "The retrofit of harbour 1 cost €3.4 million in total [E1]."])
    (paragraph,) = await reasoner_of(model).draft(findings_of())
    assert paragraph.sentences[0].evidence == ("id0001",)
    assert "wrong language" in model.requests[1].turns[1].text


async def test_a_draft_cut_at_the_limit_keeps_its_whole_sentences() -> None:
    model = Scripted([("Harbour 1 cost €3.4 million [E1]. Harbour 2 cost", "length")])
    (paragraph,) = await reasoner_of(model).draft(findings_of())
    assert [sentence.text for sentence in paragraph.sentences] == ["Harbour 1 cost €3.4 million."]
    assert len(model.requests) == 1


async def test_half_an_answer_gets_more_room_the_second_time() -> None:
    model = Scripted([("", "length"), REFLECTION])
    await reasoner_of(model).reflect(work_of())
    assert model.requests[1].max_tokens == 2 * model.requests[0].max_tokens


async def test_a_useless_answer_of_any_length_is_shown_in_part() -> None:
    model = Scripted(["nonsense " * 20_000, REFLECTION])
    await reasoner_of(model).reflect(work_of())
    assert tokens_at_most(model.requests[1].text) + model.requests[1].max_tokens < 16_000


# What the acts make of good answers


# In so small a window this is no short document.
NARROW = PromptOptions(window=3_200)
TEXT = (
    "The retrofit cost €3.4 million in 2024, and the harbour office of Halden paid all of it by itself.\n\n"
    "The mayor was pleased with the result of the work, and so were the people who live at the old pier, though not all"
    " of them had wanted it at first, when the council told them of the plan and of what it would cost them.\n\n"
    "The choir of the town sings at the new pier in summer, and the gulls are louder than it is, which is fine; the"
    " children count them, and the fishermen of Halden say that there were never so many of them in all the years.\n"
)


def reading_of(text: str, *outline: str, warnings: tuple[str, ...] = ()) -> ReadingRequest:
    document = Document(
        id="d", snapshot="s", title="R", text=text, media_type="text/plain", extractor="plain 1", warnings=warnings
    )
    section = SectionPlan(title="Costs")
    return ReadingRequest(brief=brief_of(), section=section, outline=outline, documents=(document,))


async def test_only_passages_that_were_shown_become_findings() -> None:
    chosen = {"passages": [1, 99, 1], "sections": [1, 1, 1], "relevance": [9]}
    reading = reading_of(TEXT, "Costs", "Mood")
    found = await reasoner_of(Scripted([json.dumps(chosen)]), NARROW).extract(reading)
    assert [TEXT[finding.start : finding.end] for finding in found] == [TEXT.strip()]
    # What a passage says is its own words, not a model's.
    assert "".join(found[0].finding.split()) == "".join(TEXT.split())
    other = await reasoner_of(Scripted([json.dumps(chosen)]), NARROW).extract(
        reading.model_copy(update={"section": SectionPlan(title="Mood")})
    )
    # A page is read once, for whichever section asked; what it has for another is told with it.
    assert [finding.section for finding in (*found, *other)] == ["Costs", "Costs"]


async def test_a_plan_leaves_out_what_the_program_adds_itself() -> None:
    answer = {"title": "T", "sections": ["Introduction", "Costs", "Results", "结论"], "queries": ["a"]}
    plan = await reasoner_of(Scripted([json.dumps(answer)])).plan(brief_of())
    assert [section.title for section in plan.sections] == ["Costs", "Results"]


async def test_a_plan_of_nothing_but_fixed_parts_is_repaired_then_given_up() -> None:
    empty = json.dumps({"title": "T", "sections": ["Introduction", "", "Conclusion"]})
    model = Scripted([empty, empty])
    with pytest.raises(UnusableAnswer, match="section"):
        await reasoner_of(model).plan(brief_of())
    assert len(model.requests) == 2


async def test_a_plan_in_the_wrong_language_is_not_taken() -> None:
    sections = ["港口改造的全部费用", "改造工程的成效与影响", "居民意见与批评"]
    chinese = json.dumps({"title": "港口改造的费用与成效研究报告", "sections": sections, "descriptions": sections})
    with pytest.raises(UnusableAnswer, match="language"):
        await reasoner_of(Scripted([chinese, chinese])).plan(brief_of())


async def test_valid_choices_after_invalid_ones_are_not_lost() -> None:
    chosen = {"passages": [*range(50, 60), 1], "sections": [1] * 11}
    model = Scripted([json.dumps(chosen)])
    assert len(await reasoner_of(model, NARROW).extract(reading_of(TEXT))) == 1
    assert len(model.requests) == 1


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("What did the harbour retrofit cost?", "The harbour retrofit cost €3.4 million in 2024."),
        ("海绵城市改造花了多少钱？", "青岚市海绵城市改造工程累计完成投资48.6亿元。"),
        ("海綿城市改造花了多少錢？", "青嵐市海綿城市改造工程累計完成投資48.6億元。"),
    ],
)
async def test_a_note_of_one_line_is_not_lost(question: str, text: str) -> None:
    document = Document(id="d", snapshot="s", title="Note", text=text, media_type="text/plain", extractor="plain 1")
    reading = ReadingRequest(
        brief=brief_of("en" if question.isascii() else "zh-Hans", question),
        section=SectionPlan(title="Costs"),
        documents=(document,),
    )
    (found,) = await reasoner_of(Scripted()).extract(reading)
    assert text[found.start : found.end] == text


@pytest.mark.parametrize("text", ["Annual report", "海绵城市改造", "References", ""])
async def test_a_page_with_a_title_alone_costs_no_call(text: str) -> None:
    model = Scripted()
    document = Document(id="d", snapshot="s", title=text, text=text, media_type="text/plain", extractor="plain 1")
    reading = ReadingRequest(brief=brief_of(), section=SectionPlan(title="Costs"), documents=(document,))
    assert await reasoner_of(model).extract(reading) == ()
    assert model.requests == []


async def test_numbers_that_name_no_passage_are_no_choice() -> None:
    reading = reading_of(TEXT)
    for useless in ('{"passages": ["The', '{"passages": [77]}'):
        model = Scripted([useless])
        assert len(await reasoner_of(model, NARROW).extract(reading)) == 1
        assert "name no passage" in model.requests[1].turns[1].text
    assert await reasoner_of(Scripted(['{"passages": []}']), NARROW).extract(reading) == ()


class _Choosy(ExtractiveReasoner):
    """Chooses one passage of a document."""

    async def extract(self, reading: ReadingRequest) -> tuple[Finding, ...]:
        return (await super().extract(reading))[:1]


async def test_a_short_document_is_read_whole_without_a_call() -> None:
    text = TEXT + "\nThe choir of the town sings in summer, and the gulls of the old pier are louder than it is.\n" * 3
    model = Scripted()
    reading, rules = reading_of(text, "Costs", "Mood"), _Choosy()
    reasoner = ModelReasoner(model, prompts=Prompts(), options=PromptOptions(), fallback=rules)
    first, *others = await reasoner.extract(reading)
    assert model.requests == []
    assert "".join("".join(one.finding.split()) for one in (first, *others)) == "".join(text.split())
    assert all("".join(text[one.start : one.end].split()) == "".join(one.finding.split()) for one in (first, *others))
    # What rules would choose comes first where room is short.
    (chosen,) = await rules.extract(reading)
    assert (first.score, first.section) == (chosen.score, chosen.section)
    assert first.score > 0
    assert {(one.score, one.section) for one in others} == {(0.0, "")}


@pytest.mark.parametrize(
    ("text", "warnings", "window"),
    [(TEXT, (PROMPT_INJECTION_FOUND,), 16_000), (TEXT, (), NARROW.window), (TEXT * 10, (), 16_000)],
    ids=["suspect", "small window", "long"],
)
async def test_a_suspect_or_longer_document_is_asked_about(text: str, warnings: tuple[str, ...], window: int) -> None:
    model = Scripted()
    await reasoner_of(model, PromptOptions(window=window)).extract(reading_of(text, warnings=warnings))
    assert [request.act for request in model.requests] == ["extract"]
    assert (WARNING in model.requests[0].text) is bool(warnings)


async def test_all_evidence_is_kept_for_whoever_writes_and_nobody_is_asked() -> None:
    model = Scripted()
    work = work_of().replace(evidence=tuple(_long(number) for number in range(1, 201)))
    assert (await reasoner_of(model).compress(work)).evidence == tuple(piece.id for piece in work.evidence)
    assert model.requests == []


async def test_the_askers_own_focuses_are_the_sections() -> None:
    brief = brief_of().model_copy(update={"focus": ("Noise", "Price"), "has_own_focus": True})
    answer = {
        "title": "T",
        "sections": ["Other"],
        "descriptions": ["How loud?"],
        "queries": ["a", "b"],
        "query_sections": [2, 1],
    }
    plan = await reasoner_of(Scripted([json.dumps(answer)])).plan(brief)
    assert [section.title for section in plan.sections] == ["Noise", "Price"]
    assert [query.query for query in plan.sections[1].search_queries] == ["a"]


# Bounds and prefixes


def _long(number: int) -> Evidence:
    return piece_of(
        number, f"In district {number} the retrofit cost {number} million euros, and this was reported at length. " * 12
    )


async def test_two_hundred_sources_never_overflow_a_window_of_sixteen_thousand() -> None:
    model = Scripted()
    reasoner = reasoner_of(model, PromptOptions(window=16_000))
    evidence = tuple(_long(number) for number in range(1, 201))
    work = work_of().model_copy(update={"evidence": evidence})
    await reasoner.compress(work)
    await reasoner.reflect(work)
    findings = findings_of(work, contexts={piece.id: Context(title="Title " * 50) for piece in evidence})
    await reasoner.draft(findings)
    body = tuple(told(Sentence(text=f"It cost {piece.id}.", evidence=(piece.id,))) for piece in evidence)
    await reasoner.judge(Support(brief=work.brief, paragraphs=body, passages=evidence, contexts=findings.contexts))
    half = Verdict(kind="partly")
    partly = tuple(one.replace(sentences=tuple(each.replace(verdict=half) for each in one.sentences)) for one in body)
    await reasoner.edit(Draft(brief=work.brief, plan=findings.plan, paragraphs=partly, evidence=evidence))
    assert {request.act for request in model.requests} == {"reflect", "draft", "judge", "edit"}
    for request in model.requests:
        assert tokens_at_most(request.text) + request.max_tokens <= 16_000, request.act
    cut = {request.act: request.left_out for request in model.requests}
    assert all(cut[act] > 0 for act in ("draft", "edit")), cut


async def test_every_prompt_without_its_evidence_has_at_most_three_thousand_tokens() -> None:
    model = Scripted()
    reasoner, work = reasoner_of(model), work_of(1)
    plan = Plan(research_title="T", sections=(work.section,))
    await reasoner.assess(Inquiry(question=work.brief.question))
    await reasoner.plan(work.brief)
    await reasoner.queries(QueryRequest(brief=work.brief, section=work.section, count=3))
    await reasoner.reflect(work)
    await reasoner.draft(findings_of(work))
    where = {piece.id: Context(title="Harbour 1") for piece in work.evidence}
    findings = findings_of(work, contexts=where, words=4_000)
    chapters = await reasoner.outline(findings)
    await reasoner.draft(findings.replace(chapters=chapters, chapter=1))
    body = (told(Sentence(text="It cost much.", evidence=("id0001",))),)
    draft = Draft(brief=work.brief, plan=plan, paragraphs=body, evidence=work.evidence, words=200)
    await reasoner.answer(draft)
    await reasoner.judge(Support(brief=work.brief, paragraphs=body, passages=work.evidence))
    await reasoner.edit(draft)
    acts = ["assess", "plan", "queries", "reflect", "draft", "outline", "draft", "answer", "judge", "edit"]
    assert [request.act for request in model.requests] == acts
    sizes = [(request.act, tokens_at_most(request.text)) for request in model.requests]
    assert all(size <= 3_000 for _, size in sizes), sizes


async def test_judgements_begin_alike_and_are_shown_what_their_round_found() -> None:
    model = Scripted()
    reasoner, work = reasoner_of(model), work_of(6)
    ids = [piece.id for piece in work.evidence]
    await reasoner.reflect(work.replace(evidence=work.evidence[:4], fresh=tuple(ids[:4])))
    await reasoner.reflect(work.replace(fresh=tuple(ids[4:]), round=2, synthesis="It cost much."))
    first, later = model.requests
    assert first.system == later.system
    assert later.context[0] == first.context[0]
    shown = [[piece.id for piece in work.evidence if piece.quote in one.text] for one in (first, later)]
    assert shown == [ids[:4], ids[4:]]
    assert "It cost much." in later.prompt


async def test_each_habit_can_be_switched_off() -> None:
    work = work_of(2, failures=("https://example.test/x: 403",))
    work = work.replace(fresh=tuple(piece.id for piece in work.evidence))

    async def prompt(options: PromptOptions) -> ModelRequest:
        model = Scripted()
        await reasoner_of(model, options).reflect(work)
        return model.requests[0]

    full = await prompt(PromptOptions())
    assert "Failed so far" in full.prompt
    assert "- [x] search for: harbour retrofit cost" in full.prompt
    assert "Tools at this step: respond, web_search" in full.prompt
    assert "Failed so far" not in (await prompt(PromptOptions(error_preservation=False))).prompt
    assert "- [x]" not in (await prompt(PromptOptions(todo_recitation=False))).prompt
    assert "Tools at this step" not in (await prompt(PromptOptions(tool_mask=False))).prompt
    loose = await prompt(PromptOptions(stable_prefix=False))
    assert loose.context == ()
    assert loose.prompt.index("# Step") < loose.prompt.index("<source")


async def test_no_question_however_long_overflows_the_window() -> None:
    question = "这个港口的改造工程究竟花费了多少钱，又取得了怎样的成效？" * 650
    brief = brief_of("zh-Hans", question)
    work = work_of(30, "zh-Hans").model_copy(
        update={"brief": brief, "asked": (question,) * 40, "synthesis": question, "failures": ("x" * 500,) * 50}
    )
    model = Scripted([REFLECTION, "资料显示如此。[E1]"])
    reasoner = reasoner_of(model)
    await reasoner.reflect(work)
    await reasoner.draft(findings_of(work))
    await reasoner.queries(QueryRequest(brief=brief, section=work.section, count=3, asked=work.asked))
    for request in model.requests:
        assert tokens_at_most(request.text) + request.max_tokens <= 16_000, request.act


async def test_a_query_names_its_sources_behind_it_in_brackets() -> None:
    told = ["heat pump trials [openalex, arXiv]", "C arrays [0]", "tariffs [made-up]", "热泵 效率 [mcp:papers]"]
    model = Scripted([json.dumps({"queries": told}, ensure_ascii=False)])
    work = work_of(1)
    queries = await reasoner_of(model).queries(QueryRequest(brief=work.brief, section=work.section, count=9))
    assert [(query.query, query.engines) for query in queries] == [
        ("heat pump trials", ("openalex", "arxiv")),
        ("C arrays [0]", ()),
        ("tariffs [made-up]", ()),
        ("热泵 效率", ("mcp:papers",)),
    ]


@pytest.mark.parametrize(
    ("text", "titles"),
    [
        ("", []),
        ('{"title": "Halden", "sections": ["Costs', []),
        ('{"title": "Halden", "sections": ["Costs"', ["Costs"]),
        ('{"title": "Halden", "sections": ["Costs", "Cost', ["Costs"]),
        ('```json\n{"sections": ["Costs", "Results"], "queries": ["noi', ["Costs", "Results"]),
        ('{"title": "青岚", "sections": ["成本与资金", "效果', ["成本与资金"]),
        ('{"title": "青嵐", "sections": ["成本與資金", "效果"]}', ["成本與資金", "效果"]),
        ('{"sections": [{"title": "Costs", "description": "What', ["Costs"]),
        ('{"sections": ["\\u6210\\u672c"]}', ["成本"]),
    ],
)
def test_titles_of_a_plan_are_shown_when_they_are_complete(text: str, titles: list[str]) -> None:
    assert finished_titles(text) == titles
