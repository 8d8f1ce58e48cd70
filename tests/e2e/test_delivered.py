"""Pages that cannot be read, of which the search service gave an abstract or the text: read, cited as such, kept."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from deep_research import Result, research
from deep_research.request import Language
from deep_research.settings import Settings
from deep_research.text.messages.words import words_in
from tests.e2e.harness import User, finish, kill
from tests.support.articles import Article
from tests.support.longer import first_of
from tests.support.search_server import Answer, Asked, SearchServer
from tests.support.waiting import wait_until
from tests.support.web_faults import hang
from tests.support.web_server import LocalWeb

HOST, PATH = "127.0.0.2", "/paper"
SAID = {
    "en": "The forecast trap made the managers of the Halden fishery lose 41 per cent of the biomass in ten years.",
    "zh-Hans": "预测陷阱使哈尔登渔场的管理者在十年内损失了百分之四十一的鱼类生物量。",
    "zh-Hant": "預測陷阱使哈爾登漁場的管理者在十年內損失了百分之四十一的魚類生物量。",
}
QUESTIONS = {
    "en": "What share of the biomass did the Halden fishery lose through the forecast trap?",
    "zh-Hans": "预测陷阱使哈尔登渔场损失了多少鱼类生物量？",
    "zh-Hant": "預測陷阱使哈爾登漁場損失了多少魚類生物量？",
}
READABLE = (
    "The forecast trap cost the Halden fishery 43 per cent of its biomass, the full paper says in a table of 2022."
)
UNREADABLE = {
    "forbidden": Answer("<title>Forbidden</title>", status=403),
    "paywall": Answer("<title>Payment Required</title>", status=402),
    "broken PDF": Answer(b"%PDF-1.7\n1 0 obj\nbroken", headers={"Content-Type": "application/pdf"}),
}


def crossref(page: str, text: str) -> Answer:
    """Answer as Crossref does; abstracts come as JATS."""
    abstract = f"<jats:title>Abstract</jats:title>\n                  <jats:p>{text}</jats:p>"
    work = {"DOI": "10.1111/ele.14024", "URL": page, "title": ["The forecast trap"], "abstract": abstract,
            "published": {"date-parts": [[2022, 5, 30]]}}  # fmt: skip
    return Answer({"status": "ok", "message-type": "work-list", "message": {"total-results": 1, "items": [work]}})


def tavily(page: str, text: str) -> Answer:
    """Answer as Tavily does where the text of pages is asked for."""
    result = {"url": page, "title": "The forecast trap", "content": text[:40], "score": 0.9, "raw_content": text}
    return Answer({"query": "q", "answer": None, "images": [], "results": [result], "response_time": 1.1})


@pytest.fixture
def web() -> Iterator[LocalWeb]:
    page = Article(HOST, PATH, "en", "The forecast trap", "Boettiger", "2022-05-30", (READABLE,))
    with LocalWeb([page]) as served:
        yield served


def settings_for(web: LocalWeb, search: SearchServer, folder: Path, engine: str) -> Settings:
    given: dict[str, Any] = {
        "home": folder / "home",
        "logs": folder / "logs",
        "provider": "none",
        "charts": False,
        "engines": (engine,),
        f"{engine}_address": search.address,
        "tavily_api_key": SecretStr("tvly-key"),
        "allowed_hosts": web.allowed,
        "max_iterations": 1,
        "clarify": "off",
        "strategy": "academic" if engine == "crossref" else "general",
    }
    return Settings.model_validate(given)


def file_of(result: Result, name: str) -> Any:
    text = (Path(result.folder) / name).read_text(encoding="utf-8")
    return json.loads(text) if name.endswith(".json") else [json.loads(line) for line in text.splitlines()]


@pytest.mark.parametrize("fault", sorted(UNREADABLE))
async def test_the_abstract_is_cited_as_one_where_the_paper_cannot_be_read(
    web: LocalWeb, tmp_path: Path, fault: str
) -> None:
    web.faults[HOST + PATH] = UNREADABLE[fault]
    with SearchServer(crossref(web.addresses[0], SAID["en"])) as search:
        result = await research(QUESTIONS["en"], settings=settings_for(web, search, tmp_path, "crossref"))
    assert result.is_verified
    assert f"{SAID['en']}[1]" in result.final_report.replace(" [1]", "[1]")
    assert f"[1] The forecast trap - {web.addresses[0]} (abstract, from Crossref; 2022-05-30)" in result.final_report
    [proof] = [piece for piece in file_of(result, "evidence.jsonl") if "41 per cent" in piece["quote"]]
    assert proof["source"] == web.addresses[0]
    pages = file_of(result, "retrieval.json")["pages"]
    assert pages["delivered"] == {web.addresses[0]: {"kind": "abstract", "engine": "crossref"}}
    assert [*pages["blocked"]] == web.addresses or fault == "broken PDF"
    assert pages["cited"] == 1


@pytest.mark.parametrize("language", first_of(["en", "zh-Hans", "zh-Hant"]))
async def test_the_text_that_a_service_delivers_is_cited_in_the_language_of_the_report(
    web: LocalWeb, tmp_path: Path, language: Language
) -> None:
    web.faults[HOST + PATH] = UNREADABLE["forbidden"]
    with SearchServer(tavily(web.addresses[0], f"{SAID[language]}\n")) as search:
        result = await research(QUESTIONS[language], settings=settings_for(web, search, tmp_path, "tavily"))
        assert search.requests[0].json["include_raw_content"] == "text"
    assert result.is_verified
    assert SAID[language] in result.final_report
    assert words_in(language)("report.text_from", engine="Tavily") in result.final_report
    assert words_in(language)("search.delivered", count=1) in result.final_report


async def test_a_page_that_can_be_read_wins_over_its_abstract(web: LocalWeb, tmp_path: Path) -> None:
    with SearchServer(crossref(web.addresses[0], SAID["en"])) as search:
        result = await research(QUESTIONS["en"], settings=settings_for(web, search, tmp_path, "crossref"))
    assert READABLE in result.final_report
    assert "41 per cent" not in result.final_report
    assert "abstract, from" not in result.final_report
    assert file_of(result, "retrieval.json")["pages"]["delivered"] == {}


async def test_a_page_without_an_abstract_is_lost_as_before(web: LocalWeb, tmp_path: Path) -> None:
    web.faults[HOST + PATH] = UNREADABLE["forbidden"]
    with SearchServer(crossref(web.addresses[0], "")) as search:
        result = await research(QUESTIONS["en"], settings=settings_for(web, search, tmp_path, "crossref"))
    assert words_in("en")("nothing.report") in result.final_report


def test_what_was_delivered_outlives_a_kill(web: LocalWeb, tmp_path: Path) -> None:
    """The service is gone when the run goes on: what it gave is in the journal."""
    web.faults[HOST + PATH] = hang

    def answer(_: Asked) -> Answer:
        return crossref(web.addresses[0], SAID["en"])

    with SearchServer(answer) as search:
        env = {
            "DEEP_RESEARCH_ENGINES": "crossref",
            "DEEP_RESEARCH_CROSSREF_ADDRESS": search.address,
            "DEEP_RESEARCH_ALLOWED_HOSTS": ",".join(web.allowed),
            "DEEP_RESEARCH_PROVIDER": "none",
            "DEEP_RESEARCH_STRATEGY": "academic",
        }
        user = User(tmp_path, env=env)
        running = user.start("ask", QUESTIONS["en"], "--clarify", "off")
        wait_until(lambda: any(exchange.asked.path == PATH for exchange in web.log))
        kill(running)
        finish(running)
    web.faults[HOST + PATH] = UNREADABLE["forbidden"]
    resumed = user.run("runs", "resume", user.only_run().id)
    assert resumed.returncode == 0, resumed.stderr
    assert "41 per cent" in user.report()
    assert "(abstract, from Crossref; 2022-05-30)" in user.report()
