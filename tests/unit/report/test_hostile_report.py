"""A report whose every text is hostile: a renderer that allows HTML shows each text and obeys none."""

import pytest
from lxml import html
from markdown_it import MarkdownIt

from deep_research.report.citation import Citations, Source
from deep_research.report.escaping import one_line
from deep_research.report.layout import Chapter, ReportLayout
from deep_research.report.markdown import render
from deep_research.report.paragraph import Backing, ListMark, Paragraph, Refusal, Sentence, Verdict, note, row
from deep_research.request import Language
from deep_research.text.messages.words import words_in
from deep_research.verify.shipped import markers, read_report
from deep_research.verify.verification import CheckedSentence, ParagraphCheck, ReportCheck, Verification

ATTACKS = [
    "<script>alert(1)</script> and <scr<b>ipt>alert(2)</scr</b>ipt>。",
    '<img src=x onerror=alert(1)> ![a](https://evil.example/x.png "t") [a](javascript:alert(1))。',
    "(javascript:alert(1)) <javascript:alert(1)> <a@evil.example> [3] a。",
    "# Heading\n\n- list\n\n```\n| a | b |\n| - | - |\n\n[x]: javascript:alert(1)\n\n[^1]: note [x] [^1]",
    "1. Mai\r\n> quote\n***\n    code\x1b]0;title\x07\x9b31m \u202egnp.exe",
    "[x]: javascript:alert(1)",
    "[x] a **bold** ~~gone~~ `code` &lt;b&gt; \\",
]
RENDERER = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])


def parsed(markdown: str) -> html.HtmlElement:
    """Return the page of a report, and make sure that it holds nothing that runs, loads or leads elsewhere."""
    assert not set(markdown) & set("\x07\x1b\x9b\u202e")
    page = html.fromstring(f"<div>{RENDERER.render(markdown)}</div>")
    tags = {element.tag for element in page.iter()}
    plain = set("div h1 h2 h3 p ul ol li table thead tbody tr th td strong em br hr".split())
    assert tags <= plain, tags - plain
    assert len(page.findall(".//em")) <= 1
    assert not any(element.attrib for element in page.iter())
    return page


LIST_MARKS: tuple[ListMark, ...] = ("number", "bullet")


def hostile(attack: str) -> ReportLayout:
    cited = Sentence(text=attack, evidence=("e1",), verdict=Verdict(kind="partly"))
    concluded = cited.model_copy(update={"kind": "conclusion"})
    backing = Backing(published=attack, oldest="a", newest=attack, also=("e1",), against=((attack, "e2"),))
    backed = cited.model_copy(update={"lead": attack, "backing": backing})
    cells = ((attack, attack), ("b", attack))
    body = (
        Paragraph(section=attack, lead=attack, sentences=(cited, cited)),
        *(Paragraph(section=attack, lead=attack, mark=mark, sentences=(cited, concluded)) for mark in LIST_MARKS),
        Paragraph(section=attack, kind="caption", sentences=(Sentence(text=attack),)),
        Paragraph(section=attack, kind="table", sentences=(row(cells, ("e1",)),)),
        Paragraph(section=attack, kind="table", sentences=(row(cells, ("e1",)),) * 3),
        Paragraph(section=attack, kind="table", sentences=(backed, backed)),
        Paragraph(section=attack, kind="table", sentences=(cited,)),
        note(attack, attack),
    )
    return ReportLayout(
        title=attack,
        abstract=(Paragraph(section="abstract", sentences=(cited,)),),
        chapters=(Chapter(title=attack, paragraphs=body),),
        knowledge=attack,
        gaps=(attack,),
        about=(attack, attack),
        run_line=attack,
    )


def rendered(attack: str, language: Language) -> str:
    source = Source(document="d", title=attack, address=attack, places=(attack,), published=attack)
    citations = Citations(cited=(source,), additional=(source,))
    return render(hostile(attack), citations, number_of=lambda id_: int(id_[1:]), words=words_in(language))


def times_shown(attack: str, markdown: str) -> int:
    page = parsed(markdown)
    return "".join(str(page.text_content()).split()).count("".join(one_line(attack).split()))


@pytest.mark.parametrize("attack", ATTACKS)
@pytest.mark.parametrize("language", ["en", "zh-Hans"])
def test_a_report_shows_every_text_and_obeys_none(attack, language):
    text = rendered(attack, language)
    assert times_shown(attack, text) == times_shown("plain", rendered("plain", language)) > 40
    blocks = [block for block in read_report(text).blocks if block.kind != "heading"]
    assert {number for block in blocks for number in markers(block.text)} == {1, 2}


@pytest.mark.parametrize("attack", ATTACKS)
def test_the_account_of_the_check_shows_every_text_and_obeys_none(attack):
    language: Language = "en"
    sentence = CheckedSentence(
        text=attack, kind="partly", reason=attack, numbers=(1,), place=attack, revised_from=attack
    )
    refusal = Refusal(section=attack, text=attack, reason=attack)
    shown = Verification(
        passed=False,
        report_passed=False,
        paragraphs_jsonl_cite_ids_passed=False,
        paragraph_end_citation_passed=False,
        paragraph_without_citation_count=1,
        report=ReportCheck(
            report_passed=False,
            uncited_paragraphs=(attack,),
            uncited_rows=(attack,),
            malformed_references=(attack,),
            language=language,
        ),
        paragraphs=ParagraphCheck(paragraphs_jsonl_cite_ids_passed=False, sentences=(sentence,)),
        refusals=(refusal,),
    )
    assert times_shown(attack, shown.in_words()) >= 9
