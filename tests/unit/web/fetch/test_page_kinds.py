"""Error pages and walls are told from articles, whatever their status says."""

import pytest

from deep_research.web.fetch.page_kinds import kind_of_page, kind_of_text
from tests.support.cpu import at_most_cpu_s
from tests.unit.web.fetch.wall_pages import ARTICLES, WALLS


@pytest.mark.parametrize("shape", WALLS)
def test_a_wall_or_error_page_is_recognised(shape: str) -> None:
    kind, raw = WALLS[shape]
    assert kind_of_page(raw, name="https://example.org/story") == kind


@pytest.mark.parametrize("shape", ARTICLES)
def test_an_article_passes(shape: str) -> None:
    assert kind_of_page(ARTICLES[shape], name="https://example.org/story") == "article"


@pytest.mark.parametrize(
    "body",
    [
        b'{"error": "not_found"}',
        b'{"error": {"code": 403, "message": "Forbidden"}}',
        b'{"message": "Not Found", "documentation_url": "https://docs.example/rest"}',
        b'{"errors": [{"title": "No such record"}]}',
        b'{"success": false, "msg": "rate limited"}',
        b'{"status": 404, "title": "Not Found", "detail": "no such paper"}',
        b'{"code": "500", "msg": "\xe7\xb3\xbb\xe7\xbb\x9f\xe7\xb9\x81\xe5\xbf\x99"}',
        b'{"status": "error", "message": "bad key"}',
        b'<?xml version="1.0"?><Error><Code>AccessDenied</Code><Message>Access Denied</Message></Error>',
    ],
)
def test_a_body_that_tells_an_error_is_recognised(body: bytes) -> None:
    assert kind_of_text(body) == "server error"


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (b"404 page not found\n", "not found"),
        (b"Access denied.", "access denied"),
        ("页面不存在".encode(), "not found"),
    ],
)
def test_a_line_of_text_that_tells_an_error_is_recognised(body: bytes, kind: str) -> None:
    assert kind_of_text(body) == kind


@pytest.mark.parametrize(
    "body",
    [
        b'{"title": "Water mains", "abstract": "A study of leaks.", "year": 2024}',
        b'{"message": "Leaks rose in 2024", "author": "Ann Lee", "date": "2024-05-01"}',
        b'{"status": 200, "title": "Water mains", "detail": "long"}',
        b'{"error": null, "results": [1, 2]}',
        b'[{"error": "x"}]',
        b"{not json",
        b'{"a":' * 700,
        b"404 was the number of the room in which the first servers stood.",
        b"The library is closed on Friday.",
        b"# Errors\n\nPage not found\n\nThis text tells how to write a page for lost visitors.",
        b'<?xml version="1.0"?><record><title>Water mains</title></record>',
    ],
)
def test_other_text_passes(body: bytes) -> None:
    assert kind_of_text(body) == "article"


def test_a_page_with_more_elements_than_any_wall_is_not_taken_apart():
    with at_most_cpu_s(1):
        assert kind_of_page(b"<html><body>" + b"<p>x" * 1_000_000, name="a.html") == "article"
