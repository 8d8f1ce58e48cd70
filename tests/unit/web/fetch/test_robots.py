import pytest

from deep_research.web.fetch.politeness import parse_robots

ROBOTS = """\ufeff# A comment
User-agent: BadBot
Disallow: /

User-agent: *
Crawl-delay: 3
Disallow: /search
Allow: /search/about  # but this one
Disallow: /*.gif$
Disallow: /a/*/print
Disallow: /*?session=
Disallow: /%E7%A7%81
Disallow:
Sitemap: https://example.org/sitemap.xml
"""


@pytest.mark.parametrize(
    ("path", "is_allowed"),
    [
        ("/", True),
        ("", True),
        ("/search", False),
        ("/search?q=1", False),
        ("/searching", False),
        ("/search/about", True),
        ("/images/x.gif", False),
        ("/images/x.gif?size=1", True),
        ("/images/x.gifs", True),
        ("/a/b/c/print.html", False),
        ("/a/print", True),
        ("/page?session=9", False),
        ("/page?other=1", True),
        ("/私/x", False),
        ("/%E7%A7%81", False),
        ("/公", True),
    ],
)
def test_the_longest_rule_that_fits_counts(path: str, is_allowed: bool) -> None:
    assert parse_robots(ROBOTS).allows(f"https://example.org{path}") is is_allowed


def test_our_own_group_comes_before_the_one_for_all() -> None:
    text = "User-agent: *\nDisallow: /\n\nUser-agent: other\nUser-Agent: Deep-Research/1.0\nAllow: /\nDisallow: /no\n"
    robots = parse_robots(text)
    assert robots.allows("https://example.org/yes")
    assert not robots.allows("https://example.org/no/way")
    assert not parse_robots(text.replace("Deep-Research", "unnamed")).allows("https://example.org/yes")


def test_our_own_empty_group_allows_all() -> None:
    assert parse_robots("User-agent: deep-research\nDisallow:\n\nUser-agent: *\nDisallow: /").allows("https://e.org/a")


def test_of_two_rules_alike_the_kinder_one_counts() -> None:
    assert parse_robots("User-agent: *\nDisallow: /a\nAllow: /a").allows("https://example.org/a")


@pytest.mark.parametrize(("text", "delay_s"), [("2", 2.0), ("0.5", 0.5), ("soon", 0.0), ("-1", 0.0), ("inf", 0.0)])
def test_the_delay_is_read(text: str, delay_s: float) -> None:
    assert parse_robots(f"User-agent: *\nCrawl-delay: {text}\n").delay_s == delay_s


def test_what_is_no_robots_file_allows_all() -> None:
    assert parse_robots("<html><body>Disallow: /</body></html>").allows("https://example.org/a")


def test_a_hostile_rule_takes_no_time() -> None:
    robots = parse_robots("User-agent: *\nDisallow: /" + "*a" * 5000 + "$\n")
    assert robots.allows("https://example.org/" + "a" * 5000 + "b")
