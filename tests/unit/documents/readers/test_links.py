"""Links of a document: those of its text, with their words, the line they stand in and whole addresses; no menus."""

import pytest

from deep_research.documents.readers import read
from deep_research.documents.readers.finishing import cleaned
from deep_research.documents.readers.port import Reading
from deep_research.report.sources.document import Document, DocumentLink
from tests.unit.documents.readers.office_files import make_docx
from tests.unit.documents.readers.pdf_files import assemble, make_pdf

PROSE = "<p>The valve standard was written in 2015 after six years of work, and it names nine kinds of valves.</p>"
PAGE = "https://valves.test/standards/v-7.html"


def links(body: str, name: str = PAGE, head: str = "", around: str = "") -> list[tuple[str, str, str]]:
    article = f"<article><h1>V-7</h1>{PROSE * 6}{body}{PROSE * 6}</article>"
    page = f"<html><head><title>V-7</title>{head}</head><body>{around}{article}</body></html>"
    return [(link.address, link.text, link.near) for link in read(page.encode(), name=name).links]


def written(text: str, name: str = "a.txt") -> list[str]:
    return [link.address for link in read(text.encode(), name=name).links]


@pytest.mark.parametrize(
    ("link", "whole"),
    [
        ("v-8.html", "https://valves.test/standards/v-8.html"),
        ("../laws/1?x=2#part", "https://valves.test/laws/1?x=2#part"),
        ("//other.test/v", "https://other.test/v"),
        (" https://other.test/阀门 ", "https://other.test/阀门"),
    ],
)
def test_addresses_are_made_whole(link: str, whole: str) -> None:
    assert links(f'<p>It is replaced by <a href="{link}">V-8</a> of 2020.</p>') == [
        (whole, "V-8", "It is replaced by V-8 of 2020.")
    ]


def test_a_base_of_the_page_counts_and_a_place_in_the_page_is_no_link_of_it() -> None:
    head = '<base href="https://valves.test/archive/">'
    body = '<p>See <a href="v-8">V-8</a> and <a href="#part-2">part 2</a>.</p>'
    assert [link[0] for link in links(body, head=head)] == ["https://valves.test/archive/v-8"]


@pytest.mark.parametrize(
    "link",
    [
        *("#part-2", PAGE, "v-7.html#part-2", "HTTPS://VALVES.TEST:443/standards/v-7.html?utm_source=mail", ""),
        *("https://valves.test/v-7", "mailto:a@valves.test", "javascript:alert(1)", "data:text/html,x", "ftp://f.test/a"),
        *("file:///etc/passwd", "https://", "http://[bad", f"https://valves.test/{'a' * 3_000}"),
    ],
)  # fmt: skip
def test_what_leads_to_the_page_itself_or_nowhere_on_the_web_is_no_link(link: str) -> None:
    head = '<link rel="canonical" href="https://valves.test/v-7/">'
    assert links(f'<p>See <a href="{link}">this</a>.</p>', head=head) == []


def test_menus_margins_and_footers_hold_no_links_of_the_text() -> None:
    around = '<nav><a href="/home">Home</a></nav><aside><a href="/ad">Offer</a></aside>'
    body = '<p>See <a href="/v-8">V-8</a>.</p><!-- <a href="/old">old</a> --><p hidden><a href="/hidden">x</a></p>'
    footer = '<footer><a href="/imprint">Imprint</a></footer>'
    page = f"<html><body>{around}<main>{PROSE * 9}{body}</main>{footer}</body></html>"
    assert [link.text for link in read(page.encode(), name=PAGE).links] == ["V-8"]
    # Of a page too large to tell its main text everything is taken, but for the links of its menus.
    row = f"<table><tr>{'<td>1</td>' * 2_001}</tr></table>"
    large = f"<html><body>{around}{row}{PROSE}{body}{footer}</body></html>"
    assert [link.text for link in read(large.encode(), name=PAGE).links] == ["Offer", "V-8"]


def test_a_list_of_terms_names_what_a_link_is() -> None:
    head = (
        "<dl><dt>Author<span>:</span></dt><dd><a href='/ann'>Ann Lee</a></dd><dt>Status<span>:</span></dt><dd>Old</dd>"
        "<dt>Superseded-By<span>:</span></dt><dd><a href='../v-8/'>8</a>, <a href='../v-9/'>9</a></dd></dl>"
        "<p>The text names <a href='/v-6'>V-6</a>.</p><dl><dt>取代：</dt><dd><p><a href='/v-5'>第5号</a></p></dd></dl>"
    )
    assert links(head) == [
        ("https://valves.test/ann", "Ann Lee", "Author: Ann Lee"),
        ("https://valves.test/v-8/", "8", "Superseded-By: 8, 9"),
        ("https://valves.test/v-9/", "9", "Superseded-By: 8, 9"),
        ("https://valves.test/v-6", "V-6", "The text names V-6."),
        ("https://valves.test/v-5", "第5号", "取代: 第5号"),
    ]


def test_a_row_names_what_a_link_is_and_a_heading_what_stands_alone_below_it() -> None:
    body = (
        "<table><tr><th>Obsoletes</th><td><a href='/v-5'>V-5</a></td></tr></table>"
        "<h2>See also</h2><ul><li><a href='/v-3'>V-3</a></li><li><a href='/v-2'>V-2</a>, on pipes</li></ul>"
    )
    assert [near for _, _, near in links(body)] == ["Obsoletes V-5", "See also: V-3", "V-2, on pipes"]


def test_a_name_that_begins_with_a_stop_keeps_its_blank() -> None:
    body = '<p>Read <a href="https://one.test/pth">.pth</a> files .</p>'
    assert links(body) == [("https://one.test/pth", ".pth", "Read .pth files.")]


def test_each_address_is_listed_once_with_the_most_that_stands_near_it() -> None:
    body = (
        "<h2>More</h2><p><a href='/v-8?b=1&a=2'>V-8</a></p>"
        "<p>It was replaced by <a href='https://VALVES.test/v-8/?a=2&b=1&utm_source=x#top'>the newer standard</a>.</p>"
    )
    near = "It was replaced by the newer standard."
    assert links(body) == [("https://valves.test/v-8?b=1&a=2", "V-8", near)]


def test_of_a_long_line_the_words_around_the_link_are_kept() -> None:
    body = (
        f"<p>{'Much is said before. ' * 40}See <a href='/v-8'>here</a>, or <a href='/v-9'>here</a>.{' End.' * 90}</p>"
    )
    (_, _, first), (_, _, second) = links(body)
    assert len(first) <= len(second) <= 200
    assert "said before. See here, or here." in first
    assert "See here, or here. End." in second


def test_links_without_words_and_beyond_bounds_are_left_out() -> None:
    assert links('<p><a href="/x"><img src="x.png"></a><a href="/y"> </a><a name="z">z</a></p>') == []
    many = "".join(f'<p><a href="/{number}">No {number}</a></p>' for number in range(400))
    found = links(many)
    assert (len(found), found[-1][1]) == (300, "No 299")
    ((_, words, near),) = links(f'<p><a href="/x">{"word " * 500}</a></p>')
    assert len(words) <= 200 >= len(near)


def test_the_text_and_its_id_do_not_change() -> None:
    bare, linked = (
        read(f"<html><body><article>{PROSE * 12}<p>See {shown}.</p></article></body></html>".encode(), name=PAGE)
        for shown in ("V-8", '<a href="/v-8">V-8</a>')
    )
    assert (bare.text, bare.extractor) == (linked.text, linked.extractor)
    assert linked.links
    assert not bare.links


@pytest.mark.parametrize(
    ("text", "addresses"),
    [
        ("See https://a.test/x, and (http://b.test/y).", ["https://a.test/x", "http://b.test/y"]),
        ("https://a.test/V_(valve)? Yes!", ["https://a.test/V_(valve)"]),
        ("(see https://a.test/V_(valve))", ["https://a.test/V_(valve)"]),
        ("详见https://a.test/文件/阀门。另见https://b.test/x的说明", ["https://a.test/文件/阀门", "https://b.test/x"]),
        ("doi:10.1016/S0140-6736(20)30183-5. Next", ["https://doi.org/10.1016/S0140-6736(20)30183-5"]),
        ("https://doi.org/10.1000/182 is doi 10.1000/182;", ["https://doi.org/10.1000/182"]),
        ("In arXiv:1706.03762v7 they say", ["https://arxiv.org/abs/1706.03762"]),
        ('"https://a.test/x" <https://b.test> https://a.test/x', ["https://a.test/x", "https://b.test"]),
        ("10.5 of 10.1234 and http:// and https://", []),
        ("ftp://a.test/x and mailto:a@b.test", []),
    ],
)
def test_addresses_written_in_a_text_are_links(text: str, addresses: list[str]) -> None:
    assert written(text) == addresses


def test_the_line_of_a_written_address_stands_near_it() -> None:
    long = f"{'Long line. ' * 90}https://b.test/y{' And so on.' * 90}"
    text = f"Title\n\nSuperseded by https://a.test/x since May.\n{long}\n"
    first, second = read(text.encode(), name="a.txt").links
    assert first == DocumentLink(
        address="https://a.test/x", text="https://a.test/x", near="Superseded by https://a.test/x since May."
    )
    assert "Long line. https://b.test/y And so on." in second.near
    assert len(second.near) <= 200


def test_links_of_markdown() -> None:
    text = (
        '# V-7\n\nReplaced by **[V-8](https://valves.test/v-8 "newer")**, see [laws](../laws/1) and ![a](https://x.test/p.png).\n'
        "- 参见[阀门](<https://zh.test/阀门_(机械)>)。\n\nBare <https://bare.test/x>, and [this][1].\n\n"
        "[1]: https://defined.test/y\n<!-- [old](https://old.test/) -->\n"
    )
    found = read(text.encode(), name="https://valves.test/standards/v-7.md").links
    assert [(link.address, link.text) for link in found] == [
        ("https://valves.test/v-8", "V-8"),
        ("https://valves.test/laws/1", "laws"),
        ("https://zh.test/阀门_(机械)", "阀门"),
        ("https://bare.test/x", "https://bare.test/x"),
        ("https://defined.test/y", "https://defined.test/y"),
    ]
    assert found[0].near.startswith("Replaced by V-8, see laws and")
    # A file of one's own has no address from which the next one is seen.
    own = read(text.encode(), name="notes/v-7.md").links
    assert "https://valves.test/laws/1" not in [link.address for link in own]


def test_links_of_a_pdf_with_the_lines_around_them() -> None:
    stream = (
        "BT /F1 10 Tf 14 TL 20 760 Td (The old standard) Tj T* (See the newer one) Tj T* (and doi:10.1000/182.) Tj ET"
    )
    box = "[20 744 120 756]"
    uris = ("https://valves.test/v-8?a=1", "mailto:a@valves.test")
    annotations = " ".join(
        f"<< /Type /Annot /Subtype /Link /Rect {box} /A << /S /URI /URI ({uri}) >> >>" for uri in uris
    )
    font = "/Resources << /Font << /F1 5 0 R >> >>"
    objects = (
        "<< /Type /Catalog /Pages 2 0 R >>",
        "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] /Contents 4 0 R {font} /Annots [{annotations}] >>",
        f"<< /Length {len(stream)} >>\nstream\n{stream}\nendstream",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    )
    raw = assemble(objects, "/Size 6 /Root 1 0 R")
    first, second = read(raw, name="a.pdf").links
    assert (first.address, first.text) == ("https://valves.test/v-8?a=1", "See the newer one")
    assert first.near == "The old standard See the newer one and doi:10.1000/182."
    assert second.address == "https://doi.org/10.1000/182"


def test_an_address_that_a_page_breaks_off_is_not_listed_beside_the_whole_one() -> None:
    body = '<p>See <a href="https://long.test/a/b/c">https://long.test/a/…</a> or https://long.test/a/ itself.</p>'
    assert [link[0] for link in links(body)] == ["https://long.test/a/b/c"]


def test_other_formats_give_the_addresses_in_their_text() -> None:
    document = make_docx(lambda made: made.add_paragraph("See https://a.test/x."))
    assert [link.address for link in read(document, name="a.docx").links] == ["https://a.test/x"]
    assert [link.address for link in read(make_pdf([["See https://a.test/x."]]), name="a.pdf").links] == [
        "https://a.test/x"
    ]


def test_links_that_a_process_sends_are_looked_at_again() -> None:
    hostile = ("javascript:alert(1)", "file:///etc/passwd", "a.html", "https://a.test/\u202e\u0000x")
    sent = [DocumentLink(address=address, text="x\u0000y", near="z" * 900) for address in hostile]
    (left,) = cleaned(Reading(text="t", links=tuple(sent))).links
    assert (left.address, left.text, len(left.near)) == ("https://a.test/x", "xy", 200)


def test_documents_of_earlier_versions_have_no_links() -> None:
    known = Document(id="d", snapshot="s", title="t", text="x", media_type="text/plain", extractor="text/2")
    stored = known.to_json()
    del stored["links"]
    assert Document.from_json(stored) == known
