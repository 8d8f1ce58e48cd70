"""What a service says about a result becomes plain text, a web address, a date."""

import time

import pytest

from deep_research.web.search.cleaning import iso_date, plain_text, web_address


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("plain", "plain"),
        ("two\n lines\tof  it ", "two lines of it"),
        ("R&amp;D &lt;3 &#x4e2d;", "R&D <3 中"),
        ("<b>bold</b> and <em class='x'>strong</em>", "bold and strong"),
        ("10<sup>6</sup> cells since 2020<jats:sup>1</jats:sup>", "10^6 cells since 2020^1"),
        ("H<sub>2</sub>O and CO<sub>2</sub>", "H2O and CO2"),
        ("one<br/>two<p>three</p>four", "one two three four"),
        ("<jats:p>Background: <jats:italic>E. coli</jats:italic></jats:p>", "Background: E. coli"),
        ("<jats:list><jats:list-item><jats:p>one</jats:p></jats:list-item></jats:list>two", "one two"),
        ("C<jats:sub>10</jats:sub>H<jats:sup>+</jats:sup>", "C10H+"),
        ("C\n <sub>10</sub>\n H", "C10 H"),
        (
            "CO\n <jats:sub>2</jats:sub>\n and C\n <jats:sub>2</jats:sub>\n H\n <jats:sub>4</jats:sub>\n .",
            "CO2 and C2H4.",
        ),
        ("<scp>T</scp>ree by <italic>hand</italic>", "Tree by hand"),
        ("x <math><mi>a</mi>\n <mo>=</mo>\n <mn>1</mn></math> y", "x a=1 y"),
        ("<jats:tex-math>$a$</jats:tex-math><mml:math><mml:mi>a</mml:mi></mml:math>-ray", "a-ray"),
        ("<jats:tex-math>$a$</jats:tex-math>", "$a$"),
        ("cut <mml:math><mml:mi>a</mml:mi>", "cut a"),
        ("&lt;strong&gt;escaped&lt;/strong&gt; tags", "escaped tags"),
        ("a <!-- not <b>seen</b> --> comment", "a comment"),
        ("Vec<T> where T < 5 and x > 3", "Vec<T> where T < 5 and x > 3"),
        ("ze\u200bro\u00ad width\ufeff and \u202eturned\u202c", "zero width and turned"),
        ("a\x00b\x1b[1mc", "abc"),
        ("half a pair \ud83d here", "half a pair here"),
        ("「太阳能」<b>装机</b>容量", "「太阳能」装机容量"),
        ("", ""),
        (None, ""),
        (42, ""),
        (["text"], ""),
        ({"a": "b"}, ""),
    ],
)
def test_text_is_plain_and_on_one_line(given, kept):
    assert plain_text(given) == kept


def test_text_has_an_end():
    assert len(plain_text("word " * 10_000)) <= 2_000


def test_endless_tag_costs_no_time():
    assert plain_text("<b " * 100_000)
    assert plain_text("<!--" * 100_000)
    began_s = time.process_time()
    for text in ("<math>", "\n \n", "\n<sub>", "</jats:sub>\n", "<jats:tex-math>"):
        plain_text(f"{text * 50_000}<math></math>")
    assert time.process_time() - began_s < 10


@pytest.mark.parametrize(
    "address",
    [
        "https://example.org/",
        "http://example.org:8080/a?b=c#d",
        "HTTPS://Example.org/Path",
        "https://例子.测试/路径?问=答",
        "https://[2001:db8::1]/",
    ],
)
def test_whole_web_address_is_kept_as_given(address):
    assert web_address(f" {address}\n") == address


@pytest.mark.parametrize(
    "address",
    [
        "",
        "example.org",
        "//example.org/a",
        "/a/b",
        "ftp://example.org/",
        "javascript:alert(1)",
        "JaVaScRiPt:alert(1)",
        "data:text/html,x",
        "file:///etc/passwd",
        "mailto:a@example.org",
        "http://",
        "http:///path",
        "https://?q=x",
        "https://example.org:99999/",
        "https://example.org:port/",
        "https://[broken/",
        "https://exa mple.org/",
        "https://example.org/\r\nHost: other",
        'https://example.org/"onclick=',
        "https://example.org\\@evil.example/",
        None,
        5,
        ["https://example.org/"],
    ],
)
def test_anything_else_is_no_address(address):
    assert web_address(address) == ""


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("2024-05-21", "2024-05-21"),
        ("2024-05-21T08:30:00.000Z", "2024-05-21"),
        ("2024-05-21 08:30:00", "2024-05-21"),
        ("Tue, 21 May 2024 08:30:00 GMT", "2024-05-21"),
        ("May 21, 2024", "2024-05-21"),
        ("21 May 2024", "2024-05-21"),
        ("2024年5月21日", "2024-05-21"),
        ("2024/05/21", "2024-05-21"),
        ("May 2024", "2024-05"),
        ("2024-05", "2024-05"),
        ("2024-13", "2024"),
        ("2020-2024", "2020"),
        ("2024", "2024"),
        (2024, "2024"),
        ("3 hours ago", ""),
        ("昨天", ""),
        ("", ""),
        (None, ""),
        (True, ""),
        ({"year": 2024}, ""),
    ],
)
def test_date_is_iso_or_nothing(given, kept):
    assert iso_date(given) == kept
