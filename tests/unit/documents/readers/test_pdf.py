import pytest

from deep_research.documents.readers import place_of, read
from deep_research.errors import SourceError
from tests.unit.documents.readers.pdf_files import make_pdf, make_protected_pdf

LONG = "Sales of the northern branch grew by 12 percent in the second quarter of the year,"


def test_pages_become_places_that_hold_their_text():
    reading = read(make_pdf([["First page text."], ["Second page text."], ["Third."]]), name="a.pdf")
    pages = {place.label: reading.text[place.start : place.end] for place in reading.places}
    assert pages == {"1": "First page text.", "2": "Second page text.", "3": "Third."}
    assert reading.language == "en"
    assert reading.extractor.startswith("pdf/")


def test_a_passage_is_placed_on_its_page():
    reading = read(make_pdf([["First page text."], ["Second page text."]]), name="a.pdf")
    start = reading.text.index("Second")
    place = place_of(reading.places, start, start + 6)
    assert place is not None
    assert (place.kind, place.label) == ("page", "2")


def test_wrapped_lines_become_one_paragraph_and_cut_words_are_mended():
    reading = read(make_pdf([["Heading", LONG + " and the manage-", "ment expects more. The end."]]), name="a.pdf")
    assert reading.text == "Heading\n\n" + LONG + " and the management expects more. The end."


def test_a_hyphen_that_belongs_to_the_word_stays():
    lines = ["A long-term plan, a long-term goal.", LONG + " which is a long-", "term matter."]
    assert "a long-term matter." in read(make_pdf([lines]), name="a.pdf").text


def test_running_heads_and_page_numbers_are_dropped():
    body = ["Apples are red.", "Pears are green.", "Plums are blue.", "Limes are sour."]
    pages = [["Annual Report 2024", text, f"Page {n} of 4"] for n, text in enumerate(body, start=1)]
    text = read(make_pdf(pages), name="a.pdf").text
    assert "Annual Report" not in text
    assert "Page" not in text
    assert all(line in text for line in body)


def test_a_sentence_over_two_pages_stays_whole():
    first = "This sentence begins at the very end of the first page of the file and it goes on"
    reading = read(make_pdf([[first], ["over to the second page."]]), name="a.pdf")
    assert reading.text == first + " over to the second page."
    place = place_of(reading.places, 0, len(reading.text))
    assert place is not None
    assert place.label == "1-2"


def test_chinese_text_is_read_and_its_lines_joined_without_spaces():
    first = "人工智能在医疗领域的应用正在迅速扩大，其中影像诊断是最成熟的方向，许多医院已经"
    reading = read(make_pdf([[first, "开始使用。"]]), name="报告.pdf")
    assert reading.text == first + "开始使用。"
    assert reading.language == "zh-Hans"


def test_properties_give_title_author_and_date():
    info = "/Title (Grid Storage) /Author (Ann Lee) /CreationDate (D:20240506120000Z)"
    reading = read(make_pdf([["Text."]], info=info), name="a.pdf")
    assert (reading.title, reading.author, reading.published) == ("Grid Storage", "Ann Lee", "2024-05-06")


def test_a_title_left_by_the_writing_program_is_not_used():
    reading = read(make_pdf([["Real Heading", "Text."]], info="/Title (Microsoft Word - draft.docx)"), name="a.pdf")
    assert reading.title == "Real Heading"


def test_a_protected_file_is_refused_with_the_fix():
    with pytest.raises(SourceError, match=r"'secret\.pdf' is protected by a password"):
        read(make_protected_pdf(), name="secret.pdf")


def test_a_file_without_text_layer_is_called_scanned():
    with pytest.raises(SourceError, match=r"'scan\.pdf' has no text layer"):
        read(make_pdf([[], []]), name="scan.pdf")


def test_pages_without_text_are_reported():
    assert read(make_pdf([["Text."], []]), name="a.pdf").warnings == ("1 of 2 pages have no text layer",)


@pytest.mark.parametrize("raw", [b"%PDF-1.4 garbage", make_pdf([["Text."]])[:120]])
def test_a_damaged_file_is_refused(raw: bytes):
    with pytest.raises(SourceError, match=r"'bad\.pdf' is damaged"):
        read(raw, name="bad.pdf")


def test_a_title_that_is_no_text_does_not_cost_the_pages():
    reading = read(make_pdf([["Costs fell."]], info="/Title <FEFFD83D0041> /Author (Ann Lee)"), name="a.pdf")
    assert (reading.text, reading.title, reading.author) == ("Costs fell.", "Costs fell.", "Ann Lee")
