"""Pictures of a page: those of its text, with their words and whole addresses, and nothing else."""

import pytest

from deep_research.documents.readers import read
from deep_research.documents.readers.pictures import whole_address
from deep_research.report.sources.document import DocumentPicture

PROSE = (
    "<p>The Halvorsen dam was opened in 2019 after six years of work, and it holds back a lake of nine kilometres.</p>"
)
PAGE = "https://dam.test/news/opening.html"


def pictures(body: str, name: str = PAGE, head: str = "") -> list[tuple[str, str]]:
    article = f"<article>{PROSE * 6}{body}{PROSE * 6}</article>"
    page = f"<html><head><title>Dam</title>{head}</head><body>{article}</body></html>"
    found = read(page.encode(), name=name).pictures
    return [(whole_address(picture.address, name), picture.caption) for picture in found]


@pytest.mark.parametrize(
    ("link", "whole"),
    [
        ("dam.jpg", "https://dam.test/news/dam.jpg"),
        ("/media/dam.jpg?w=800", "https://dam.test/media/dam.jpg?w=800"),
        ("//cdn.test/dam.jpg", "https://cdn.test/dam.jpg"),
        ("http://other.test/水坝.jpg", "http://other.test/水坝.jpg"),
    ],
)
def test_addresses_are_made_whole(link: str, whole: str) -> None:
    assert pictures(f'<img src="{link}" alt="The dam">') == [(whole, "The dam")]


def test_a_base_of_the_page_counts() -> None:
    head = '<base href="https://dam.test/files/">'
    assert pictures('<img src="dam.jpg" alt="The dam">', head=head) == [("https://dam.test/files/dam.jpg", "The dam")]


def test_what_stands_below_a_picture_says_more_than_what_stands_for_it() -> None:
    figure = '<figure><img src="a.jpg" alt="dam"><figcaption>青峡水坝，<b>2019年</b>建成</figcaption></figure>'
    assert pictures(figure) == [("https://dam.test/news/a.jpg", "青峡水坝， 2019年 建成")]


def test_pictures_that_are_loaded_late_are_found() -> None:
    late = '<img src="data:image/gif;base64,R0lGOD" data-src="late.jpg" alt="Late">'
    sized = '<img src="data:image/gif;base64,R0lGOD" srcset="small.jpg 400w, large.jpg 1600w" alt="Sized">'
    assert pictures(late + sized) == [
        ("https://dam.test/news/late.jpg", "Late"),
        ("https://dam.test/news/small.jpg", "Sized"),
    ]


@pytest.mark.parametrize(
    "image",
    [
        '<img src="https://count.test/p.gif" width="1" height="1" alt="x">',
        '<img src="data:image/png;base64,AAAA" alt="in the page itself">',
        '<img src="search.png" width="24" height="24" alt="Search">',
        '<img src="/assets/icon-mail.png" alt="Mail">',
        '<img src="a.jpg" class="author-avatar" alt="Ann">',
        '<img src="site-logo.svg" alt="Dam News">',
        '<img src="ornament.jpg" alt="">',
        '<img src="ornament.jpg" role="presentation" alt="line">',
        '<img src="javascript:alert(1)" alt="code">',
        '<img src="file:///etc/passwd" alt="file">',
        '<img src="http://[broken" alt="broken">',
        '<img alt="nothing">',
    ],
)
def test_signs_counters_and_what_lies_nowhere_are_left_out(image: str) -> None:
    assert pictures(image) == []


def test_words_that_only_hold_such_a_name_are_pictures() -> None:
    assert pictures('<img src="iconic-dam.jpg" alt="The dam">') == [("https://dam.test/news/iconic-dam.jpg", "The dam")]


def test_pictures_beside_the_text_are_left_out() -> None:
    beside = '<nav><a href="/"><img src="menu.jpg" alt="Menu"></a></nav>'
    related = '<aside class="related"><img src="other.jpg" alt="Another story"></aside>'
    assert pictures(f'{beside}<img src="dam.jpg" alt="The dam">{related}') == [
        ("https://dam.test/news/dam.jpg", "The dam")
    ]


def test_each_is_listed_once_and_not_too_many() -> None:
    assert len(pictures('<img src="dam.jpg" alt="The dam">' * 3)) == 1
    assert len(pictures("".join(f'<img src="{number}.jpg" alt="Dam {number}">' for number in range(200)))) == 30
    ((_, caption),) = pictures(f'<img src="dam.jpg" alt="{"long " * 500}">')
    assert len(caption) <= 300


def test_a_file_of_ones_own_names_pictures_of_its_folder_alone() -> None:
    name = "reports/2019/dam.html"
    assert pictures('<img src="../dam.jpg" alt="The dam">', name=name) == [("reports/dam.jpg", "The dam")]
    assert pictures('<img src="../../../secret.jpg" alt="x"><img src="/etc/x.jpg" alt="x">', name=name) == []


def test_pictures_of_markdown() -> None:
    text = "# Dam\n\nText ![The dam](img/dam.png) and ![](none.png), ![x](data:image/png;base64,AA)\n"
    assert read(text.encode(), name="notes/dam.md").pictures == (
        DocumentPicture(address="img/dam.png", caption="The dam"),
    )


def test_the_text_and_its_id_do_not_change() -> None:
    bare, shown = (
        read(f"<html><body><article>{PROSE * 12}{image}</article></body></html>".encode(), name=PAGE)
        for image in ("", '<img src="dam.jpg" alt="The dam">')
    )
    assert (bare.text, bare.extractor) == (shown.text, shown.extractor)
    assert shown.pictures
