"""A run without keys whose only engine for the general web shows a challenge: open sources carry it, and it says so."""

import json
from pathlib import Path
from typing import Any

import pytest

from deep_research import research
from deep_research.settings import Settings
from deep_research.text.messages.words import words_in
from tests.support.articles import articles
from tests.support.longer import first_of
from tests.support.search_formats import DUCKDUCKGO_CHALLENGE
from tests.support.search_server import Answer, Asked, SearchServer
from tests.support.web_server import LocalWeb

OPEN = ("wikipedia", "openalex", "crossref")
QUESTIONS = {
    "en": "What did heat pumps cost in Aarhus, and what went wrong?",
    "zh-Hans": "台中的地热供暖花了多少钱，效果如何？",
    "zh-Hant": "台中的地熱供暖花了多少錢，效果如何？",
}


class OpenSources:
    """DuckDuckGo with its challenge for everybody, and libraries that find the articles of a local web."""

    def __init__(self, web: LocalWeb) -> None:
        self._web = web

    def __call__(self, asked: Asked) -> Answer:
        engine = asked.path.split("/")[1]
        if engine == "duckduckgo":
            return Answer(DUCKDUCKGO_CHALLENGE, status=202)
        if engine == "wikipedia":
            return Answer({"batchcomplete": True, "query": {"search": []}})
        found = self._web.results(engine, asked.params.get("search") or asked.params["query"])
        if engine == "openalex":
            works = [
                {"id": one.address, "title": one.title, "publication_date": one.published, "doi": None} for one in found
            ]
            return Answer({"meta": {"count": len(works)}, "results": works})
        items = [
            {"URL": one.address, "title": [one.title], "published": {"date-parts": [[int(one.published[:4]), 5]]}}
            for one in found
        ]
        return Answer({"status": "ok", "message": {"items": items}})


@pytest.mark.parametrize("language", first_of(["en", "zh-Hans", "zh-Hant"]))
async def test_open_sources_carry_a_run_without_the_general_web(language: Any, tmp_path: Path) -> None:
    with LocalWeb(articles(20, language=language), hits_a_search=6) as web, SearchServer(OpenSources(web)) as services:
        settings = Settings.model_validate(
            {
                "home": tmp_path / "home",
                "logs": tmp_path / "logs",
                "provider": "none",
                "engines": ("duckduckgo", *OPEN),
                "allowed_hosts": web.allowed,
                "max_iterations": 1,
                "max_concurrent_searches": 1,
                "clarify": "off",
                **{f"{name}_address": f"{services.address}/{name}" for name in ("duckduckgo", *OPEN)},
            }
        )
        report = await research(QUESTIONS[language], settings=settings)
    say = words_in(language)
    answer, _, noted = report.final_report.partition(f"\n**{say('report.notice')}**\n\n")
    assert answer.count("\n## ") == 1, "it stands below the answer"
    lost, rests = noted.split("\n")[:2]
    assert "DuckDuckGo" in lost
    assert rests == f"- {say('search.rests_on', sources=say('report.list_separator').join(_read(report)))}"
    assert report.is_verified
    assert report.sources
    engines = {one["engine"]: one for one in _engines(report)}
    challenged = engines["duckduckgo"]
    assert challenged["results"] == 0
    # One search after the other: the first meets the challenge, the others are spared.
    assert len([call for call in services.requests if "/duckduckgo/" in call.path]) == challenged["failed"] == 1
    assert challenged["not_tried"] > 0
    # It is asked only because the general web could not be had.
    assert engines["crossref"]["asked"] > 0
    assert engines["crossref"]["read"] > 0


def _engines(report: Any) -> list[dict[str, Any]]:
    listed: list[dict[str, Any]] = json.loads((Path(report.folder) / "retrieval.json").read_text("utf-8"))["engines"]
    return listed


def _read(report: Any) -> list[str]:
    titles = {"openalex": "OpenAlex", "crossref": "Crossref", "wikipedia": "Wikipedia"}
    return [titles[one["engine"]] for one in _engines(report) if one["read"]]
