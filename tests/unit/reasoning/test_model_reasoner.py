"""The model's reasoner against scripted answers: repair, refusal, bounds, and prompts that begin alike."""

import json
from collections.abc import Sequence

import pytest

from deep_research.errors import UnusableAnswer
from deep_research.evidence.passage import Evidence
from deep_research.llm.port import ModelReply, ModelRequest, OnDelta, StopReason
from deep_research.llm.tokens import tokens_at_most
from deep_research.reasoning.model.planning import finished_titles
from deep_research.reasoning.model.prompting import PromptOptions, Prompts
from deep_research.reasoning.model.reasoner import ModelReasoner
from deep_research.reasoning.rules.question.analysis import analyze_question
from deep_research.reasoning.rules.reasoner import ExtractiveReasoner
from deep_research.reasoning.values import (
    Brief,
    Context,
    Draft,
    Findings,
    Inquiry,
    Plan,
    QueryRequest,
    QuestionAnalysis,
    QuestionKind,
    ReadingRequest,
    SectionPlan,
    SectionWork,
    SourceFacts,
    Support,
)
from deep_research.report.paragraph import Paragraph, Sentence, Verdict
from deep_research.request import Language, Spend
from deep_research.sources.document import Document
from deep_research.sources.hit import SearchQuery
from tests.support.analyst import answer_in_form

Script = Sequence[str | tuple[str, StopReason]]


class Scripted:
    """A model that gives the listed answers in turn, then answers in form."""

    name = "scripted:list"
    unpriced: tuple[str, ...] = ()

    def __init__(self, answers: Script = ()) -> None:
        self._answers = list(answers)
        self.requests: list[ModelRequest] = []

    def estimate(self, request: ModelRequest) -> Spend:
        return Spend(tokens=tokens_at_most(request.text) + request.max_tokens)

    async def complete(self, request: ModelRequest, *, on_delta: OnDelta | None = None) -> ModelReply:
        self.requests.append(request)
        given = self._answers.pop(0) if self._answers else answer_in_form(request)
        text, stop = given if isinstance(given, tuple) else (given, "stop")
        return ModelReply(text=text, stop=stop, model=self.name, tokens_in=1, tokens_out=1, usd=0.0)


def _reasoner(model: Scripted, options: PromptOptions | None = None) -> ModelReasoner:
    return ModelReasoner(model, prompts=Prompts(), options=options or PromptOptions(), fallback=ExtractiveReasoner())


def _brief(language: Language = "en", question: str = "What did the harbour retrofit cost?") -> Brief:
    return Brief(question=question, original=question, language=language)


def _piece(number: int, quote: str = "") -> Evidence:
    text = quote or f"The retrofit of harbour {number} cost €{number * 3}.4 million in total."
    return Evidence(
        id=f"id{number:04}",
        document=f"d{number % 7}",
        start=0,
        end=len(text),
        quote=text,
        finding=text,
        section="Costs",
        score=number % 5,
    )


def _work(pieces: int = 4, language: Language = "en", **more: object) -> SectionWork:
    work = SectionWork(
        brief=_brief(language),
        section=SectionPlan(title="Costs", description="What did it cost?"),
        evidence=tuple(_piece(number) for number in range(1, pieces + 1)),
        round=1,
        asked=("harbour retrofit cost",),
    )
    return work.model_copy(update=more)


def _findings(work: SectionWork | None = None, **more: object) -> Findings:
    work = work or _work()
    found = Findings(brief=work.brief, plan=Plan(research_title="T", sections=(work.section,)), sections=(work,))
    return found.model_copy(update=more)


def _told(*sentences: Sentence, section: str = "Costs") -> Paragraph:
    return Paragraph(section=section, sentences=sentences)


_SCORES = {"coverage": 8, "depth": 6, "diversity": 3, "consistency": 9, "recency": 5}
_REFLECTION = json.dumps({**_SCORES, "synthesis": "It cost €3.4 million."})


async def test_a_reflection_carries_the_five_dimensions_and_is_told_where_the_passages_come_from() -> None:
    answer = {**_SCORES, "synthesis": "It cost much.", "gaps": ["who paid"], "next_queries": ["who paid"]}
    model = Scripted([json.dumps(answer)])
    sources = tuple(
        SourceFacts(document=name, host=host, published=day)
        for name, host, day in (("a", "x.test", "2019-05-01"), ("b", "x.test", "2024"), ("c", "y.test", ""))
    )
    judged = await _reasoner(model).reflect(_work(2, sources=sources))
    assert judged.dimensions.to_json() == _SCORES
    assert (judged.synthesis, judged.coverage) == ("It cost much.", 0.8)
    assert (judged.overall_score, judged.is_sufficient, judged.gaps) == (6, False, ("who paid",))
    told = "3 documents, of 2 sites on the web; dated 2019 to 2024; 1 without a date"
    assert told in model.requests[0].prompt


async def test_a_reflection_over_own_documents_and_over_none_says_so() -> None:
    for sources, told in (((SourceFacts(document="a"),), "1 documents; 1 without a date"), ((), "from: (none)")):
        model = Scripted()
        await _reasoner(model).reflect(_work(2, sources=sources))
        assert told in model.requests[0].prompt


# Repair and refusal


async def test_an_unreadable_answer_is_repaired_with_what_was_wrong() -> None:
    model = Scripted(["I think the coverage is good.", _REFLECTION])
    reflection = await _reasoner(model).reflect(_work())
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
        await _reasoner(model).reflect(_work())
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
        await _reasoner(model).draft(_findings())
    assert len(model.requests) == 2


async def test_a_draft_in_the_wrong_language_is_repaired() -> None:
    wrong = "Le projet a coûté trois millions d'euros au total, selon la ville de Halden [E1]."
    model = Scripted([wrong, "The retrofit of harbour 1 cost €3.4 million in total [E1]."])
    (paragraph,) = await _reasoner(model).draft(_findings())
    assert paragraph.sentences[0].evidence == ("id0001",)
    assert "wrong language" in model.requests[1].turns[1].text


async def test_a_draft_cut_at_the_limit_keeps_its_whole_sentences() -> None:
    model = Scripted([("Harbour 1 cost €3.4 million [E1]. Harbour 2 cost", "length")])
    (paragraph,) = await _reasoner(model).draft(_findings())
    assert [sentence.text for sentence in paragraph.sentences] == ["Harbour 1 cost €3.4 million."]
    assert len(model.requests) == 1


async def test_half_an_answer_gets_more_room_the_second_time() -> None:
    model = Scripted([("", "length"), _REFLECTION])
    await _reasoner(model).reflect(_work())
    assert model.requests[1].max_tokens == 2 * model.requests[0].max_tokens


async def test_a_useless_answer_of_any_length_is_shown_in_part() -> None:
    model = Scripted(["nonsense " * 20_000, _REFLECTION])
    await _reasoner(model).reflect(_work())
    assert tokens_at_most(model.requests[1].text) + model.requests[1].max_tokens < 16_000


# What the acts make of good answers


async def test_only_passages_that_were_shown_become_findings() -> None:
    text = "The retrofit cost €3.4 million in 2024.\n\nThe mayor was pleased with the result of the work.\n"
    document = Document(id="d", snapshot="s", title="Report", text=text, media_type="text/plain", extractor="plain 1")
    chosen = {"passages": [1, 99, 1], "sections": [1, 1, 1], "relevance": [9]}
    reading = ReadingRequest(
        brief=_brief(),
        section=SectionPlan(title="Costs"),
        outline=("Costs", "Mood"),
        query=SearchQuery(query="cost"),
        document=document,
    )
    found = await _reasoner(Scripted([json.dumps(chosen)])).extract(reading)
    assert [text[finding.start : finding.end] for finding in found] == [text.strip()]
    # What a passage says is its own words, not a model's.
    assert "".join(found[0].finding.split()) == "".join(text.split())
    other = await _reasoner(Scripted([json.dumps(chosen)])).extract(
        reading.model_copy(update={"section": SectionPlan(title="Mood")})
    )
    # A page is read once, for whichever section asked; what it has for another is told with it.
    assert [finding.section for finding in (*found, *other)] == ["Costs", "Costs"]


async def test_a_plan_leaves_out_what_the_program_adds_itself() -> None:
    answer = {"title": "T", "sections": ["Introduction", "Costs", "Results", "结论"], "queries": ["a"]}
    plan = await _reasoner(Scripted([json.dumps(answer)])).plan(_brief())
    assert [section.title for section in plan.sections] == ["Costs", "Results"]


async def test_an_assessment_that_broke_off_is_asked_for_again_and_never_put_to_the_asker() -> None:
    model = Scripted(['{"confidence": 0.95,'])
    assessment = await _reasoner(model).assess(Inquiry(question="What did the harbour retrofit of Halden cost?"))
    assert assessment.next_action == "START_RESEARCH"
    assert len(model.requests) == 2
    with pytest.raises(UnusableAnswer, match="goal"):
        await _reasoner(Scripted(['{"confidence": 0.95,'] * 2)).assess(Inquiry(question="What did it cost?"))


async def test_a_plan_of_nothing_but_fixed_parts_is_repaired_then_given_up() -> None:
    empty = json.dumps({"title": "T", "sections": ["Introduction", "", "Conclusion"]})
    model = Scripted([empty, empty])
    with pytest.raises(UnusableAnswer, match="section"):
        await _reasoner(model).plan(_brief())
    assert len(model.requests) == 2


async def test_a_plan_in_the_wrong_language_is_not_taken() -> None:
    sections = ["港口改造的全部费用", "改造工程的成效与影响", "居民意见与批评"]
    chinese = json.dumps({"title": "港口改造的费用与成效研究报告", "sections": sections, "descriptions": sections})
    with pytest.raises(UnusableAnswer, match="language"):
        await _reasoner(Scripted([chinese, chinese])).plan(_brief())


async def test_valid_choices_after_invalid_ones_are_not_lost() -> None:
    text = "The retrofit cost €3.4 million in 2024, and the harbour office of Halden paid all of it by itself.\n"
    document = Document(id="d", snapshot="s", title="R", text=text, media_type="text/plain", extractor="plain 1")
    chosen = {"passages": [*range(50, 60), 1], "sections": [1] * 11}
    reading = ReadingRequest(
        brief=_brief(), section=SectionPlan(title="Costs"), query=SearchQuery(query="cost"), document=document
    )
    assert len(await _reasoner(Scripted([json.dumps(chosen)])).extract(reading)) == 1


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("What did the harbour retrofit cost?", "The harbour retrofit cost €3.4 million in 2024."),
        ("海绵城市改造花了多少钱？", "青岚市海绵城市改造工程累计完成投资48.6亿元。"),
        ("海綿城市改造花了多少錢？", "青嵐市海綿城市改造工程累計完成投資48.6億元。"),
    ],
)
async def test_a_note_of_one_line_costs_no_call_and_is_not_lost(question: str, text: str) -> None:
    model = Scripted()
    document = Document(id="d", snapshot="s", title="Note", text=text, media_type="text/plain", extractor="plain 1")
    reading = ReadingRequest(
        brief=_brief("en" if question.isascii() else "zh-Hans", question),
        section=SectionPlan(title="Costs"),
        query=SearchQuery(query="cost"),
        document=document,
    )
    (found,) = await _reasoner(model).extract(reading)
    assert text[found.start : found.end] == text
    assert model.requests == []


async def test_a_report_has_its_answer_first_and_tells_what_each_sentence_is() -> None:
    text = (
        "Harbour 1 cost €3.4 million [E1]. Together both cost 9.8 million [calc: 3.4 + 6.4 = 9.8; E1, E2].\n\n"
        "## What to do\n\n1. **Wait.** We recommend to wait [so: E1, E2].\n\n"
        "## Gaps\n\n- No source names the builder [none: builder | contractor; E3].\n"
    )
    written = await _reasoner(Scripted([text])).draft(_findings())
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
    assert await _reasoner(model).draft(_findings(_work(0))) == ()
    assert model.requests == []


async def test_passages_travel_with_title_author_date_and_place() -> None:
    model = Scripted()
    where = Context(
        title="Annual report", author="Harbour office", place="page 3", headings="Costs › Steel", published="2025-02-01"
    )
    await _reasoner(model).draft(_findings(contexts={"id0001": where}))
    text = model.requests[0].text
    assert "D1: Annual report — Harbour office — 2025-02-01" in text
    assert '<source id="E1" of="D1" at="page 3 › Costs › Steel">' in text


@pytest.mark.parametrize(
    ("kind", "form"),
    [
        ("advice", "numbered list of recommendations"),
        ("comparison", "one column for each thing compared"),
        ("trend", "figures over time are a table"),
        ("yes_no", "yes or no in the first words"),
    ],
)
async def test_the_writer_is_told_the_form_that_the_question_asks_for(kind: QuestionKind, form: str) -> None:
    model = Scripted()
    brief = _brief().model_copy(update={"analysis": QuestionAnalysis(kind=kind)})
    await _reasoner(model).draft(_findings(brief=brief))
    assert form in model.requests[0].prompt


_SENTENCES = (
    Sentence(text="Harbour 1 cost little.", evidence=("id0001",)),
    Sentence(text="As said.", evidence=("id0001",), verdict=Verdict(kind="supported")),
    Sentence(text="So one should wait.", kind="conclusion", evidence=("id0001", "id0002")),
)


def _support(*sentences: Sentence) -> Support:
    return Support(brief=_brief(), paragraphs=(_told(*sentences),), passages=_work().evidence)


async def test_a_judge_sees_the_neighbours_and_judges_only_what_has_no_verdict() -> None:
    answer = {
        "sentences": [1, 2, 3, 9],
        "verdicts": ["Not Found", "contradicted", "goes beyond", "supported"],
        "spans": ["", "", "", ""],
        "passages": ["", "", "E2, E77", ""],
        "reasons": ["nobody says so", "", "", ""],
    }
    model = Scripted([json.dumps(answer)])
    judged = await _reasoner(model).judge(_support(*_SENTENCES))
    assert [(one.number, one.verdict, one.premises, one.reason) for one in judged] == [
        (1, "not_found", (), "nobody says so"),
        (3, "goes_beyond", ("id0002",), ""),
    ]
    assert "1 (finding) Harbour 1 cost little. [E1]\nAs said.\n3 (conclusion) So one should wait. [so: E1, E2]" in (
        model.requests[0].prompt
    )
    assert "E3" not in model.requests[0].text, "passages that nobody cites are not shown"


async def test_a_verdict_that_is_none_decides_nothing() -> None:
    answer = {"sentences": [1, 3], "verdicts": ["fine", "perhaps"]}
    assert await _reasoner(Scripted([json.dumps(answer)])).judge(_support(*_SENTENCES)) == ()


async def test_the_sentences_of_a_section_are_judged_in_one_call_and_very_many_in_few() -> None:
    one = Sentence(text="Harbour 1 cost little.", evidence=("id0001",))
    for count, calls in ((1, 1), (18, 1), (45, 3)):
        model = Scripted()
        judged = await _reasoner(model).judge(_support(*[one] * count))
        assert [each.number for each in judged] == list(range(1, count + 1))
        assert len(model.requests) == calls


async def test_an_editor_sees_what_was_refused_and_why_and_what_was_left_out() -> None:
    refused = Sentence(
        text="Harbour 2 cost 9.", evidence=("id0002",), verdict=Verdict(kind="not_found", reason="number: 9")
    )
    draft = Draft(
        brief=_brief(),
        plan=Plan(research_title="T", sections=()),
        paragraphs=(_told(_SENTENCES[1], refused),),
        evidence=_work().evidence,
        left_out=(_piece(4),),
    )
    answer = {"sentences": [2, 1, 7], "texts": ["Harbour 2 cost €6.4 million [E2]. It was dear [so: E2].", "", "New."]}
    model = Scripted([json.dumps(answer)])
    edits = await _reasoner(model).edit(draft)
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
    assert "does not tell: E4" in model.requests[0].prompt
    assert '<source id="E2">' in model.requests[0].text
    assert '<source id="E3">' not in model.requests[0].text


async def test_the_answer_is_the_one_the_report_was_written_with_or_the_rules() -> None:
    model = Scripted()
    lead = _told(Sentence(text="It cost much.", evidence=("id0001",)), section="abstract")
    body = _told(Sentence(text=_piece(1).quote, evidence=("id0001",)))
    plan = Plan(research_title="T", sections=())
    draft = Draft(brief=_brief(), plan=plan, paragraphs=(lead, body), evidence=_work().evidence)
    assert (await _reasoner(model).conclude(draft)).abstract == (lead,)
    without = draft.model_copy(update={"paragraphs": (body,)})
    assert await _reasoner(model).conclude(without) == await ExtractiveReasoner().conclude(without)
    assert model.requests == []


async def test_a_question_is_researched_as_it_stands_and_a_talk_as_the_question_it_comes_to() -> None:
    answer = {"confidence": 0.9, "goal": "g", "focuses": ["a", "b", "c"], "refined_question": "What do cats eat?"}
    alone = Inquiry(question="What do dogs eat at night?")
    assessment = await _reasoner(Scripted([json.dumps(answer)])).assess(alone)
    assert assessment.refined_query == ""
    talked = alone.model_copy(update={"context": "We spoke of cats."})
    assessment = await _reasoner(Scripted([json.dumps(answer)])).assess(talked)
    assert assessment.refined_query == "What do cats eat?"
    assert any("What do cats eat?" in line for line in assessment.assumptions)


async def test_the_askers_own_focuses_are_the_sections() -> None:
    brief = _brief().model_copy(update={"focus": ("Noise", "Price"), "has_own_focus": True})
    answer = {
        "title": "T",
        "sections": ["Other"],
        "descriptions": ["How loud?"],
        "queries": ["a", "b"],
        "query_sections": [2, 1],
    }
    plan = await _reasoner(Scripted([json.dumps(answer)])).plan(brief)
    assert [section.title for section in plan.sections] == ["Noise", "Price"]
    assert [query.query for query in plan.sections[1].search_queries] == ["a"]


@pytest.mark.parametrize(
    ("answer", "action"),
    [
        ({"confidence": 0.95, "goal": "g", "focuses": ["a", "b", "c"]}, "START_RESEARCH"),
        ({"confidence": 0.95, "goal": "g", "focuses": ["a", "b"]}, "START_RESEARCH"),
        ({"confidence": 0.95, "goal": "", "focuses": ["a", "b", "c"]}, "NEED_CLARIFICATION"),
        ({"confidence": 0.95, "goal": "g", "focuses": ["a"]}, "NEED_CLARIFICATION"),
        ({"confidence": 0.6, "goal": "g", "focuses": ["a", "b", "c"]}, "NEED_CLARIFICATION"),
        ({"confidence": 0.9, "goal": "g", "focuses": ["a", "b", "c"], "unknown_terms": ["XYZ123"]}, "VERIFY_TOPIC"),
        ({"confidence": 0.9, "goal": "g", "focuses": ["a", "b", "c"], "unknown_terms": ["ABC"]}, "START_RESEARCH"),
        ({"confidence": 0.1, "impossible": "it asks for the asker's own thoughts"}, "CANNOT_DO"),
    ],
)
async def test_the_thresholds_of_the_next_action_are_ours(answer: dict[str, object], action: str) -> None:
    inquiry = Inquiry(question="What does the gene XYZ123 do in mice?")
    assessment = await _reasoner(Scripted([json.dumps(answer)])).assess(inquiry)
    assert assessment.next_action == action


_CLEAR = {"confidence": 0.95, "goal": "g", "focuses": ["a", "b", "c"]}


async def _read_as(question: str, **answer: object) -> QuestionAnalysis:
    assessment = await _reasoner(Scripted([json.dumps(_CLEAR | answer)])).assess(Inquiry(question=question))
    assert assessment.analysis is not None
    return assessment.analysis


async def test_what_a_model_takes_a_question_to_ask_for_is_kept() -> None:
    analysis = await _read_as(
        "Tell me about the mast at Lower Ford in 2024: its mending, its price. No surcharges.",
        kind="Who/When/Where",
        parts=["the mast at Lower Ford: its mending", "the mast at Lower Ford: its price"],
        excluded=["surcharges"],
        anchors=["Lower Ford", "2024"],
        asks_for="Money",
    )
    assert analysis.kind == "who_when_where"
    assert len(analysis.parts) == 2
    assert analysis.excluded == ("surcharges",)
    assert analysis.names == ("Lower Ford",)
    assert analysis.periods == ("2024",)
    assert analysis.asks_for == "money"


@pytest.mark.parametrize("question", ["2023年青岚市花了多少钱？", "2023年青嵐市花了多少錢？"])
async def test_the_same_in_chinese(question: str) -> None:
    analysis = await _read_as(question, kind="fact", anchors=[question[5:8], "2023年"], asks_for="money")
    assert (analysis.kind, analysis.names, analysis.periods) == ("fact", (question[5:8],), ("2023",))


async def test_what_the_asker_did_not_write_is_not_taken_from_a_model() -> None:
    question = "Who mended the mast at Lower Ford, and what did that cost?"
    analysis = await _read_as(
        question,
        kind="riddle",
        parts=["Who mended the mast?", "Was the mayor bribed?"],
        excluded=["bribes"],
        anchors=["Halden", "1999", "stage 4"],
        asks_for="glory",
    )
    assert analysis == analyze_question(question)


@pytest.mark.parametrize("nothing", [None, [], "", {}])
async def test_an_analysis_that_a_model_leaves_out_is_made_by_rules(nothing: object) -> None:
    question = "Who mended the mast at Lower Ford, and what did that cost?"
    fields = dict.fromkeys(("kind", "parts", "excluded", "anchors", "asks_for", "topic_explicit"), nothing)
    assert await _read_as(question, **fields) == analyze_question(question)


@pytest.mark.parametrize("dimension", ["topic_explicit", "scope_inferable", "goal_clear"])
@pytest.mark.parametrize("no", [False, "no", "否"])
async def test_a_dimension_in_doubt_and_a_question_to_ask_come_before_confidence(dimension: str, no: object) -> None:
    answer = _CLEAR | {dimension: no, "question": "Which one?", "options": ["a", "b"]}
    assessment = await _reasoner(Scripted([json.dumps(answer)])).assess(Inquiry(question="What did the retrofit cost?"))
    assert assessment.next_action == "NEED_CLARIFICATION"
    assert assessment.clarification_question == "Which one?"


async def test_strict_mode_needs_no_model() -> None:
    model = Scripted()
    assessment = await _reasoner(model).assess(Inquiry(question="ai", clarify="strict"))
    assert assessment.next_action == "NEED_CLARIFICATION"
    assert model.requests == []


# Bounds and prefixes


def _long(number: int) -> Evidence:
    return _piece(
        number, f"In district {number} the retrofit cost {number} million euros, and this was reported at length. " * 12
    )


async def test_two_hundred_sources_never_overflow_a_window_of_sixteen_thousand() -> None:
    model = Scripted()
    reasoner = _reasoner(model)
    evidence = tuple(_long(number) for number in range(1, 201))
    work = _work().model_copy(update={"evidence": evidence})
    await reasoner.compress(work)
    await reasoner.reflect(work)
    findings = _findings(work, contexts={piece.id: Context(title="Title " * 50) for piece in evidence})
    await reasoner.draft(findings)
    body = tuple(_told(Sentence(text=f"It cost {piece.id}.", evidence=(piece.id,))) for piece in evidence)
    await reasoner.judge(Support(brief=work.brief, paragraphs=body, passages=evidence, contexts=findings.contexts))
    draft = Draft(brief=work.brief, plan=findings.plan, paragraphs=body, evidence=evidence, left_out=evidence)
    await reasoner.edit(draft)
    assert {request.act for request in model.requests} == {"compress", "reflect", "draft", "judge", "edit"}
    for request in model.requests:
        assert tokens_at_most(request.text) + request.max_tokens <= 16_000, request.act
    cut = {request.act: request.left_out for request in model.requests}
    assert all(cut[act] > 0 for act in ("reflect", "draft", "edit")), cut


async def test_every_prompt_without_its_evidence_has_at_most_three_thousand_tokens() -> None:
    model = Scripted()
    reasoner, work = _reasoner(model), _work(1)
    plan = Plan(research_title="T", sections=(work.section,))
    await reasoner.assess(Inquiry(question=work.brief.question))
    await reasoner.plan(work.brief)
    await reasoner.queries(QueryRequest(brief=work.brief, section=work.section, count=3))
    await reasoner.reflect(work)
    await reasoner.draft(_findings(work))
    body = (_told(Sentence(text="It cost much.", evidence=("id0001",))),)
    await reasoner.judge(Support(brief=work.brief, paragraphs=body, passages=work.evidence))
    await reasoner.edit(Draft(brief=work.brief, plan=plan, paragraphs=body, evidence=work.evidence))
    sizes = {request.act: tokens_at_most(request.text) for request in model.requests}
    assert len(sizes) == 7
    assert max(sizes.values()) <= 3_000, sizes


async def test_the_prompts_of_a_section_begin_alike_to_the_end_of_their_material() -> None:
    model = Scripted()
    reasoner = _reasoner(model)
    await reasoner.reflect(_work(4))
    await reasoner.reflect(_work(6, round=2))
    first, later = model.requests
    assert first.system == later.system
    assert later.context[: len(first.context)] == first.context
    assert len(later.context) == len(first.context) + 2


async def test_each_habit_can_be_switched_off() -> None:
    work = _work(2, failures=("https://example.test/x: 403",))

    async def prompt(options: PromptOptions) -> ModelRequest:
        model = Scripted()
        await _reasoner(model, options).reflect(work)
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
    brief = _brief("zh-Hans", question)
    work = _work(30, "zh-Hans").model_copy(
        update={"brief": brief, "asked": (question,) * 40, "synthesis": question, "failures": ("x" * 500,) * 50}
    )
    model = Scripted([_REFLECTION, "资料显示如此。[E1]"])
    reasoner = _reasoner(model)
    await reasoner.reflect(work)
    await reasoner.draft(_findings(work))
    await reasoner.queries(QueryRequest(brief=brief, section=work.section, count=3, asked=work.asked))
    for request in model.requests:
        assert tokens_at_most(request.text) + request.max_tokens <= 16_000, request.act


async def test_a_query_names_its_sources_behind_it_in_brackets() -> None:
    told = ["heat pump trials [openalex, arXiv]", "C arrays [0]", "tariffs [made-up]", "热泵 效率 [mcp:papers]"]
    model = Scripted([json.dumps({"queries": told}, ensure_ascii=False)])
    work = _work(1)
    queries = await _reasoner(model).queries(QueryRequest(brief=work.brief, section=work.section, count=9))
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
