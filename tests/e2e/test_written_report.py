"""A report that a model wrote: what it made up is taken out and named, what it left out is quoted, in every script."""

import asyncio
import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest

from deep_research.errors import UnusableAnswer
from deep_research.events import RunEvent
from deep_research.llm.port import ChatModel
from deep_research.messages.words import Words, words_in
from deep_research.pipeline.runtime import DeepResearchProcessor
from deep_research.reasoning.port import Reasoner
from deep_research.reasoning.rules.quoting.drafting import quoted, row_of
from deep_research.reasoning.rules.reasoner import ExtractiveReasoner
from deep_research.reasoning.values import Analysis, Conclusion, Draft, Findings, Judgement, SectionWork, Support
from deep_research.report.escaping import unescape
from deep_research.report.paragraph import Paragraph, Sentence
from deep_research.request import Depth, Language, ResearchRequest
from deep_research.settings import Settings
from deep_research.testing import ScriptedModel
from deep_research.verify.coverage import is_related
from deep_research.verify.particulars import figures_of
from deep_research.verify.report import Verifier
from deep_research.wiring import build
from tests.support.reasoner import CostedReasoner

DOCUMENTS = Path(__file__).parents[2] / "examples" / "documents"
QUESTIONS: dict[Language, str] = {
    "en": "Compare what the Halden Bay heat pump retrofit cost with what it achieved.",
    "zh-Hans": "比较青岚市海绵城市改造的花费与效果。",
    "zh-Hant": "比較青嵐市海綿城市改造的花費與效果。",
}
NOWHERE = "feedfacefeedface"


@dataclass(frozen=True)
class Script:
    """What the model writes of its own accord, in one language."""

    retold: str
    never_read: str
    unsupported: str
    address: str
    uncited: str
    too_strong: str
    weaker: str
    half_true: str
    refuted: str
    no_proof: str
    not_refuted: str
    unlucky: str
    outlook: str
    outlook_claim: str
    analysis: str


ENGLISH = Script(
    retold="In other words, {}",
    never_read="A survey of the neighbours found broad approval.",
    unsupported="Residents were delighted by how quiet the pumps are.",
    address="The full accounts can be read at https://accounts.example/halden.",
    uncited="Every comparable city has failed at this.",
    too_strong="The retrofit was a complete success and a model for others.",
    weaker="The retrofit may be a success.",
    half_true="The retrofit was well planned.",
    refuted="The retrofit cost the city nothing.",
    no_proof="The retrofit taught its owners much.",
    not_refuted="The retrofit was finished early.",
    unlucky="The retrofit was much discussed.",
    outlook="Whether the savings last remains to be seen.",
    outlook_claim="By 2031 another 12 towns will follow.",
    analysis="Weighed against its aims, the retrofit was worth the effort.",
)
CHINESE = Script(
    retold="换言之，{}",
    never_read="周边居民普遍表示满意。",
    unsupported="工程让老年人出行更加愉快。",
    address="完整账目见 https://accounts.example/qinglan。",
    uncited="同类城市无一成功。",
    too_strong="改造工程完全成功，堪称各地典范。",
    weaker="改造工程可能成功。",
    half_true="改造工程规划周密。",
    refuted="改造工程没有花费。",
    no_proof="改造工程积累了许多经验。",
    not_refuted="改造工程提前完成。",
    unlucky="改造工程引起了广泛讨论。",
    outlook="效果能否持久，还有待观察。",
    outlook_claim="到2031年，还将有12座城市效仿。",
    analysis="与目标相比，改造工程值得投入。",
)
SCRIPTS: dict[Language, Script] = {"en": ENGLISH, "zh-Hans": CHINESE, "zh-Hant": CHINESE}
NINES = re.compile(r"\d+(?:[.,]\d+)*(?=\s?(?:million|亿|万|%))")


class Writer(ExtractiveReasoner):
    """Retells one sentence of each second piece, and adds a good deal of its own."""

    def __init__(self, inner: ExtractiveReasoner, script: Script) -> None:
        super().__init__(inner._corpus)
        self._script = script
        self.wrong = ""

    async def draft(self, work: SectionWork) -> tuple[Paragraph, ...]:
        pieces = [piece for piece in work.evidence if not piece.header]
        told = []
        for piece in pieces[::2]:
            first = quoted(piece)[0].text
            told.append(Sentence(text=self._script.retold.format(first), evidence=(piece.id,)))
        for row in (piece for piece in work.evidence if piece.header):
            told.append(Sentence(text=self._script.retold.format(row_of(row).text), evidence=(row.id,)))
        fitting = [piece for piece in pieces if is_related(self._script.too_strong, piece.quote)]
        if not fitting or self.wrong:
            return (Paragraph(section="ignored", kind="note", sentences=tuple(told)),)
        return (
            Paragraph(section="ignored", kind="note", sentences=tuple(told)),
            Paragraph(section="ignored", sentences=tuple(self._own(fitting[0].id, work))),
        )

    def _own(self, cited: str, work: SectionWork) -> list[Sentence]:
        script = self._script
        true = next(
            sentence
            for piece in work.evidence
            if not piece.header
            for sentence in quoted(piece)
            if NINES.search(sentence.text)
        )
        self.wrong = NINES.sub("97531", true.text, count=1)
        by_id = [
            (script.never_read, (NOWHERE,)),
            (self.wrong, true.evidence),
            (script.uncited, ()),
            *((text, (cited,)) for text in (script.unsupported, script.address, script.too_strong, script.half_true)),
            *((text, (cited,)) for text in (script.refuted, script.no_proof, script.not_refuted, script.unlucky)),
        ]
        return [Sentence(text=text, evidence=evidence) for text, evidence in by_id]

    async def analyze(self, findings: Findings) -> Analysis:
        evidence = [piece for work in findings.sections for piece in work.evidence]
        cited = next(piece.id for piece in evidence if is_related(self._script.analysis, piece.quote))
        sentences = (Sentence(text=self._script.analysis, evidence=(cited,)),)
        return Analysis(paragraphs=(Paragraph(section="ignored", sentences=sentences),))

    async def judge_support(self, support: Support) -> Judgement:
        script, text, passage = self._script, support.sentence.text, support.passages[0].quote
        if text == script.unlucky:
            raise UnusableAnswer("an answer nobody can read")
        if text == script.unsupported:
            return Judgement(verdict="not_found", reason="nobody speaks of delight")
        if text in (script.too_strong, script.half_true):
            return Judgement(verdict="partly", span=passage, reason="that is more than they say")
        is_proved = text not in (script.no_proof, script.not_refuted)
        return Judgement(
            verdict="contradicted" if text in (script.refuted, script.not_refuted) else "supported",
            span=passage.upper() if is_proved else "words that stand nowhere at all",
        )

    async def revise(self, support: Support) -> Sentence | None:
        script, text = self._script, support.sentence.text
        if text == script.too_strong:
            return Sentence(text=script.weaker, evidence=(NOWHERE,))
        return Sentence(text=text + script.uncited) if text == script.half_true else None

    async def conclude(self, draft: Draft) -> Conclusion:
        extracted = await super().conclude(draft)
        script = self._script
        return extracted.model_copy(
            update={
                "is_answered": True,
                "abstract": (Paragraph(section="abstract", sentences=(Sentence(text=script.uncited),)),),
                "outlook": (
                    Paragraph(section="outlook", kind="note", sentences=(Sentence(text=script.outlook),)),
                    Paragraph(section="outlook", kind="note", sentences=(Sentence(text=script.outlook_claim),)),
                ),
            }
        )


Inner = Callable[[ExtractiveReasoner], Reasoner]


class Written:
    """A finished run over the example documents, and its folder."""

    def __init__(self, folder: Path, language: Language, inner: Inner | None = None) -> None:
        self.language, self.script = language, SCRIPTS[language]
        self.events: list[RunEvent] = []
        adapters = build(Settings(home=folder / "home", logs=folder / "logs", docs=DOCUMENTS, strategy="local"))
        if inner is not None:
            assert isinstance(adapters.fallback, ExtractiveReasoner)
            self.reasoner = inner(adapters.fallback)
            made: Callable[[ChatModel], Reasoner] = lambda model: CostedReasoner(model, inner=self.reasoner)  # noqa: E731 - typed
            adapters = replace(adapters, models=(ScriptedModel(name="scripted:pen"),), reasoner=made)
        # With a model or without, all files that a query finds are read.
        request = ResearchRequest(question=QUESTIONS[language], clarify="off", depth=Depth(urls_per_query=10))
        self.row = asyncio.run(DeepResearchProcessor(adapters).process(request, on_event=self.events.append))
        assert self.row.status == "done", self.row.error
        self.folder = Path(self.row.folder)

    def text(self, name: str) -> str:
        return unescape((self.folder / name).read_text(encoding="utf-8"))

    @cached_property
    def say(self) -> Words:
        return words_in(self.language)

    @cached_property
    def paragraphs(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.text("paragraphs.jsonl").splitlines()]

    @cached_property
    def sentences(self) -> dict[str, dict[str, Any]]:
        return {each["text"]: each for line in self.paragraphs for each in line["sentences"]}

    @cached_property
    def check(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.text("verify.json"))
        return found

    @property
    def figures(self) -> set[tuple[float, str]]:
        """Return the figures that are told; an analysis weighs others beside them."""
        lines = [line for line in self.paragraphs if line["section"] not in ("analysis", self.say("report.analysis"))]
        told = {each["text"] for line in lines for each in line["sentences"]}
        return {(figure.value, figure.unit) for text in told for figure in figures_of(text)}

    def verdict(self, text: str) -> tuple[str, str]:
        verdict = self.sentences[text]["verdict"]
        return verdict["kind"], verdict["reason"].split(":")[0]


@pytest.fixture(scope="module", params=["en", "zh-Hans", "zh-Hant"])
def written(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Written:
    language: Language = request.param
    return Written(tmp_path_factory.mktemp("written"), language, lambda inner: Writer(inner, SCRIPTS[language]))


@pytest.fixture(scope="module")
def extracted(written: Written, tmp_path_factory: pytest.TempPathFactory) -> Written:
    return Written(tmp_path_factory.mktemp("extracted"), written.language)


def test_the_report_passes_its_verifier(written: Written) -> None:
    assert written.check["offsets_passed"]
    assert written.check["passed"]
    assert Verifier().verify(written.folder / "report.md", written.folder / "paragraphs.jsonl").passed


def test_what_was_made_up_is_left_out_and_named_with_its_reason(written: Written) -> None:
    script = written.script
    assert isinstance(written.reasoner, Writer)
    made_up = {
        script.never_read: "unknown",
        written.reasoner.wrong: "number",
        script.unsupported: "absent",
        script.refuted: "judged",
        script.address: "reference",
        script.outlook_claim: "unfounded",
    }
    refusals = {refusal["text"]: refusal for refusal in written.check["refusals"]}
    report, proof = written.text("report.md"), written.text("verification.md")
    for text, reason in made_up.items():
        assert text not in report
        assert refusals[text]["reason"].split(":")[0] == reason
        assert refusals[text]["section"]
        assert f"{text}" in proof
        assert written.say(f"verification.reason_{reason}") in proof
    uncited = [refusal["section"] for refusal in written.check["refusals"] if refusal["text"] == script.uncited]
    assert len(uncited) == 2
    assert uncited[1] == "abstract"
    assert script.uncited not in report


def test_a_sentence_too_strong_is_weakened_and_the_first_wording_is_on_record(written: Written) -> None:
    script = written.script
    sentence = written.sentences[script.weaker]
    assert sentence["revised_from"] == script.too_strong
    assert sentence["evidence"] != [NOWHERE]
    assert written.verdict(script.weaker) == ("supported", "judged")
    assert script.too_strong not in written.text("report.md")
    assert script.too_strong in written.text("verification.md")


def test_what_stays_half_true_is_marked(written: Written) -> None:
    script = written.script
    assert written.verdict(script.half_true) == ("partly", "judged")
    assert re.search(
        re.escape(script.half_true) + " ?" + re.escape(written.say("report.partly")) + r" ?\[\d+\]",
        written.text("report.md"),
    )


def test_what_could_not_be_checked_stays_and_is_not_called_refuted(written: Written) -> None:
    script = written.script
    assert written.verdict(script.unlucky) == ("not_checked", "failed")
    assert written.verdict(script.no_proof) == ("not_checked", "unproved")
    assert written.verdict(script.not_refuted) == ("not_checked", "unproved")
    unchecked = {script.unlucky, script.no_proof, script.not_refuted}
    assert all(text in written.text("report.md") for text in unchecked)
    assert not unchecked & set(written.check["dropped"])
    assert written.say("limits.not_checked", count=3) in written.text("report.md")


def test_no_figure_of_the_evidence_is_lost(written: Written, extracted: Written) -> None:
    assert not extracted.check["refusals"]
    assert len(extracted.figures) > 20
    assert written.figures >= extracted.figures


def test_figures_that_were_left_out_stand_in_a_table_of_quotations(written: Written) -> None:
    report = written.text("report.md")
    caption = f"**{written.say('report.further_figures')}**"
    head = f"| {written.say('report.statement')} | {written.say('report.source')} |"
    assert f"{caption}\n\n{head}\n| --- | --- |\n| " in report
    tables = [line for line in written.paragraphs if line["kind"] == "table"]
    further = [row for line in tables for row in line["sentences"] if not row["cells"] and not row["lead"]]
    assert further
    assert {row["verdict"]["reason"] for row in further} <= {"verbatim", "trimmed"}


def test_rows_of_tables_are_set_as_tables_whatever_was_written(written: Written, extracted: Written) -> None:
    def rows(run: Written) -> set[str]:
        return {text for text, sentence in run.sentences.items() if sentence["cells"]}

    # The Chinese examples hold no table that the question asks for.
    assert rows(extracted) or written.language != "en"
    assert rows(written) >= rows(extracted)
    for row in rows(extracted):
        retold = written.sentences[written.script.retold.format(row)]
        assert retold["evidence"] == extracted.sentences[row]["evidence"], "a row is read under its header"


def test_the_analysis_is_a_chapter_before_the_conclusion(written: Written) -> None:
    report, say = written.text("report.md"), written.say
    headings = re.findall(r"^## (.+)$", report, re.MULTILINE)
    assert say("report.analysis") in headings
    later = [headings.index(say(f"report.{key}")) for key in ("outlook", "references")]
    assert all(headings.index(say("report.analysis")) < place for place in later)
    assert written.verdict(written.script.analysis) == ("supported", "judged")


def test_an_outlook_may_look_ahead_but_claim_nothing(written: Written) -> None:
    report = written.text("report.md")
    assert written.script.outlook in report
    assert written.script.outlook_claim not in report


def test_an_abstract_that_cannot_stand_is_made_of_the_body(written: Written) -> None:
    abstract = [line for line in written.paragraphs if line["section"] == "abstract"]
    assert abstract
    assert abstract[0]["kind"] == "claim"
    assert all(sentence["verdict"]["kind"] == "supported" for sentence in abstract[0]["sentences"])


def test_the_report_says_who_worded_it(written: Written, extracted: Written) -> None:
    limits = written.text("report.md").split(f"## {written.say('report.limits')}")[1]
    assert "scripted:pen" in limits
    assert written.say("limits.partly", count=1) in limits
    assert written.say("failed.fallback", count=1) in limits
    assert "scripted:pen" not in extracted.text("report.md")


def test_evidence_whose_figures_were_left_out_is_offered_once_more(written: Written) -> None:
    offered = {event.key.split(":")[1] for event in written.events if event.kind == "message"}
    assert any(scope.endswith("/again") for scope in offered)
    assert not any(scope.endswith("/again/again") for scope in offered)


class Liar(Writer):
    """Cites nothing, ever."""

    async def draft(self, work: SectionWork) -> tuple[Paragraph, ...]:
        sentences = (Sentence(text=f"{self._script.uncited} ({work.section.title})"),)
        return (Paragraph(section="ignored", sentences=sentences),)


def test_a_section_of_which_nothing_can_stand_is_quoted_instead(
    written: Written, extracted: Written, tmp_path: Path
) -> None:
    lied = Written(tmp_path, written.language, lambda inner: Liar(inner, written.script))
    assert lied.check["passed"]
    others = {"abstract", "conclusion", written.say("report.analysis")}
    sections = {line["section"] for line in extracted.paragraphs} - others
    for section in sections:
        both = [[line["text"] for line in run.paragraphs if line["section"] == section] for run in (lied, extracted)]
        assert sorted(both[0]) == sorted(both[1])
    refused = {refusal["section"] for refusal in lied.check["refusals"] if refusal["reason"] == "uncited"}
    assert refused >= {
        line["section"] for line in lied.paragraphs if line["section"] in sections and line["kind"] == "claim"
    }


class Garbage:
    """A model whose every answer is unusable."""

    def __getattr__(self, act: str) -> Callable[..., Any]:
        async def fail(*_: object) -> Sequence[object]:
            raise UnusableAnswer(f"no usable answer for {act}")

        return fail


def test_a_model_that_answers_garbage_leaves_an_extractive_report_that_says_so(
    written: Written, extracted: Written, tmp_path: Path
) -> None:
    garbled = Written(tmp_path, written.language, lambda _: Garbage())
    assert garbled.check["passed"]
    assert set(garbled.sentences) == set(extracted.sentences)
    acts = re.escape(garbled.say("failed.fallback", count="7")).replace("7", r"\d+")
    assert re.search(acts, garbled.text("report.md"))
    assert "scripted:pen" not in garbled.text("report.md")
