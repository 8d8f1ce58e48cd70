"""A report that a model wrote: what it made up is taken out and named, whatever it called it, in every script."""

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
from deep_research.llm.port import ChatModel
from deep_research.pipeline.runtime import DeepResearchProcessor
from deep_research.reasoning.port import Reasoner
from deep_research.reasoning.rules.quoting.drafting import quoted, row_of
from deep_research.reasoning.rules.reasoner import ExtractiveReasoner
from deep_research.reasoning.values import (
    AbsenceCheck,
    Conclusion,
    Draft,
    Findings,
    HeldStretch,
    Judgement,
    SentenceEdit,
    Support,
)
from deep_research.report.escaping import unescape
from deep_research.report.evidence.passage import Evidence
from deep_research.report.paragraph import Paragraph, Sentence, numbered_sentences, row
from deep_research.request import Depth, Language, ResearchRequest
from deep_research.settings import Settings
from deep_research.testing import ScriptedModel
from deep_research.text.messages.words import Words, words_in
from deep_research.verify.coverage import is_related
from deep_research.verify.quote import find_span
from deep_research.verify.report import Verifier
from deep_research.wiring import build
from tests.support.examples import EXAMPLES, copy_index
from tests.support.longer import first_of
from tests.support.reasoner import CostedReasoner

QUESTIONS: dict[Language, str] = {
    "en": "Compare what the Halden Bay heat pump retrofit cost with what it achieved.",
    "zh-Hans": "比较青岚市海绵城市改造的花费与效果。",
    "zh-Hant": "比較青嵐市海綿城市改造的花費與效果。",
}
NOWHERE = "feedfacefeedface"
NINES = re.compile(r"\d+(?:[.,]\d+)*(?=\s?(?:million|亿|万|億|萬|%))")


@dataclass(frozen=True)
class Script:
    """What the model writes of its own accord, in one language."""

    retold: str
    never_read: str
    unsupported: str
    address: str
    uncited: str
    half_true: str
    refuted: str
    leaning: str
    no_proof: str
    not_refuted: str
    unlucky: str
    follows: str
    too_strong: str
    weaker: str
    edited_lie: str
    new_figure: str
    against: str
    dressed: str
    twice: str
    present: str
    absent: str
    heading: str
    point: str
    linking: str
    straying: str
    ending: str


ENGLISH = Script(
    retold="In other words, {}",
    never_read="A survey of the neighbours found broad approval.",
    unsupported="Residents were delighted by how quiet the pumps are.",
    address="The full accounts can be read at https://accounts.example/halden.",
    uncited="Every comparable city has failed at this.",
    half_true="The retrofit was well planned.",
    refuted="The retrofit cost the city nothing.",
    leaning="This made them proud.",
    no_proof="The retrofit taught its owners much.",
    not_refuted="The retrofit was finished early.",
    unlucky="The retrofit was much discussed.",
    follows="So the retrofit deserves a second look.",
    too_strong="The retrofit is therefore a complete success and a model for others.",
    weaker="The retrofit may therefore be a success.",
    edited_lie="The retrofit made the whole town rich.",
    new_figure="The city should therefore spend another 97531 million.",
    against="So the retrofit should never have been begun.",
    dressed="So the mayor resigned over the retrofit.",
    twice="A second retrofit at the same price would come to {}.",
    present="No source says what {} says.",
    absent="No source speaks of vaccinated penguins.",
    heading="Another 97531 towns will follow",
    point="Save 97531 million",
    linking="A retrofit is seldom simple.",
    straying="The retrofit ruined the whole country.",
    ending="Other towns can learn from this retrofit.",
)
SIMPLIFIED = Script(
    retold="换言之，{}",
    never_read="周边居民普遍表示满意。",
    unsupported="工程让老年人出行更加愉快。",
    address="完整账目见 https://accounts.example/qinglan。",
    uncited="同类城市无一成功。",
    half_true="改造工程规划周密。",
    refuted="改造工程没有花费。",
    leaning="这让他们十分自豪。",
    no_proof="改造工程积累了许多经验。",
    not_refuted="改造工程提前完成。",
    unlucky="改造工程引起了广泛讨论。",
    follows="改造工程因此值得重新审视。",
    too_strong="改造工程可见完全成功，堪称各地典范。",
    weaker="改造工程可能因此算是成功。",
    edited_lie="改造工程让全城居民富裕起来。",
    new_figure="改造工程因此应当再投入97531万元。",
    against="改造工程因此根本不该开工。",
    dressed="改造工程因此导致市长辞职。",
    twice="改造工程若再做一次，合计为{}。",
    present="没有资料说明{}所说的内容。",
    absent="没有资料提到企鹅疫苗。",
    heading="还将有97531座城市效仿",
    point="节省97531万元",
    linking="改造工程很少简单。",
    straying="改造工程毁了整个国家。",
    ending="其他城市可以借鉴这项改造。",
)
TRADITIONAL = Script(
    retold="換言之，{}",
    never_read="周邊居民普遍表示滿意。",
    unsupported="工程讓老年人出行更加愉快。",
    address="完整帳目見 https://accounts.example/qinglan。",
    uncited="同類城市無一成功。",
    half_true="改造工程規劃周密。",
    refuted="改造工程沒有花費。",
    leaning="這讓他們十分自豪。",
    no_proof="改造工程積累了許多經驗。",
    not_refuted="改造工程提前完成。",
    unlucky="改造工程引起了廣泛討論。",
    follows="改造工程因此值得重新審視。",
    too_strong="改造工程可見完全成功，堪稱各地典範。",
    weaker="改造工程可能因此算是成功。",
    edited_lie="改造工程讓全城居民富裕起來。",
    new_figure="改造工程因此應當再投入97531萬元。",
    against="改造工程因此根本不該開工。",
    dressed="改造工程因此導致市長辭職。",
    twice="改造工程若再做一次，合計為{}。",
    present="沒有資料說明{}所說的內容。",
    absent="沒有資料提到企鵝疫苗。",
    heading="還將有97531座城市效仿",
    point="節省97531萬元",
    linking="改造工程很少簡單。",
    straying="改造工程毀了整個國家。",
    ending="其他城市可以借鑑這項改造。",
)
SCRIPTS: dict[Language, Script] = {"en": ENGLISH, "zh-Hans": SIMPLIFIED, "zh-Hant": TRADITIONAL}


class Writer(ExtractiveReasoner):
    """Retells one sentence of each second piece, and adds a good deal of its own."""

    def __init__(self, inner: ExtractiveReasoner, script: Script) -> None:
        super().__init__(inner._corpus)
        self._script = script
        self.wrong = self.wrong_sum = self.right_sum = self.denied = self.copied = ""
        self.linked = ""
        self.row = self.mended_row = row((), ())

    async def draft(self, findings: Findings) -> tuple[Paragraph, ...]:
        script = self._script
        written = [Paragraph(section="abstract", sentences=(Sentence(text=script.uncited),))]
        for work in findings.sections:
            title = work.section.title
            pieces = [piece for piece in work.evidence if not piece.header]
            told = [Sentence(text=self._retold(piece), evidence=(piece.id,)) for piece in pieces[::2]]
            rows = [piece for piece in work.evidence if piece.header]
            told += [Sentence(text=script.retold.format(row_of(row).text), evidence=(row.id,)) for row in rows]
            written += [Paragraph(section=title, kind="note", sentences=(sentence,)) for sentence in told]
        evidence = [piece for piece in findings.evidence if not piece.header]
        cited = next(piece for piece in evidence if is_related(script.half_true, piece.quote))
        true = next(sentence for piece in evidence for sentence in quoted(piece) if NINES.search(sentence.text))
        last = findings.sections[-1].section.title
        written.append(Paragraph(section=last, sentences=tuple(self._own(cited, true))))
        other = next(piece for piece in evidence if piece.id != cited.id)
        again = (Sentence(text=self._retold(other), evidence=(other.id,)),)
        written.append(Paragraph(section=last, mark="number", lead=script.point, sentences=again))
        written.append(Paragraph(section=script.heading, sentences=again))
        # Sentences without a mark, and a row with a wrong figure.
        self.linked = other.id
        unmarked = [Sentence(text=text, kind="link") for text in (script.linking, script.straying, script.ending)]
        mixed = (unmarked[0], unmarked[1], *again, unmarked[2])
        written.append(Paragraph(section=last, sentences=mixed))
        figure = NINES.search(true.text)
        assert figure is not None
        cells = (("A", true.text.rstrip(".。")), ("B", figure[0]))
        self.mended_row = row(cells, true.evidence)
        self.row = row((cells[0], ("B", "97531")), true.evidence)
        written.append(Paragraph(section=last, kind="table", sentences=(self.row,)))
        return tuple(written)

    def _retold(self, piece: Evidence) -> str:
        return self._script.retold.format(quoted(piece)[0].text)

    def _own(self, cited: Evidence, true: Sentence) -> list[Sentence]:
        script, figure = self._script, NINES.search(true.text)
        assert figure is not None
        value = float(figure[0].replace(",", ""))
        self.wrong = NINES.sub("97531", true.text, count=1)
        self.right_sum, self.wrong_sum = (script.twice.format(f"{2 * value + more:g}") for more in (0, 8642))
        self.denied = script.present.format(true.text[:11])
        self.copied = true.text
        findings = [
            (script.never_read, (NOWHERE,)),
            (self.wrong, true.evidence),
            (script.uncited, ()),
            *((text, (cited.id,)) for text in (script.unsupported, script.address, script.half_true)),
            *((text, (cited.id,)) for text in (script.no_proof, script.not_refuted, script.unlucky, script.refuted)),
            (script.leaning, (cited.id,)),
        ]
        concluded = (script.follows, script.too_strong, script.new_figure, script.against, script.dressed)
        return [
            *(Sentence(text=text, evidence=evidence) for text, evidence in findings),
            *(Sentence(text=text, kind="conclusion", evidence=(cited.id,)) for text in concluded),
            Sentence(text=self.copied, kind="conclusion", evidence=true.evidence),
            *(
                Sentence(
                    text=text, kind="calculation", basis=f"{value:g} + {value:g} = {result:g}", evidence=true.evidence
                )
                for text, result in ((self.right_sum, 2 * value), (self.wrong_sum, 2 * value + 8642))
            ),
            Sentence(text=self.denied, kind="absence", basis=true.text, evidence=(cited.id,)),
            Sentence(text=script.absent, kind="absence", basis=script.absent[-6:], evidence=(cited.id,)),
        ]

    async def find_held(self, check: AbsenceCheck) -> tuple[HeldStretch, ...]:
        numbers = [at for at, each in enumerate(check.statements, start=1) if each.startswith(self.denied)]
        held = next((one for one in check.stretches if find_span(self.copied, one.text)), None)
        return tuple(HeldStretch(number=at, stretch=held, span=self.copied) for at in numbers if held)

    async def judge(self, support: Support) -> tuple[Judgement, ...]:
        quotes = {piece.id: piece.quote for piece in support.passages}
        asked = [(number, each) for number, each in numbered_sentences(support.paragraphs) if each.verdict is None]
        judged = [self._judged(number, each, quotes[each.evidence[0]]) for number, each in asked]
        return tuple(each for each in judged if each is not None)

    def _judged(self, number: int, sentence: Sentence, quote: str) -> Judgement | None:
        script, text = self._script, sentence.text
        verdicts: dict[str, Any] = {
            script.unsupported: "not_found",
            script.edited_lie: "not_found",
            script.half_true: "partly",
            script.refuted: "contradicted",
            script.not_refuted: "contradicted",
            script.too_strong: "goes_beyond",
            script.dressed: "goes_beyond",
            script.straying: "goes_beyond",
            script.against: "contradicts",
        }
        usual = "follows" if sentence.kind == "conclusion" else "supported"
        is_proved = text not in (script.no_proof, script.not_refuted)
        span = quote.upper() if is_proved else "words that stand nowhere at all"
        verdict = verdicts.get(text, usual)
        return None if text == script.unlucky else Judgement(number=number, verdict=verdict, span=span, reason="so")

    async def edit(self, draft: Draft) -> tuple[SentenceEdit, ...]:
        """Hedge what was too strong, and put something worse in the place of two others."""
        script = self._script
        changed: dict[str, Callable[[Sentence], tuple[Sentence, ...]]] = {
            script.too_strong: lambda old: (old.model_copy(update={"text": script.weaker, "verdict": None}),),
            script.refuted: lambda old: (Sentence(text=script.edited_lie, evidence=old.evidence),),
            script.never_read: lambda _: (Sentence(text=script.uncited, evidence=(NOWHERE,)),),
            self.row.text: lambda _: (self.mended_row,),
        }
        return tuple(
            SentenceEdit(number=number, sentences=changed[sentence.text](sentence))
            for number, sentence in numbered_sentences(draft.paragraphs)
            if sentence.text in changed
        )

    async def conclude(self, draft: Draft) -> Conclusion:
        abstract = tuple(one for one in draft.paragraphs if one.section == "abstract")
        return Conclusion(abstract=abstract) if abstract else await super().conclude(draft)


Inner = Callable[[ExtractiveReasoner], Reasoner]


class Written:
    """A finished run over the example documents, and its folder."""

    def __init__(self, folder: Path, language: Language, inner: Inner | None = None) -> None:
        self.language, self.script = language, SCRIPTS[language]
        adapters = build(
            Settings(
                home=copy_index(folder / "home"), logs=folder / "logs", docs=EXAMPLES, strategy="local", charts=False
            )
        )
        if inner is not None:
            assert isinstance(adapters.fallback, ExtractiveReasoner)
            self.reasoner = inner(adapters.fallback)
            made: Callable[[ChatModel], Reasoner] = lambda model: CostedReasoner(model, inner=self.reasoner)  # noqa: E731 - typed
            adapters = replace(adapters, models=(ScriptedModel(name="scripted:pen"),), reasoner=made)
        # With a model or without, all files that a query finds are read.
        request = ResearchRequest(question=QUESTIONS[language], clarify="off", depth=Depth(urls_per_query=10))
        self.row = asyncio.run(DeepResearchProcessor(adapters).process(request))
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

    def verdict(self, text: str) -> tuple[str, str]:
        verdict = self.sentences[text]["verdict"]
        return verdict["kind"], verdict["reason"].split(":")[0]


@pytest.fixture(scope="module", params=first_of(["en", "zh-Hans", "zh-Hant"]))
def written(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Written:
    language: Language = request.param
    return Written(tmp_path_factory.mktemp("written"), language, lambda inner: Writer(inner, SCRIPTS[language]))


@pytest.fixture(scope="module")
def extracted(written: Written, tmp_path_factory: pytest.TempPathFactory) -> Written:
    return Written(tmp_path_factory.mktemp("extracted"), written.language)


def test_the_report_passes_its_verifier(written: Written, extracted: Written) -> None:
    assert written.check["offsets_passed"]
    assert written.check["passed"]
    assert extracted.check["offsets_passed"]
    assert Verifier().verify(written.folder / "report.md", written.folder / "paragraphs.jsonl").passed


def test_what_was_made_up_is_left_out_and_named_with_its_reason(written: Written) -> None:
    script, pen = written.script, written.reasoner
    assert isinstance(pen, Writer)
    made_up = {
        pen.wrong: ("number", "contradicted not_found"),
        script.unsupported: ("absent", "not_found"),
        script.address: ("reference", "not_found"),
        script.new_figure: ("number", "goes_beyond"),
        script.against: ("judged", "contradicts"),
        script.dressed: ("judged", "goes_beyond"),
        pen.wrong_sum: ("result", "wrong"),
        pen.denied: ("held", "false"),
        script.edited_lie: ("absent", "not_found"),
    }
    refusals = {refusal["text"]: refusal for refusal in written.check["refusals"]}
    report, proof = written.text("report.md"), written.text("verification.md")
    for text, (reason, kinds) in made_up.items():
        assert text not in report
        assert refusals[text]["reason"].split(":")[0] == reason, text
        assert refusals[text]["kind"] in kinds, text
        assert refusals[text]["section"]
        assert text in proof
        assert written.say(f"verification.reason_{reason}") in proof
    uncited = [refusal for refusal in written.check["refusals"] if refusal["text"] == script.uncited]
    assert {refusal["section"] for refusal in uncited} >= {"abstract"}
    assert {refusal["reason"].split(":")[0] for refusal in uncited} == {"uncited", "unknown"}
    assert script.uncited not in report
    assert script.never_read not in report
    assert script.leaning not in report
    assert script.refuted not in report


def test_no_heading_and_no_point_of_a_list_claims_what_no_source_says(written: Written) -> None:
    report = written.text("report.md")
    assert "97531" not in report
    assert re.search(r"^1\. \S", report, re.MULTILINE), "the item itself stays"


def test_what_goes_beyond_its_premises_is_hedged_and_the_first_wording_is_on_record(written: Written) -> None:
    script = written.script
    assert written.sentences[script.weaker]["revised_from"] == script.too_strong
    assert written.verdict(script.weaker) == ("follows", "judged")
    assert script.too_strong not in written.text("report.md")
    assert script.too_strong in written.text("verification.md")


def test_conclusions_and_calculations_are_told_from_findings(written: Written) -> None:
    script, pen, report = written.script, written.reasoner, written.text("report.md")
    assert isinstance(pen, Writer)
    assert written.verdict(script.follows) == ("follows", "judged")
    assert re.search(re.escape(script.follows) + r"[^\n\[]* ?\[\d+\]", report), "its words tell it"
    assert written.sentences[pen.right_sum]["verdict"]["kind"] == "computed"
    assert re.search(re.escape(pen.right_sum) + r" ?∴?\[\d+\]", report), "a sum of two is done in the head"


def test_what_numbers_behind_conclusions_mean_is_told_once_above_the_references(
    written: Written, extracted: Written
) -> None:
    legend, report = written.say("report.concluded"), written.text("report.md")
    assert "∴" in legend
    listed = report.partition(f"## {written.say('report.references')}\n")[2].partition("\n## ")[0]
    assert listed.strip().startswith(legend)
    assert report.count(legend) == 1
    assert "∴" not in extracted.text("report.md"), "quotations conclude nothing"


def test_what_is_called_absent_is_shown_where_it_stands(written: Written) -> None:
    assert isinstance(written.reasoner, Writer)
    denied, copied = written.reasoner.denied, written.reasoner.copied
    (reason,) = {refusal["reason"] for refusal in written.check["refusals"] if refusal["text"] == denied}
    assert reason.startswith("held: ")
    held = reason.removeprefix("held: ")
    assert held in " ".join(copied.split()) or " ".join(copied.split()) in held
    assert held in " ".join(written.text("verification.md").split())


def test_what_has_no_mark_is_judged_as_a_conclusion_from_its_paragraph(written: Written) -> None:
    script, pen, report = written.script, written.reasoner, written.text("report.md")
    assert isinstance(pen, Writer)
    assert script.straying not in report
    (straying,) = [one for one in written.check["refusals"] if one["text"] == script.straying]
    assert (straying["kind"], straying["evidence"]) == ("goes_beyond", [pen.linked])
    linking, ending = written.sentences[script.linking], written.sentences[script.ending]
    assert (linking["kind"], linking["evidence"], linking["verdict"]["kind"]) == ("link", [], "supported")
    # The end of a paragraph says what it all rests on.
    assert (ending["kind"], ending["evidence"], ending["verdict"]["kind"]) == ("conclusion", [pen.linked], "follows")
    assert re.search(re.escape(script.ending) + r" ?∴?\[\d+\]", report)


def test_a_row_that_was_refused_may_be_mended(written: Written) -> None:
    pen = written.reasoner
    assert isinstance(pen, Writer)
    mended = written.sentences[pen.mended_row.text]
    assert mended["revised_from"] == pen.row.text
    assert [tuple(cell) for cell in mended["cells"]] == list(pen.mended_row.cells)
    assert mended["verdict"]["kind"] == "supported"
    assert pen.row.text not in written.sentences
    assert pen.row.text in written.text("verification.md")


def test_what_stands_in_a_source_word_for_word_is_no_conclusion(written: Written) -> None:
    assert isinstance(written.reasoner, Writer)
    copied = written.sentences[written.reasoner.copied]
    assert (copied["kind"], copied["verdict"]["reason"]) == ("finding", "verbatim")


def test_what_is_in_no_source_may_be_said(written: Written) -> None:
    assert written.sentences[written.script.absent]["verdict"]["kind"] == "not_in_sources"
    assert written.script.absent in written.text("report.md")


def test_what_stays_half_true_is_marked(written: Written) -> None:
    script = written.script
    assert written.verdict(script.half_true) == ("partly", "judged")
    assert re.search(
        re.escape(script.half_true) + " ?" + re.escape(written.say("report.partly")) + r" ?\[\d+\]",
        written.text("report.md"),
    )


def test_what_nobody_could_check_is_never_called_supported(written: Written) -> None:
    script, report = written.script, written.text("report.md")
    doubtful = {refusal["text"] for refusal in written.check["refusals"] if refusal["reason"] == "doubtful"}
    for text in (script.unlucky, script.no_proof, script.not_refuted):
        if text in doubtful:
            assert text not in report
        else:
            assert written.sentences[text]["verdict"]["kind"] == "not_checked"


def test_a_retold_row_is_read_under_its_header(written: Written, extracted: Written) -> None:
    rows = {text: sentence for text, sentence in extracted.sentences.items() if sentence["cells"]}
    # The Chinese examples hold no table that the question asks for.
    assert rows or written.language != "en"
    for text, told in rows.items():
        assert written.sentences[written.script.retold.format(text)]["evidence"] == told["evidence"]


def test_an_answer_that_cannot_stand_is_made_of_the_body(written: Written) -> None:
    abstract = [line for line in written.paragraphs if line["section"] == "abstract"]
    assert abstract
    assert abstract[0]["kind"] == "claim"
    assert all(sentence["verdict"]["kind"] == "supported" for sentence in abstract[0]["sentences"])


def test_the_report_says_who_worded_it(written: Written, extracted: Written) -> None:
    limits = written.text("report.md").split(f"## {written.say('report.about')}")[1]
    assert "scripted:pen" in limits
    assert written.say("limits.partly", count=1) in limits
    assert "scripted:pen" not in extracted.text("report.md")


class Liar(Writer):
    """Cites nothing, ever."""

    async def draft(self, findings: Findings) -> tuple[Paragraph, ...]:
        sentences = (Sentence(text=self._script.uncited),)
        return tuple(Paragraph(section=title, sentences=sentences) for title in ("abstract", *findings.plan.titles))


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
