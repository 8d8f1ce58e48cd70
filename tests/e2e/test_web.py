"""Whole runs over a web on this machine: searched, read, cited, kept; mixed with documents; with faults."""

import json
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from deep_research import Result, research
from deep_research.errors import ConfigurationError
from deep_research.pipeline.journalled import Snapshot
from deep_research.service.auditing import audit_file
from deep_research.settings import Settings
from deep_research.storage.database.sqlite import SqliteFile
from deep_research.storage.store.store import Store
from deep_research.text.messages.words import words_in
from deep_research.web.fetch.chromium import ChromiumRenderer, find_chromium
from deep_research.web.net.client import GuardedClient
from deep_research.web.net.guard import Guard
from tests.e2e.harness import User
from tests.support.articles import Article, articles
from tests.support.longer import first_of
from tests.support.programs import needs
from tests.support.search_server import Answer
from tests.support.web_faults import FAULTS, hang
from tests.support.web_server import PAGES, LocalWeb

ENGINES = ("tavily", "serper", "searxng")
QUESTIONS = {
    "en": "What did heat pumps cost in Aarhus, and what went wrong?",
    "zh-Hans": "台中的地热供暖花了多少钱，效果如何？",
    "zh-Hant": "台中的地熱供暖花了多少錢，效果如何？",
}
DOCUMENTS = Path(__file__).parents[2] / "examples" / "documents"


def _settings(web: LocalWeb, folder: Path, **changes: object) -> Settings:
    given: dict[str, object] = {
        "home": folder / "home",
        "logs": folder / "logs",
        "provider": "none",
        "charts": False,
        "engines": ENGINES,
        "tavily_api_key": SecretStr("tvly-key"),
        "serper_api_key": SecretStr("serper-key"),
        "allowed_hosts": web.allowed,
        "parallel_strategy": "batch",
        "max_iterations": 1,
        "clarify": "off",
        **{f"{name}_address": web.engine_address(name) for name in ENGINES},
    }
    return Settings.model_validate(given | changes)


def _retrieval(result: Result) -> dict[str, Any]:
    kept: dict[str, Any] = json.loads((Path(result.folder) / "retrieval.json").read_text(encoding="utf-8"))
    return kept


@pytest.mark.parametrize("language", first_of(["en", "zh-Hans", "zh-Hant"]))
async def test_a_question_is_answered_from_pages_that_are_kept(language: Any, tmp_path: Path) -> None:
    with LocalWeb(articles(30, language=language), hits_a_search=10) as web:
        settings = _settings(web, tmp_path)
        report = await research(QUESTIONS[language], settings=settings)
        assert {exchange.asked.headers.get("authorization") for exchange in web.requests("tavily")} == {
            "Bearer tvly-key"
        }
        assert any(exchange.asked.path == "/robots.txt" for exchange in web.log)
    assert report.is_verified
    assert words_in(language)("report.notice") not in report.final_report
    cited = [source for source in report.sources if f"] {source['title']}" in report.final_report]
    assert cited
    assert all(str(source["address"]).startswith("http://127.0.0.") for source in report.sources)
    health = _retrieval(report)
    assert health["pages"]["fetched"] == len(report.sources) >= 3
    assert health["pages"]["cited"] >= 1
    assert {engine["engine"] for engine in health["engines"]} == {*ENGINES}
    assert all(engine["failed"] == 0 and engine["results"] > 0 for engine in health["engines"])
    store = Store(SqliteFile(settings.store_path))
    try:
        rows = [row for row in await store.list_calls(report.run) if row.kind == "fetch"]
        page = Snapshot.from_json(rows[0].answer)
        assert b"<article>" in await store.get_blob(page.snapshot)
        assert page.headers["content-type"] == "text/html; charset=utf-8"
        assert page.fetched_at.startswith("20")
    finally:
        await store.close()


@pytest.mark.long
async def test_the_same_run_with_a_cache_repeats_no_request(tmp_path: Path) -> None:
    with LocalWeb(articles(30), hits_a_search=10) as web:
        web.faults["127.0.0.7"] = Answer("<title>Gone</title>", status=410)
        settings = _settings(web, tmp_path)
        first = await research(QUESTIONS["en"], settings=settings)
        asked = len(web.log)
        second = await research(QUESTIONS["en"], settings=settings)
        assert len(web.log) == asked
        assert second.final_report.split("\n---\n")[0] == first.final_report.split("\n---\n")[0]
        await research(QUESTIONS["en"], settings=settings.with_changes(cache=False))
        assert len(web.log) == 2 * asked


@pytest.mark.long
async def test_two_hosts_with_one_database_make_each_search_and_fetch_once(tmp_path: Path, database_url: str) -> None:
    pytest.importorskip("psycopg_pool", reason="needs the extra postgres")
    with LocalWeb(articles(30), hits_a_search=10) as web:
        web.faults["127.0.0.7"] = Answer("<title>Gone</title>", status=410)
        here, there = (
            _settings(web, tmp_path / name, database_url=SecretStr(database_url)) for name in ("here", "there")
        )
        first = await research(QUESTIONS["en"], settings=here)
        asked = len(web.log)
        second = await research(QUESTIONS["en"], settings=there)
        assert len(web.log) == asked > 0
        assert second.run != first.run
        assert second.final_report.split("\n---\n")[0] == first.final_report.split("\n---\n")[0]


async def test_no_page_is_fetched_twice_and_no_query_asked_twice_in_a_run(tmp_path: Path) -> None:
    with LocalWeb(articles(12), hits_a_search=6) as web:
        await research(QUESTIONS["en"], settings=_settings(web, tmp_path, cache=False, max_iterations=3))
        pages = [(exchange.host, exchange.asked.path) for exchange in web.requests(PAGES)]
        assert len(pages) == len(set(pages))
        queries = [exchange.asked.json["query"] for exchange in web.requests("tavily")]
        assert len(queries) == len(set(queries)) > 1


async def test_documents_and_the_web_stand_in_one_report(tmp_path: Path) -> None:
    host = "127.0.0.2"
    told = "The Halden Bay heat pump retrofit cost €150 million, the Ministry of Energy said in a review of 2026."
    page = Article(host, "/review", "en", "Review of the Halden Bay retrofit", "Ines", "2026-03-01", (told,) * 1)
    with LocalWeb([page], hits_a_search=5) as web:
        report = await research(
            "How much did the Halden Bay heat pump retrofit cost?", settings=_settings(web, tmp_path, docs=DOCUMENTS)
        )
    assert "€146.2 million" in report.final_report
    assert "€150 million" in report.final_report
    assert "Your documents (" in report.final_report


async def test_copies_of_one_story_are_quoted_once(tmp_path: Path) -> None:
    story = articles(1)[0]
    copies = [
        Article(f"127.0.0.{number}", f"/copy/{number}", "en", f"{story.title} – Paper {number}", f"Desk {number}",
                f"2024-01-{number:02}", story.paragraphs)
        for number in (2, 3, 4)
    ]  # fmt: skip
    with LocalWeb(copies, hits_a_search=5) as web:
        report = await research("What did heat pumps cost in Aarhus?", settings=_settings(web, tmp_path))
    assert len(report.sources) == 3
    assert "[1]" in report.final_report.split("## References")[0]
    assert "[2]" not in report.final_report.split("## References")[0]


@pytest.mark.long
async def test_every_fault_at_once_costs_its_own_pages_and_nothing_else(tmp_path: Path) -> None:
    """One engine hangs, one answers nonsense; each kind of broken page stands among good ones."""
    pages = articles(40)
    with LocalWeb(pages, hits_a_search=10) as web:
        for article, fault in zip(pages, FAULTS.values(), strict=False):
            web.faults[article.host] = fault
        web.faults[pages[20].host] = Answer("", status=302, headers={"Location": "http://169.254.169.254/latest"})
        web.faults["serper"] = hang
        web.faults["tavily"] = Answer("<html>Please try again later</html>")
        settings = _settings(web, tmp_path, search_timeout_s=10, fetch_timeout_s=20, urls_per_query=6)
        report = await research(QUESTIONS["en"], settings=settings)
    assert report.is_verified
    health = _retrieval(report)
    failed = {engine["engine"]: engine["failed"] for engine in health["engines"]}
    assert failed["serper"] > 0
    assert failed["tavily"] > 0
    assert failed["searxng"] == 0
    assert health["pages"]["blocked"]
    assert health["pages"]["fetched"] > 0
    assert "Serper: " in report.final_report
    assert "Tavily: " in report.final_report


async def test_a_limit_in_money_cannot_be_kept_with_a_search_that_has_no_price(tmp_path: Path) -> None:
    with LocalWeb(articles(1)) as web:
        settings = _settings(
            web, tmp_path, engines=(), search_mode="model", openai_api_key=SecretStr("k"), budget_usd=1.0
        )
        with pytest.raises(ConfigurationError) as refused:
            await research(QUESTIONS["en"], settings=settings)
    assert "openai-search" in refused.value.in_words(words_in("en"))


async def test_an_open_circuit_spares_a_dead_service(tmp_path: Path) -> None:
    with LocalWeb(articles(20), hits_a_search=5) as web:
        web.faults["tavily"] = Answer({"detail": "no"}, status=401)
        settings = _settings(web, tmp_path, max_iterations=4, cache=False, batch_size=1)
        report = await research(QUESTIONS["en"], settings=settings)
        asked = len(web.requests("tavily"))
    (tavily,) = [engine for engine in _retrieval(report)["engines"] if engine["engine"] == "tavily"]
    # One search after the other: the first finds out, the others are spared.
    assert asked == tavily["asked"] == tavily["failed"] == 1
    assert tavily["not_tried"] > 0
    assert "check the key in TAVILY_API_KEY" in report.final_report


async def test_without_any_answer_the_report_says_so_and_claims_nothing(tmp_path: Path) -> None:
    with LocalWeb(articles(3)) as web:
        for engine in ENGINES:
            web.faults[engine] = Answer("down", status=500)
        settings = _settings(web, tmp_path, queries_first_iteration=3)
        report = await research(QUESTIONS["zh-Hans"], settings=settings)
    assert report.sources == ()
    assert not report.is_searched
    assert "所有搜索都失败了" in report.final_report
    assert "检索情况" in report.final_report


def _command_line(web: LocalWeb, tmp_path: Path) -> User:
    env = {
        "TAVILY_API_KEY": "k",
        "DEEP_RESEARCH_ENGINES": "tavily,searxng",
        "DEEP_RESEARCH_TAVILY_ADDRESS": web.engine_address("tavily"),
        "DEEP_RESEARCH_SEARXNG_ADDRESS": web.engine_address("searxng"),
        "DEEP_RESEARCH_ALLOWED_HOSTS": ",".join(web.allowed),
        "DEEP_RESEARCH_PROVIDER": "none",
    }
    return User(tmp_path, env=env)


@pytest.mark.long
def test_sources_and_cache_at_the_command_line(tmp_path: Path) -> None:
    with LocalWeb(articles(10), hits_a_search=4) as web:
        user = _command_line(web, tmp_path)
        listed = user.run("sources", "list").stdout
        assert "on       tavily" in listed
        assert "missing  exa" in listed
        assert "EXA_API_KEY" in listed
        assert "off      arxiv" in listed
        tried = user.run("sources", "test", "tavily", "-q", "heat pumps")
        assert tried.returncode == 0, tried.stderr
        assert "Tavily: 4 results" in tried.stdout
        web.faults["tavily"] = Answer({"detail": "no"}, status=401)
        tried = user.run("sources", "test", "tavily")
        assert (tried.returncode, "check the key in TAVILY_API_KEY" in tried.stderr) == (70, True)
        assert "EXA_API_KEY" in user.run("sources", "test", "exa").stderr
        diagnosis = user.run("doctor").stdout
        assert "would ask Tavily, SearXNG" in diagnosis
        assert "Exa needs a key: set EXA_API_KEY" in diagnosis
        asked = user.run(QUESTIONS["en"], "--clarify", "off", "--wiring", "deep_research.wiring:build")
        assert asked.returncode == 0, asked.stderr
        assert "queries go to services outside (up to 2)" in asked.stderr
        assert "SearXNG (" in asked.stdout
        assert "Cleared 0.00 MB" not in user.run("cache", "clear").stdout
        assert "0.00 of 500 MB" in user.run("cache", "show").stdout


async def test_a_page_that_cannot_be_had_is_replaced_by_the_next(tmp_path: Path) -> None:
    pages = articles(9)
    with LocalWeb(pages, hits_a_search=9) as web:
        for article in pages[:7]:
            web.faults[article.host] = Answer("<title>No</title>", status=403)
        settings = _settings(web, tmp_path, queries_first_iteration=1, urls_per_query=3)
        report = await research(QUESTIONS["en"], settings=settings)
    health = _retrieval(report)
    assert health["pages"]["fetched"] >= 1
    assert len(report.sources) >= 1


async def test_pages_that_claim_one_address_are_each_cited_by_their_own(tmp_path: Path) -> None:
    told = "The heat pumps of Aarhus cost {} million euros in 2024, the city said in its yearly account of spending."
    pages = [
        Article("127.0.0.2", f"/page/{number}", "en", f"Aarhus heat pumps, part {number}", "Ines", "2024-05-01",
                (told.format(number * 11), f"Part {number} of the account names {number} of the plants in service."))
        for number in (1, 2, 3)
    ]  # fmt: skip

    class Claiming(LocalWeb):
        def _page(self, host: str, path: str) -> Answer:
            answer = super()._page(host, path)
            body = answer.body if isinstance(answer.body, bytes) else b""
            return Answer(body.replace(path.encode(), b"/"), headers=answer.headers, status=answer.status)

    with Claiming(pages, hits_a_search=5) as web:
        report = await research("What did the heat pumps of Aarhus cost?", settings=_settings(web, tmp_path))
        own = set(web.addresses)
    assert report.is_verified
    assert {str(source["address"]) for source in report.sources} == own


async def test_a_page_that_changes_while_it_is_read_fails_nothing(tmp_path: Path) -> None:
    """Two addresses lead to one, which says something else each time."""
    pages = articles(3)
    numbers = iter(range(100))

    class Changing(LocalWeb):
        def _page(self, host: str, path: str) -> Answer:
            if path.startswith("/20") and not path.endswith("shared"):
                return Answer("", status=302, headers={"Location": f"http://{pages[0].host}:{self.port}/2020/shared"})
            told = pages[next(numbers) % 3]
            return Answer(told.html("http://x"), headers={"Content-Type": "text/html"})

    with Changing(pages, hits_a_search=5) as web:
        settings = _settings(web, tmp_path, respect_robots=False)
        report = await research(QUESTIONS["en"], settings=settings)
    assert report.is_verified


async def test_addresses_go_out_as_they_were_found(tmp_path: Path) -> None:
    page = Article("127.0.0.2", "/notes/", "en", "Aarhus heat pumps", "Ines", "2024-05-01", articles(1)[0].paragraphs)
    with LocalWeb([page], hits_a_search=5) as web:
        report = await research(QUESTIONS["en"], settings=_settings(web, tmp_path))
    assert len(report.sources) == 1


def test_a_retry_asks_again_what_was_blocked_before(tmp_path: Path) -> None:
    with LocalWeb(articles(6), hits_a_search=6) as web:
        user = _command_line(web, tmp_path)
        for article in web.articles:
            web.faults[article.host] = Answer("<title>No</title>", status=403)
        asked = user.run(QUESTIONS["en"], "--clarify", "off", "--wiring", "deep_research.wiring:build")
        assert asked.returncode == 0, asked.stderr
        assert "Cited: 0%" in asked.stdout
        web.faults.clear()
        again = user.run("runs", "retry", user.only_run().id)
        assert again.returncode == 0, again.stderr
        assert "[1]" in again.stdout


@needs("chromium")
async def test_a_rendered_page_cannot_read_another_host_through_a_redirect(tmp_path: Path) -> None:
    host, inner = articles(2)
    script = b"""<!doctype html><title>Shell</title><div id="root"></div><script>
        fetch('/jump').then(r => r.text()).then(t => fetch('/out?' + encodeURIComponent(t.slice(0, 40))))
        .catch(() => fetch('/out?nothing'));</script>"""

    class Jumping(LocalWeb):
        def _page(self, asked: str, path: str) -> Answer:
            if asked == inner.host:
                return Answer("INTERNAL-SECRET", headers={"Content-Type": "text/html"})
            if path == "/jump":
                return Answer("", status=302, headers={"Location": f"http://{inner.host}:{self.port}/"})
            return Answer(script, headers={"Content-Type": "text/html"})

    with Jumping([host, inner]) as web:
        async with GuardedClient(Guard(allowed=web.allowed)) as client:
            executable = find_chromium()
            assert executable is not None
            await ChromiumRenderer(client, executable).render(f"http://{host.host}:{web.port}/")
        sent = [str(exchange.asked.params) + exchange.asked.path for exchange in web.log]
    assert any("/out" in line for line in sent)
    assert not any("SECRET" in line for line in sent)


async def test_a_report_is_audited_against_the_pages_it_refers_to(tmp_path: Path) -> None:
    with LocalWeb(articles(3, language="en"), hits_a_search=3) as web:
        article = articles(3, language="en")[0]
        address = web.address_of(article)
        said = article.paragraphs[0].split(". ")[0] + "."
        report = tmp_path / "report.md"
        references = f"## References\n\n[1] {address}\n[2] {address}-gone\n[3] http://169.254.169.254/latest\n"
        report.write_text(f"{said} [1]\n\nThe moon weighs 73 tonnes. [1] So it is. [2][3]\n\n{references}")
        audited = await audit_file(report, settings=_settings(web, tmp_path))
    assert audited.audit.checked[0].verdict == "word_for_word"
    assert {fault.fault for fault in audited.audit.faults} == {"number", "no_source"}
    assert len(audited.unread) == 2, "a page that is gone, and one that nobody may open"
