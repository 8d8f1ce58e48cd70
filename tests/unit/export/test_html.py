"""The HTML of a report: all that its Markdown shows, every marker with its passage and verdict, and nothing obeyed."""

import json
import re
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from lxml import html
from markupsafe import Markup

from deep_research.export.formats import exported, format_of
from deep_research.export.html import to_html
from deep_research.export.markup import element, joined
from deep_research.report.citation import Citations
from deep_research.report.edition import CitedPassage, Edition
from deep_research.report.layout import Chapter, Items, Label, Picture, Prose, ReportLayout, Table, laid_out
from deep_research.report.markdown import opening_of, render
from deep_research.report.paragraph import Paragraph, Sentence, Verdict, row
from deep_research.request import Language
from deep_research.text.messages.words import words_in
from deep_research.verify.report import Verifier
from deep_research.verify.verification import counted_verdicts
from tests.support.every_kind import contents, edition

LANGUAGES: tuple[Language, ...] = ("en", "zh-Hans")
NAUGHTY = Path(__file__).parents[4] / "shared/evaldata/hostile/naughty_strings.json"
ATTACKS = [
    "<script>alert(1)</script>",
    "</script><script>alert(1)</script></style><style>*{display:none}</style></title>",
    '"><img src=x onerror=alert(1)>',
    "' onmouseover='alert(1)' x='",
    "javascript:alert(1)//",
    "data:text/html,<script>alert(1)</script>",
    "<!-- --><iframe src=//evil.example></iframe><base href=//evil.example>",
    "[a](javascript:alert(1)) ![x](https://evil.example/x.png) **bold** `code`",
    "&lt;b&gt; &amp; &#60;script&#62; {{7*7}} ${7*7}",
    "\x1b]0;title\x07\x9b31m \u202egnp.exe \u2028 \x00",
]
TEXTS = {
    *{"text", "title", "quote", "before", "after", "place", "lead", "label", "series", "question", "run_line", "basis"},
    *{"notice", "gaps", "about", "cells", "delivered", "published", "oldest", "newest", "against", "reason", "header"},
}
# What stands where an attack stands, and is none.
HARMLESS = "a b"


def page_of(of: Edition) -> Any:
    return html.document_fromstring(to_html(contents(of)))


def text_of(element: Any) -> str:
    return " ".join(str(element.text_content()).split())


def squeezed(text: str) -> str:
    return "".join(text.split())


def with_texts(value: Any, text: str, key: str = "") -> Any:
    """Return an edition as JSON with another text in the place of each of its texts; ids and numbers stay."""
    if isinstance(value, dict):
        return {name: with_texts(each, text, name) for name, each in value.items()}
    if key == "against":
        return [[text, id_] for _, id_ in value]
    if isinstance(value, list):
        return [with_texts(each, text, key) for each in value]
    return text if key in TEXTS and isinstance(value, str) and value else value


def hostile(text: str, of: Edition) -> Edition:
    return Edition.from_json(with_texts(of.to_json(), text))


def structure(page: Any) -> list[tuple[str, list[str]]]:
    """Return the elements of a page with the names of their attributes."""
    return [(element.tag, sorted(element.attrib)) for element in page.iter()]


@pytest.mark.parametrize("language", LANGUAGES)
def test_all_that_the_markdown_shows_stands_in_the_page(language):
    own = edition(language)
    page = page_of(own)
    shown = squeezed(page.text_content())
    blocks = laid_out(own.report, own.citations, number_of=own.number_of, words=words_in(language))
    texts = [own.report.title, own.report.run_line]
    for block in blocks:
        match block:
            case Prose(spans):
                # Markdown sets a sum in brackets.
                texts += [re.sub(r"^[(（](.*=.*)[)）]$", r"\1", span.text) for span in spans if span.kind == "text"]
            case Items(items):
                texts += [span.text for spans in items for span in spans]
            case Table(head, rows):
                texts += [*head, *(span.text for cells in rows for spans in cells for span in spans)]
            case Picture():
                texts.append(block.title)
                assert page.xpath("//figure//img/@alt") == [block.alt]
            case Label(text):
                texts.append(text)
    sources = own.citations.sources
    texts += [text for source in sources for text in (source.title, source.address, source.published, source.delivered)]
    texts = [text for text in texts if text not in ("", " ", "∴")]
    assert [text for text in texts if squeezed(text) not in shown] == []


@pytest.mark.parametrize("language", LANGUAGES)
def test_what_to_note_stands_below_the_answer(language):
    own, words = edition(language), words_in(language)
    shown = page_of(own).xpath("//article/*/@class")
    assert shown.index("abstract") + 1 == shown.index("notice")
    text = render(own.report, own.citations, number_of=own.number_of, words=words)
    places = [
        text.index(each) for each in (words("report.abstract"), words("report.notice"), own.report.chapters[0].title)
    ]
    assert places == sorted(places)
    assert words("report.notice") in opening_of(text)


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_marker_leads_to_a_passage_that_stands_there_once(language):
    own = edition(language)
    page = page_of(own)
    ids = Counter(page.xpath("//@id"))
    assert max(ids.values()) == 1
    markers = page.xpath("//a[@class='cite']")
    assert markers
    for marker in markers:
        targets = [f"p{number}" for number in marker.get("data-p").split()]
        assert marker.get("href") == f"#{targets[0]}"
        assert all(id_ in ids for id_ in (*targets, *marker.get("data-s").split()))
        source = page.get_element_by_id(targets[0]).xpath("ancestor::section")[0]
        assert source.get("id") == f"source-{marker.text.strip('[]')}"
    for passage in own.passages:
        if not passage.header:
            assert squeezed(page.text_content()).count(squeezed(f"{passage.before}{passage.quote}{passage.after}")) == 1


def test_links_inside_the_page_lead_somewhere():
    page = page_of(edition())
    ids = set(page.xpath("//@id"))
    assert {href[1:] for href in page.xpath("//a/@href") if href.startswith("#")} <= ids


def test_what_a_verdict_names_is_set_off_within_its_passage():
    page = page_of(edition())
    passage = page.get_element_by_id("p1")
    quote = "The plant cost €146.2 million. The budget was €118.0 million."
    assert text_of(passage.find(".//mark")) == quote
    named = passage.findall(".//mark/b")
    assert [text_of(each) for each in named] == ["The plant cost €146.2 million."]
    for id_ in named[0].get("data-s").split():
        assert "The plant cost €146.2 million." in text_of(page.get_element_by_id(id_))
    assert [text_of(each) for each in passage.xpath(".//*[contains(@class,'around')]")] == [
        "3. Cost", "Storm Brida cost more.",
    ]  # fmt: skip


def test_a_row_of_a_table_is_shown_below_its_header_and_the_header_is_no_passage_of_its_own():
    own = edition()
    header = CitedPassage(id="e6", document="d3", start=1, end=16, quote="| Item | Cost |")
    cited = own.model_dump_json().replace('"evidence":["e4"]', '"evidence":["e4","e6"]')
    page = page_of(Edition.model_validate_json(cited).model_copy(update={"passages": (*own.passages, header)}))
    passage = page.xpath("//li[@class='passage'][.//mark='Pipes']")[0]
    assert [text_of(cell) for cell in passage.findall(".//th")] == ["Item", "Cost"]
    rows = [[text_of(cell) for cell in line.findall("td")] for line in passage.findall(".//tbody/tr")]
    assert rows == [["Pumps", "61.4"], ["Pipes", "31.5"], ["Tank", "9.6"]]
    assert [text_of(cell) for cell in passage.findall(".//mark")] == ["Pipes", "31.5"]
    assert "|" not in text_of(passage)
    assert len(page.xpath("//li[@class='passage']")) == len(own.passages)


@pytest.mark.parametrize(
    ("language", "kind", "sign"),
    [(language, kind, sign) for language in LANGUAGES for kind, sign in (("conclusion", "∴"), ("absence", "∅"))],
)
def test_what_the_report_says_itself_has_a_sign_with_words_and_a_line_in_the_legend(language, kind, sign):
    page, words = page_of(edition(language)), words_in(language)
    own = page.xpath(f"//span[@class='s']/a[@class='cite sign'][span='{sign}']")
    assert own[0].get("aria-label") == words(f"html.kind_{kind}")
    assert own[0].find("span").get("aria-hidden") == "true"
    # It opens what the markers of its sentence open.
    (sentence,) = own[0].xpath("ancestor::span[@class='s']")
    assert own[0].get("href")[1:] in page.xpath("//li[@class='passage']/@id")
    assert sentence.get("id") in own[0].get("data-s").split()
    assert words(f"html.legend_{kind}") in text_of(page.xpath("//ul[@class='legend']")[0])


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_legend_is_read_before_the_first_sign(language):
    page = page_of(edition(language))
    order = [element.get("class") for element in page.xpath("//ul[@class='legend'] | //main//*[@id='s1']")]
    assert order == ["legend", "s"]


@pytest.mark.parametrize("language", LANGUAGES)
def test_what_is_in_no_source_names_the_nearest_passage_and_claims_no_more(language):
    page, words = page_of(edition(language)), words_in(language)
    (absent,) = page.xpath("//span[@class='s'][.//span='∅']")
    assert squeezed(f"{words('html.nearest')}[1][2]") in squeezed(absent.text_content())
    told = [text_of(use) for use in page.xpath(f"//ul[@class='uses']/li[@data-s='{absent.get('id')}']/span")]
    assert told == [f"∅ {words('html.looked_for')}"] * 2


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_counts_are_those_of_verify_json(language, tmp_path):
    own, words = edition(language), words_in(language)
    links = (Sentence(text="And so.", kind="link", verdict=Verdict(kind="supported")),)
    gap = Sentence(text="Not said.", kind="absence", verdict=Verdict(kind="not_in_sources"))
    more = (Paragraph(section="C", sentences=links), Paragraph(section="C", kind="note", sentences=(gap,)))
    chapters = (*own.report.chapters, Chapter(title="C", paragraphs=more))
    report = own.report.model_copy(update={"chapters": chapters})
    listed = tmp_path / "paragraphs.jsonl"
    listed.write_text("".join(f"{each.model_dump_json()}\n" for each in report.paragraphs), encoding="utf-8")
    counted = Verifier().verify_paragraphs_jsonl(listed).verdicts
    page = page_of(own.model_copy(update={"report": report}))
    told = words("verification.sentences", verdicts=counted_verdicts(counted, words))
    assert told in text_of(page.xpath("//p[@class='facts']")[0])


def test_the_legend_names_only_signs_that_are_used():
    own = edition()
    plain = own.report.model_copy(update={"abstract": own.report.abstract[:0], "chapters": (), "disagreements": ()})
    assert page_of(own.model_copy(update={"report": plain})).xpath("count(//ul[@class='legend']/li)") <= 1


@pytest.mark.parametrize(
    ("before", "quote", "after", "shown", "bold"),
    [
        (
            "Fell.\n## Bills rose\n",
            "A bill rose.",
            "\n### Next",
            "Fell. Bills rose A bill rose. Next …",
            ["Bills rose"],
        ),
        ("", "## 账单\n上涨。\n|项目|费用|\n|---|---|\n|水泵|6|", "", "账单 上涨。 项目 费用 水泵 6", ["账单"]),
        ("| Item | Cost |\n| --- | --- |\n", "| Pumps | 61.4 |", "\n|", "Item Cost Pumps 61.4", []),
        ("", "Issue #4 | a pipe", " ", "Issue #4 | a pipe", []),
    ],
)
def test_a_quotation_shows_headings_and_cells_without_their_marks(before, quote, after, shown, bold):
    own, start = edition(), len(before)
    first = own.passages[0].model_copy(
        update={"before": before, "quote": quote, "after": after, "start": start, "end": start + len(quote)}
    )
    page = page_of(own.model_copy(update={"passages": (first, *own.passages[1:])}))
    (quoted,) = (each for each in page.xpath("//li/blockquote") if text_of(each) == shown)
    assert [text_of(each) for each in quoted.xpath(".//strong")][: len(bold)] == bold


def test_a_source_in_another_language_says_so():
    own = edition()
    first, second, *others = own.citations.cited
    cited = (first.model_copy(update={"language": "zh-Hant"}), second.model_copy(update={"language": "en"}), *others)
    page = page_of(own.model_copy(update={"citations": own.citations.model_copy(update={"cited": cited})}))
    told = [text_of(each) for each in page.xpath("//section[@class='source']/p[@class='meta']")]
    assert "in Chinese" in told[0]
    assert "in English" not in told[1]


def test_the_panel_begins_with_the_sources_and_markers_name_them():
    page = page_of(edition())
    index = [text_of(each) for each in page.xpath("//ol[@class='index']/li")]
    assert index[:2] == ["[1]Closing report2026-02-12", "[2]Open letter2026-03-02"]
    assert page.xpath("//a[@class='cite'][.='[1]']/@aria-label")[0] == "Source 1: Closing report"


def test_a_column_of_figures_ends_at_one_line_though_one_is_missing():
    own = edition()
    rows = tuple(row((("Item", name), ("2021", value)), ("e1",)) for name, value in
                 (("Coal", "61"), ("Gas", "30"), ("Pumps", "not listed"), ("Oil", "3.5")))  # fmt: skip
    table = Paragraph(section="C", kind="table", sentences=rows)
    report = own.report.model_copy(update={"chapters": (Chapter(title="C", paragraphs=(table,)),)})
    cells = page_of(own.model_copy(update={"report": report})).xpath("//section[h2='C']//tr/*[2]/@class")
    assert cells == ["number"] * 5


def test_a_calculation_shows_its_sum():
    assert "(146.2 - 118) ÷ 118 × 100 = 24" in text_of(page_of(edition()).xpath("//span[@class='sum']")[0])


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_verdict_is_told_in_words_where_the_passage_stands(language):
    own, words = edition(language), words_in(language)
    page = page_of(own)
    for sentence in own.report.chapters[0].paragraphs[0].sentences:
        assert sentence.verdict is not None
        uses = page.xpath("//ul[@class='uses']/li")
        told = [text_of(use).lower() for use in uses if text_of(use.find("a")) == sentence.text]
        assert any(words(f"verification.{sentence.verdict.kind}").lower() in each for each in told)
    assert words("report.partly") in text_of(page.xpath("//span[@class='doubt']")[0])
    assert "◐" in text_of(page.xpath("//span[@class='verdict weak']")[0])


def test_a_passage_that_speaks_against_a_sentence_is_not_said_to_support_it():
    page = page_of(edition())
    table = page.xpath("//section[@class='disagreements']//tr[@id]")[0]
    against = page.xpath(f"//ul[@class='uses']/li[@data-s='{table.get('id')}']")
    told = {use.xpath("ancestor::li/@id")[0]: text_of(use) for use in against}
    assert set(told) == {"p1", "p2", "p3"}
    assert "Supported" in told["p1"]
    assert "upported" not in told["p2"] + told["p3"]


@pytest.mark.parametrize(
    "target", ["javascript:alert(1)", "JaVaScRiPt:alert(1)", "data:text/html,x", "file:///etc/passwd", "/srv/a.md",
               "//evil.example", "vbscript:x", " javascript:x", "ftp://a.example", "http:", "https:///x"]
)  # fmt: skip
def test_only_addresses_of_the_web_are_links(target):
    assert html.fromstring(element("address", target)).tag == "span"
    of_the_web = "HTTPS://a.example/?a=1&b=<"
    assert html.fromstring(element("address", of_the_web)).get("href") == of_the_web


@pytest.mark.parametrize(
    ("before", "shown"),
    [("ergy cost. The pumps", "… cost. The pumps"), ("工程。水泵", "… 工程。水泵"), ("(s) x", "… x")],
)
def test_what_stands_before_a_passage_begins_with_a_whole_word(before, shown):
    own = edition()
    passage = own.passages[0].model_copy(update={"before": before, "start": 5000, "end": 5060})
    page = page_of(own.model_copy(update={"passages": (*own.passages[1:], passage)}))
    assert shown in [text_of(each) for each in page.xpath("//*[@class='around before']")]


def test_text_is_escaped_unless_it_is_markup_of_ours():
    bold = element("set_off", "b", "x")
    assert element("note", 'a"', joined(["a < b & c", bold])) == '<span class="a&quot;">a &lt; b &amp; c<b>x</b></span>'
    assert joined(["<", Markup("<br>")]) == "&lt;<br>"
    assert element("prose", f"{bold}") == '<p dir="auto">&lt;b&gt;x&lt;/b&gt;</p>'


@pytest.mark.parametrize("attack", ATTACKS)
def test_no_text_changes_what_a_page_is_made_of(attack):
    own = edition()
    content = to_html(contents(hostile(f"a {attack} b", own)))
    page = html.document_fromstring(content)
    assert structure(page) == structure(page_of(hostile(HARMLESS, own)))
    assert not {"iframe", "object", "embed", "base", "form", "link"} & {element.tag for element in page.iter()}
    assert not set(content.decode()) & set("\x00\x07\x1b\x9b\u202e\u2028")


@pytest.mark.long
@pytest.mark.skipif(not NAUGHTY.exists(), reason="the list of hostile texts is not here")
def test_no_text_of_a_public_list_changes_what_a_page_is_made_of():
    own = edition()
    # "We" tells that the report speaks itself, as some of the texts do.
    wanted = structure(page_of(hostile(f"we {HARMLESS}", own)))
    texts = [text for text in json.loads(NAUGHTY.read_text(encoding="utf-8")) if isinstance(text, str)]
    broken = [text for text in texts if structure(page_of(hostile(f"we {text} b", own))) != wanted]
    assert broken == []


def test_nothing_is_loaded_and_only_our_own_script_may_run():
    page = page_of(edition())
    assert page.xpath("//link | //iframe | //script[@src] | //@style") == []
    assert [each[:5] for each in page.xpath("//@src | //@srcset")] == ["data:"] * 2
    policy = page.xpath("//meta[@http-equiv='Content-Security-Policy']/@content")[0]
    assert re.fullmatch(
        r"default-src 'none'; img-src data:; style-src 'sha256-[\w+/]{43}='; script-src 'sha256-[\w+/]{43}='; "
        r"base-uri 'none'; form-action 'none'",
        policy,
    )
    for link in page.xpath("//a[@target]"):
        assert "noopener" in link.get("rel")


def test_the_same_report_is_the_same_bytes():
    assert to_html(contents()) == to_html(contents())
    assert exported(contents(), "html") == to_html(contents())
    assert format_of(Path("x.htm")) == format_of(Path("x.HTML")) == "html"


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_page_can_be_walked_by_headings_landmarks_and_names(language):
    page = page_of(edition(language))
    levels = [int(element.tag[1]) for element in page.iter("h1", "h2", "h3", "h4")]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after - before <= 1 for before, after in pairwise(levels))
    assert page.get("lang") == language
    assert {"header", "nav", "main", "aside"} <= {element.tag for element in page.iter()}
    assert page.xpath("//body/*[1]/@href") == ["#main"]
    named = page.iter("button", "input", "nav", "aside", "a")
    assert [each.attrib for each in named if not (each.get("aria-label") or text_of(each))] == []
    assert all(each.get("alt") for each in page.iter("img"))
    labelled = page.xpath("//@aria-labelledby")
    assert {page.get_element_by_id(id_).tag for id_ in labelled} <= {"h2", "p"}


def test_a_picture_has_a_dark_counterpart_and_its_values():
    page = page_of(edition())
    figure = page.xpath("//figure")[0]
    assert figure.xpath("picture/source/@media") == ["(prefers-color-scheme: dark)"]
    assert figure.xpath("picture/source/@srcset") != figure.xpath("picture/img/@src")
    assert [text_of(cell) for cell in figure.xpath("details//td")] == ["Pumps", "61.4", "[3]", "Pipes", "31.5", "[3]"]


@pytest.mark.parametrize(
    "pictures",
    [
        {},
        {"svg": b"", "png": b"GIF"},
        {"svg": b"<html/>", "png": b"<svg"},
        {"svg": b"\xff\xfe<svg"},
        {"svg": '<svg xmlns="http://www.w3.org/2000/svg"/>'.encode("utf-16")},
    ],
)
def test_where_a_picture_is_none_its_values_are_shown(pictures):
    page = html.document_fromstring(to_html(contents(pictures=pictures)))
    assert page.xpath("//img") == []
    assert page.xpath("//figure/details/@open") == [""]
    assert words_in("en")("html.no_picture") in text_of(page.xpath("//figure")[0])


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_report_that_found_nothing_is_a_page_and_what_a_model_says_itself_stands_apart(language):
    own, words = edition(language), words_in(language)
    report = ReportLayout(title="T", knowledge="From memory.", gaps=("All of it.",), run_line="Run")
    empty = own.model_copy(update={"report": report, "citations": Citations(), "passages": ()})
    page = page_of(empty)
    apart = page.xpath("//section[@class='knowledge']")[0]
    assert words("report.knowledge_note") in text_of(apart)
    assert "From memory." in text_of(apart)
    assert "All of it." in text_of(page.xpath("//section[@class='gaps']//li")[0])
    assert page.xpath("//a[@class='cite']") == []
    assert page.xpath("//ul[@class='legend']") == []


def test_an_entity_in_a_picture_is_not_resolved(tmp_path: Path):
    (tmp_path / "secret").write_text("hush-hush")
    svg = f'<!DOCTYPE svg [<!ENTITY x SYSTEM "{(tmp_path / "secret").as_uri()}">]>'
    svg += '<svg xmlns="http://www.w3.org/2000/svg"><text>&x;</text></svg>'
    assert b"hush-hush" not in to_html(contents(pictures={"svg": svg.encode()}))


def large(paragraphs: int, *, around: int = 400, language: Language = "en") -> Edition:
    """Return a report with many paragraphs of three sentences, each with a passage and what stands around it."""
    said = {
        "en": "The authority reported that the network lost 13.2 per cent of its heat in the year of the survey.",
        "zh-Hans": "水务局报告称，调查当年供热管网的热损失率为13.2%，较上一年有所下降，但仍高于规划目标。",
    }[language]
    before, after = ("before ", "after ") if language == "en" else ("管网的前文", "管网的后文")
    passages, body = [], []
    for number in range(paragraphs):
        id_, start = f"e{number}", number * 1000 + around
        passages.append(
            CitedPassage(
                id=id_, document=f"d{number % 3 + 1}", start=start, end=start + len(said), quote=said,
                before=before * (around // len(before)), after=after * (around // len(after)), place=f"p. {number}",
            )
        )  # fmt: skip
        verdict = Verdict(kind="supported", reason="judged", evidence=id_, start=start, end=start + len(said))
        sentence = Sentence(text=said, evidence=(id_,), verdict=verdict)
        body.append(Paragraph(section="C", sentences=(sentence, sentence.model_copy(), sentence.model_copy())))
    own = edition(language)
    chapters = tuple(Chapter(title=f"C {at}", paragraphs=tuple(body[at : at + 40])) for at in range(0, paragraphs, 40))
    report = own.report.model_copy(update={"chapters": chapters, "abstract": (), "disagreements": (), "pictures": ()})
    return own.model_copy(update={"report": report, "passages": tuple(passages)})


@pytest.mark.parametrize(("language", "on_a_page"), [("en", 2_800), ("zh-Hans", 1_200)])
def test_thirty_pages_are_less_than_a_megabyte(language, on_a_page):
    own = large(300, language=language)
    written = sum(len(each.text) for paragraph in own.report.paragraphs for each in paragraph.sentences)
    assert written > 30 * on_a_page
    assert len(to_html(contents(own))) < 1_000_000


@pytest.mark.long
def test_five_hundred_pages_are_a_page():
    own = large(5_000, around=40)
    page = page_of(own)
    assert len(page.xpath("//main//a[@class='cite']")) == 15_000
    assert len(page.xpath("//li[@class='passage']")) == 5_000


def test_a_table_of_sixty_columns_scrolls_in_a_box_of_its_own():
    labels = [f"column {number}" for number in range(60)]
    rows = tuple(row(tuple((label, f"{at}.5") for label in labels), ("e1",)) for at in range(3))
    table = Paragraph(section="C", kind="table", sentences=rows)
    own = edition()
    report = own.report.model_copy(update={"chapters": (Chapter(title="C", paragraphs=(table,)),)})
    page = page_of(own.model_copy(update={"report": report}))
    box = page.xpath("//section[h2='C']/div[@class='table']")[0]
    assert len(box.findall(".//th")) == 61
    assert (box.get("tabindex"), box.get("role")) == ("0", "region")
    assert box.xpath(".//th[2]/@class") == ["number"]


def test_text_from_right_to_left_and_emoji_stay_as_they_are():
    text = "مرحبا بالعالم 👩‍👩‍👧 שלום"
    page = page_of(hostile(text, edition()))
    assert page.findtext(".//h1") == text
    assert all(
        element.get("dir") == "auto" for element in page.xpath("//h1 | //blockquote | //article//p[span[@class='s']]")
    )


COLOURS = re.compile(r"--([\w-]+): light-dark\((#[0-9a-f]{6}), (#[0-9a-f]{6})\)")


def luminance(colour: str) -> float:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.parametrize("at", [1, 2], ids=["light", "dark"])
@pytest.mark.parametrize(
    ("front", "back"),
    [
        *((front, back) for front in ("text", "muted", "accent") for back in ("paper", "surface", "tint")),
        *((front, back) for front in ("text", "warn") for back in ("paper", "surface", "warn-tint")),
        *(("text", back) for back in ("mark", "mark-strong")),
        *((front, "sunken") for front in ("text", "muted")),
        *((kind, back) for kind in ("good", "bad") for back in ("paper", "surface", f"{kind}-tint")),
        *((front, back) for front in ("surface", "on-accent") for back in ("accent", "accent-strong")),
    ],
)
def test_every_text_has_contrast(front, back, at):
    style = (Path(__file__).parents[3] / "src/deep_research/export/tokens.css").read_text(encoding="utf-8")
    colours = {match[1]: match[at + 1] for match in COLOURS.finditer(style)}
    darker, lighter = sorted((luminance(colours[front]), luminance(colours[back])))
    assert (lighter + 0.05) / (darker + 0.05) >= 4.5
