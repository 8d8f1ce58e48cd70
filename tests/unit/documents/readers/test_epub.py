import pytest

from deep_research.documents.readers import place_of, read
from deep_research.errors import SourceError
from tests.unit.documents.readers.office_files import make_epub


def test_chapters_are_read_in_their_order_with_headings():
    reading = read(make_epub(), name="book.epub")
    assert reading.text == "# One\n\nCosts fell & fell.\n\n# 二\n\n价格下降了。"
    assert (reading.title, reading.author, reading.published) == ("储能简史", "李安", "2024-05-06")
    place = place_of(reading.places, reading.text.index("价格"), len(reading.text))
    assert place is not None
    assert (place.kind, place.label) == ("heading", "二")


def test_a_chapter_that_is_missing_is_remarked():
    package = make_epub(**{"OEBPS/ch 2.xhtml": ""}).replace(b"OEBPS/ch 2.xhtml", b"OEBPS/ch 9.xhtml")
    assert read(package, name="a.epub").warnings == ("1 of 2 chapters are missing from the file",)


def test_a_protected_book_is_refused_and_hidden_fonts_do_no_harm():
    def locked(path: str) -> bytes:
        xml = f'<encryption><EncryptedData><CipherReference URI="{path}"/></EncryptedData></encryption>'
        return make_epub(**{"META-INF/encryption.xml": xml})

    with pytest.raises(SourceError, match=r"'a\.epub' is protected"):
        read(locked("OEBPS/ch1.xhtml"), name="a.epub")
    assert read(locked("OEBPS/fonts/a.otf"), name="a.epub").title == "储能简史"


@pytest.mark.parametrize("part", ["META-INF/container.xml", "OEBPS/book.opf"])
@pytest.mark.parametrize("content", ["", "<not xml", "<container/>"])
def test_a_book_with_broken_parts_is_refused(part: str, content: str):
    with pytest.raises(SourceError, match=r"'a\.epub'"):
        read(make_epub(**{part: content}), name="a.epub")
