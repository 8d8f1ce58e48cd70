"""What a page's head tells: title, author, date, address, language."""

import pytest

from deep_research.documents.readers import read

BODY = "<p>The council decided on Monday to close the old bridge for repairs that will take at least eight months.</p>"


def reading_of(head: str, *, lang: str = "en", body: str = BODY):
    return read(
        f"<!doctype html><html lang='{lang}'><head>{head}</head><body>{body}</body></html>".encode(), name="a.html"
    )


def test_linked_data_comes_before_meta_elements() -> None:
    reading = reading_of(
        """<title>Bridge | Example</title><meta property="og:title" content="Bridge!">
        <meta name="author" content="Desk">
        <meta property="article:published_time" content="2024-05-01T00:00:00Z">
        <link rel="canonical" href="https://example.org/bridge"><script type="application/ld+json">
        {"@graph": [{"@type": "WebPage", "datePublished": "2020-01-01"}, {"@type": "NewsArticle", "headline":
        "Old bridge to close", "author": [{"@type": "Person", "name": "Ann Lee"}, {"name": "Bo Li"}],
        "datePublished": "2024-05-03T08:00:00+02:00"}]}</script>"""
    )
    assert (reading.title, reading.author, reading.published) == ("Old bridge to close", "Ann Lee, Bo Li", "2024-05-03")
    assert reading.canonical == "https://example.org/bridge"


@pytest.mark.parametrize(
    ("head", "published"),
    [
        ('<meta name="citation_publication_date" content="2023/4/7">', "2023-04-07"),
        ('<meta itemprop="datePublished" content="2022-11-30">', "2022-11-30"),
        ('<meta name="dc.date" content="2021-06">', "2021-06"),
        ('<meta name="pubdate" content="2024年3月5日">', "2024-03-05"),
        ('<meta name="date" content="2024-13-45"><meta name="pubdate" content="2024-02-03">', "2024-02-03"),
        (
            '<script type="application/ld+json">{"@type": "BlogPosting", "datePublished": "2019-01-02"}</script>',
            "2019-01-02",
        ),
    ],
)
def test_the_date_is_found_where_pages_put_it(head: str, published: str) -> None:
    assert reading_of(head).published == published


def test_broken_data_costs_nothing() -> None:
    head = """<script type="application/ld+json">{"@type": "Article", oops</script>
    <script type="application/ld+json">
    [1, null, {"@type": ["Article"], "author": {"name": 7}, "headline": ["x"]}]</script>
    <link rel="canonical" href="/relative"><link rel="canonical" href="http://[bad"><title>Bridge</title>"""
    reading = reading_of(head)
    assert (reading.title, reading.author, reading.canonical) == ("Bridge", "", "")


def test_an_author_linked_in_markdown_is_named() -> None:
    head = '<meta name="author" content="[Ann Lee](https://b.test/ann) (Works), [Bo Li](https://b.test/bo)">'
    assert reading_of(head).author == "Ann Lee (Works), Bo Li"


def test_an_author_s_page_is_no_name() -> None:
    head = '<meta property="article:author" content="https://social.example/ann"><meta name="byl" content="By Ann Lee">'
    assert reading_of(head).author == "By Ann Lee"


def test_the_declared_language_counts_only_where_the_text_does_not_tell() -> None:
    assert reading_of("", lang="de").language == "en"
    german = "<p>Der Gemeinderat beschloss am Montag, die alte Brücke für mindestens acht Monate zu schließen.</p>"
    assert reading_of("", lang="de-AT", body=german).language == "de"
    assert reading_of("", lang="xx-template!", body=german).language == "de"


def test_chinese_facts() -> None:
    reading = reading_of(
        '<meta property="og:title" content="旧桥将封闭维修"><meta name="author" content="李安">',
        body="<p>市议会星期一决定封闭旧桥进行维修，工期至少八个月，费用约四百万欧元。</p>",
    )
    assert (reading.title, reading.author, reading.language) == ("旧桥将封闭维修", "李安", "zh-Hans")
