"""How search services spell their results, written by hand after their documentation; the adapters name the pages.

Each function answers one request with those of the results that it asks for.
"""

from collections.abc import Callable, Sequence
from datetime import date
from typing import Final, NamedTuple

from tests.support.search_server import Answer, Asked

_SEARXNG_PAGE: Final = 10
# What DuckDuckGo shows to whom it takes for a program, mostly with status 202: its own forms and class names.
DUCKDUCKGO_CHALLENGE: Final = """<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0 Transitional//EN" "">
<html xmlns="http://www.w3.org/1999/xhtml"><head><title>DuckDuckGo</title></head><body class="body--html">
<form action="/html/" method="post"><input name="q" type="text" value="" /></form>
<form id="img-form" action="//duckduckgo.com/anomaly.js?sv=html&amp;cc=botnet" target="ifr" method="POST"></form>
<form id="challenge-form" action="//duckduckgo.com/anomaly.js?sv=html&amp;cc=botnet" method="POST">
<div class="anomaly-modal__mask"><div class="anomaly-modal__modal" data-testid="anomaly-modal">
<div class="anomaly-modal__title">Are you a person?</div>
<div class="anomaly-modal__puzzle"><label class="anomaly-modal__check"><input type="checkbox" name="image-check_1" />
<img class="anomaly-modal__image" src="../assets/anomaly/images/challenge/1.jpg" /></label></div>
<button type="submit" class="anomaly-modal__submit">Send</button></div></div></form></body></html>"""


class Result(NamedTuple):
    """What a result says, whatever the service's format."""

    address: str
    title: str
    snippet: str = "A passage about it."
    published: str = "2024-05-21"


def tavily(asked: Asked, results: Sequence[Result]) -> Answer:
    """Answer as Tavily does."""
    items = [
        {
            "title": result.title,
            "url": result.address,
            "content": result.snippet,
            "score": 0.8,
            "raw_content": None,
            "published_date": f"{result.published}T08:30:00Z",
        }
        for result in results[: asked.json["max_results"]]
    ]
    about = {"query": asked.json["query"], "follow_up_questions": None, "answer": None, "images": []}
    return Answer({**about, "results": items, "response_time": 1.67, "request_id": "123e4567"})


def serper(asked: Asked, results: Sequence[Result]) -> Answer:
    """Answer as Serper does."""
    sent = asked.json
    start = (sent["page"] - 1) * sent["num"]
    items = [
        {
            "title": result.title,
            "link": result.address,
            "snippet": result.snippet,
            "date": _spelled(result.published),
            "position": position,
        }
        for position, result in enumerate(results[start : start + sent["num"]], 1)
    ]
    where = "news" if asked.path.endswith("/news") else "organic"
    return Answer({"searchParameters": {"q": sent["q"], "type": "search"}, where: items, "credits": 1})


def brave(asked: Asked, results: Sequence[Result]) -> Answer:
    """Answer as Brave does."""
    count, offset = int(asked.params["count"]), int(asked.params["offset"])
    items = [
        {
            "type": "search_result",
            "title": result.title,
            "url": result.address,
            "description": result.snippet,
            "page_age": f"{result.published}T10:00:00",
            "age": _spelled(result.published),
            "meta_url": {"hostname": "example.org"},
        }
        for result in results[offset * count : (offset + 1) * count]
    ]
    query = {"original": asked.params["q"], "more_results_available": (offset + 1) * count < len(results)}
    if asked.path.endswith("/news/search"):
        return Answer({"type": "news", "query": query, "results": items})
    web = {"web": {"type": "search", "results": items, "family_friendly": True}} if items else {}
    return Answer({"type": "search", "query": query, "mixed": {"main": []}, **web})


def searxng(asked: Asked, results: Sequence[Result]) -> Answer:
    """Answer as SearXNG does."""
    start = (int(asked.params["pageno"]) - 1) * _SEARXNG_PAGE
    items = [
        {
            "url": result.address,
            "title": result.title,
            "content": result.snippet,
            "publishedDate": f"{result.published}T00:00:00",
            "thumbnail": None,
            "engine": "mojeek",
            "engines": ["mojeek"],
            "score": 1.0,
            "category": "general",
        }
        for result in results[start : start + _SEARXNG_PAGE]
    ]
    beside: dict[str, list[str]] = {
        name: [] for name in ("answers", "corrections", "infoboxes", "suggestions", "unresponsive_engines")
    }
    return Answer({"query": asked.params["q"], "number_of_results": 0, "results": items, **beside})


def _spelled(day: str) -> str:
    return f"{date.fromisoformat(day):%b} {int(day[-2:])}, {day[:4]}"


FORMATS: Final[dict[str, Callable[[Asked, Sequence[Result]], Answer]]] = {
    "tavily": tavily,
    "serper": serper,
    "brave": brave,
    "searxng": searxng,
}
