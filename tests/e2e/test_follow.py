"""A question that follows another: asked of what was read first, searched for only where that does not suffice."""

import asyncio
import json
import re
import signal
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from deep_research.errors import NetworkError, UnknownRun, UsageError
from deep_research.pipeline.adapters import Adapters
from deep_research.report.sources.hit import Hit, SearchQuery
from deep_research.request import Budget
from deep_research.storage.store.port import JournalRow, RunRow
from deep_research.testing import CallLog, MemoryFetcher
from deep_research.text.analyzer import content_terms
from tests.e2e.harness import Lab, User, assert_emitted_once, assert_explained
from tests.support.analyst import ScriptedAnalyst
from tests.support.longer import first_of
from tests.support.world import with_models

SITE = "https://dam.test"
ENGLISH = {
    "cost": "The cost of the Halvorsen dam\n\nThe Halvorsen dam cost 84 million euros in total. "
    "The budget of the Halvorsen dam had been 70 million euros.",
    "opening": "The opening of the Halvorsen dam\n\nThe Halvorsen dam was built by the company Brekke Anlegg. "
    "The Halvorsen dam was opened on 4 May 2019. The cost of the Halvorsen dam was not named at the opening.",
    "fish": "Salmon and their ladder\n\nIn 2024 the ladder was used by 3,200 salmon on their way upstream. "
    "The salmon ladder of the Halvorsen dam has 41 steps.",
}
CHINESE = {
    "cost": "青峡水坝的造价\n\n青峡水坝的造价共计8.4亿元。青峡水坝的原预算为7亿元。",
    "opening": "青峡水坝建成典礼\n\n青峡水坝由北河建设公司承建。青峡水坝于2019年5月4日建成。"
    "典礼上没有公布青峡水坝的造价。",
    "fish": "洄游鲑鱼与鱼道\n\n2024年有3200条鲑鱼通过鱼道洄游。青峡水坝的鱼道共有41级台阶。",
}
# The question, one that what was read answers, one that it does not answer, and what the answers must hold.
TALKS = {
    "en": (ENGLISH, "How much did the Halvorsen dam cost?", "Who built it?", "How many salmon use the ladder?"),
    "zh": (CHINESE, "青峡水坝的造价是多少？", "那么它是哪一年建成的？", "有多少条鲑鱼通过鱼道？"),
}
ANSWERS = {"en": ("84 million", "Brekke Anlegg", "3,200 salmon"), "zh": ("8.4亿元", "2019年5月4日", "3200条鲑鱼")}
TITLES = {"en": "Halvorsen dam", "zh": "青峡水坝"}


@dataclass
class WordSearch:
    """Finds the pages that hold most of a query's words, and the words of their titles above all."""

    pages: Mapping[str, str]
    log: CallLog
    name: str = "words"
    timeout_s: float = 5.0

    async def search(self, query: SearchQuery, *, limit: int) -> list[Hit]:
        self.log.write("begin", "search", query.query)
        asked = set(content_terms(query.query))
        shared = {address: len(asked & set(content_terms(text))) for address, text in self.pages.items()}
        best = sorted((address for address in shared if shared[address] > 1), key=lambda address: -shared[address])
        titles = {address: text.partition("\n")[0] for address, text in self.pages.items()}
        return [Hit(address=address, title=titles[address], engine=self.name) for address in best[:2]][:limit]


@dataclass
class Town:
    """A user with a small web in one language, with rules or with a model."""

    folder: Path
    language: str
    model: ScriptedAnalyst | None = None
    user: User = field(init=False)
    lab: Lab = field(init=False)

    def __post_init__(self) -> None:
        self.user = User(self.folder)
        self.lab = Lab(self.user, change=self._change)
        self.pages, self.question, self.answered, self.open = TALKS[self.language]

    def _change(self, adapters: Adapters) -> Adapters:
        log = CallLog(self.user.call_log)
        pages = {f"{SITE}/{name}": text for name, text in self.pages.items()}
        parts = replace(
            adapters,
            engines=(WordSearch(pages, log),),
            fetcher=MemoryFetcher(pages, log=log),
            models=(),
            reasoner=None,
        )
        return with_models(parts, self.model) if self.model else parts

    def ask(self, question: str = "", **given: Any) -> RunRow:
        return self.lab.ask(question or self.question, assume=True, **given)

    def outside(self) -> list[str]:
        """Return every search and fetch that was begun so far."""
        return [f"{line['kind']} {line['what']}" for line in self.user.logged("begin") if line["kind"] != "llm"]

    def calls(self, run: RunRow, *kinds: str) -> list[JournalRow]:
        rows = self.user.with_store(lambda store: store.list_calls(run.id))
        return [row for row in rows if row.kind in kinds]

    def result(self, run: RunRow) -> dict[str, Any]:
        assert run.result is not None
        return run.result

    def file(self, run: RunRow, name: str = "report.md") -> str:
        return (Path(run.folder) / name).read_text(encoding="utf-8")

    def sources(self, run: RunRow) -> dict[int, str]:
        """Return the numbered sources of a run by the last part of their addresses."""
        listed = json.loads(self.file(run, "citations.json"))
        return {int(number): source["address"].rpartition("/")[2] for number, source in listed.items()}


def kept_of(user: User, run: RunRow) -> dict[str, object]:
    """Return everything that the store and the disk hold of one run."""
    everything = user.everything()
    tables = {name: table for name, table in everything.items() if isinstance(table, list)}
    rows = {name: [row for row in table if row.startswith(f"('{run.id}'")] for name, table in tables.items()}
    assert rows["runs"]
    assert rows["run_documents"]
    files = {name: content for name, content in everything.items() if name.startswith(run.folder)}
    return rows | files


def body_of(report: str) -> str:
    """Return a report up to its references."""
    return re.split(r"^## (?:References|参考文献)$", report, flags=re.MULTILINE)[0]


@pytest.fixture(params=first_of(sorted(TALKS)))
def town(request: pytest.FixtureRequest, tmp_path: Path) -> Town:
    return Town(tmp_path / "town", request.param)


def test_what_was_read_answers_without_a_search_or_a_fetch(town: Town) -> None:
    first = town.ask()
    before, kept = town.outside(), kept_of(town.user, first)
    assert ANSWERS[town.language][0] in town.file(first)

    second = town.ask(town.answered, follow=first.id[:8])
    assert town.result(second)["is_verified"] is True
    assert ANSWERS[town.language][1] in town.file(second)
    # The subject was named in the first question only.
    assert TITLES[town.language] in town.result(second)["brief"]["question"]
    assert town.outside() == before, "a follow-up that is answered asks nobody"
    assert town.calls(second, "search", "fetch", "query") == []
    assert second.request.follow == first.id
    assert kept_of(town.user, first) == kept, "the run before it is left as it was"


def test_only_what_is_missing_is_searched_for_and_numbers_stay(town: Town) -> None:
    first = town.ask()
    before = town.sources(first)
    cited = [number for number in before if f"[{number}]" in body_of(town.file(first))]
    begun = len(town.outside())

    second = town.ask(town.open, follow=first.id)
    assert town.result(second)["is_verified"] is True
    assert ANSWERS[town.language][2] in town.file(second)
    fetched = [call for call in town.outside()[begun:] if call.startswith("fetch")]
    assert fetched == [f"fetch {SITE}/fish"], "what was read before is not fetched again"
    after = town.sources(second)
    assert {number: after[number] for number in cited} == {number: before[number] for number in cited}
    new = next(number for number, name in after.items() if name == "fish")
    assert new == len(cited) + 1, "a new source gets the next number"
    assert f"[{new}]" in body_of(town.file(second))
    verified = json.loads(town.file(second, "verify.json"))
    assert verified["report"]["unused_references"] == []
    assert verified["report"]["references_are_numbered"] is True


def test_follow_ups_follow_each_other(town: Town) -> None:
    first = town.ask()
    second = town.ask(town.open, follow=first.id)
    begun = town.outside()
    third = town.ask(town.answered, follow=second.id)
    assert town.outside() == begun
    assert town.result(third)["is_verified"] is True
    assert TITLES[town.language] in town.result(third)["brief"]["question"], "the subject of a subject is known"
    one, two, three = (town.sources(run) for run in (first, second, third))
    cited = [number for number in one if f"[{number}]" in body_of(town.file(first))]
    own = [number for number in two if f"[{number}]" in body_of(town.file(second))]
    assert {number: three[number] for number in (*cited, *own)} == {
        **{number: one[number] for number in cited},
        **{number: two[number] for number in own},
    }


def test_a_section_is_added_and_nothing_else_changes(town: Town) -> None:
    first = town.ask()
    kept, told = kept_of(town.user, first), body_of(town.file(first))
    second = town.ask(town.open, follow=first.id, add=True)
    report = town.file(second)
    assert town.result(second)["is_verified"] is True
    assert report.startswith(told.rstrip()), "every sentence that stood there stands there"
    assert ANSWERS[town.language][2] in body_of(report)[len(told.rstrip()) :]
    lines = [town.file(run, "paragraphs.jsonl").splitlines() for run in (first, second)]
    old, new = ([json.loads(line) for line in own] for own in lines)
    assert new[: len(old)] == old, "with the verdicts that they had"
    assert len(new) > len(old)
    before = town.sources(first)
    cited = [number for number in before if f"[{number}]" in told]
    assert {number: town.sources(second)[number] for number in cited} == {number: before[number] for number in cited}
    assert kept_of(town.user, first) == kept

    third = town.ask(town.answered, follow=second.id, add=True)
    assert town.result(third)["is_verified"] is True
    assert town.file(third).startswith(body_of(report).rstrip())
    assert ANSWERS[town.language][1] in body_of(town.file(third))


def test_a_model_sees_the_earlier_question_and_answer_and_judges_the_old_sources_first(tmp_path: Path) -> None:
    def refined(request: Any) -> str:
        question = "Who built the Halvorsen dam?"
        return json.dumps(
            {
                "confidence": 0.95,
                "goal": question,
                "focuses": ["builder", "costs", "dates"],
                "refined_question": question,
            }
        )

    def enough(request: Any) -> str:
        return json.dumps(dict.fromkeys(("coverage", "depth", "diversity", "consistency", "recency"), 9))

    town = Town(tmp_path / "town", "en", ScriptedAnalyst(answers={"reflect": enough}))
    first = town.ask()
    begun = town.outside()
    town.model = ScriptedAnalyst(answers={"assess": refined, "reflect": enough})
    second = town.ask("Who built it?", follow=first.id)
    assert second.status == "done"
    assert town.outside() == begun, "neither a look around nor a search"
    assert town.result(second)["brief"]["question"] == "Who built the Halvorsen dam?"
    asked = {request.act: request.text for request in reversed(town.model.requests)}
    answer = town.result(first)["answer"].splitlines()[0]
    for act in ("assess", "plan"):
        assert "How much did the Halvorsen dam cost?" in asked[act]
        # What sources say is marked as theirs, in an answer too.
        assert any(
            answer[:60] in text for text in re.findall(r"<source[^>]*>\n(.*?)\n</source>", asked[act], re.DOTALL)
        )
    assert "Round 0 is over" in asked["reflect"]


def test_a_model_that_finds_a_gap_has_it_searched_for(tmp_path: Path) -> None:
    def judged(request: Any) -> str:
        score = 9 if "3,200" in request.text else 3
        scores = dict.fromkeys(("coverage", "depth", "diversity", "consistency", "recency"), score)
        return json.dumps(scores | {"gaps": ["the salmon"], "next_queries": ["salmon ladder count"]})

    town = Town(tmp_path / "town", "en", ScriptedAnalyst())
    first = town.ask()
    begun = len(town.outside())
    town.model = ScriptedAnalyst(answers={"reflect": judged})
    second = town.ask("How many salmon use the ladder of the Halvorsen dam?", follow=first.id, focus=("Salmon",))
    assert town.result(second)["is_verified"] is True
    later = town.outside()[begun:]
    assert later == ["search salmon ladder count", f"fetch {SITE}/fish"], "nothing but the gap"
    assert "fish" in town.sources(second).values()


def test_the_budget_of_a_follow_up_is_its_own(town: Town) -> None:
    first = town.ask()
    second = town.ask(town.open, follow=first.id, budget=Budget(queries=0))
    assert town.calls(second, "search", "fetch") == []
    assert town.result(second)["is_verified"] is True


def test_a_search_that_fails_leaves_what_was_read(tmp_path: Path) -> None:
    class Broken(WordSearch):
        async def search(self, query: SearchQuery, *, limit: int) -> list[Hit]:
            raise NetworkError("the line is dead")

    town = Town(tmp_path / "town", "en")
    first = town.ask()
    town.lab.change = lambda adapters: replace(town._change(adapters), engines=(Broken({}, CallLog()),))
    second = town.ask("How much did the Halvorsen dam cost, and how many salmon use it?", follow=first.id)
    assert town.result(second)["is_searched"] is True
    assert ANSWERS["en"][0] in town.file(second), "what the earlier run has read is told"
    assert "the line is dead" in town.file(second)
    assert town.result(second)["is_verified"] is True


def test_sites_bound_a_search_and_not_what_was_read(town: Town) -> None:
    first = town.ask()
    second = town.ask(town.answered, follow=first.id, sites=("nowhere.test",))
    assert ANSWERS[town.language][1] in town.file(second)


def test_what_cannot_be_followed_is_said_plainly(town: Town) -> None:
    with pytest.raises(UnknownRun):
        town.ask(town.open, follow="feedfeed")
    with pytest.raises(UsageError, match="--follow"):
        town.ask(town.open, add=True)
    first = town.ask()
    other = "zh-Hans" if town.language == "en" else "en"
    with pytest.raises(UsageError, match="--language"):
        town.ask(town.open, follow=first.id, add=True, language=other)
    waiting = town.lab.ask(town.question, confirm_plan=True)
    assert waiting.status == "waiting"
    with pytest.raises(UsageError, match=f"{waiting.id[:8]}.*done"):
        town.ask(town.open, follow=waiting.id)
    translated = town.ask(town.open, follow=first.id, language=other)
    notes = {"en": "语言不同", "zh": "another language"}
    assert notes[town.language] in town.file(translated)


def test_the_earlier_run_may_be_deleted_afterwards(town: Town) -> None:
    from deep_research.storage.store.lease import current_owner

    first = town.ask()
    second = town.ask(town.answered, follow=first.id, add=True)
    town.user.with_store(lambda store: store.delete_run(first.id, current_owner()))
    begun = town.outside()
    third = town.ask(town.answered, follow=second.id)
    assert town.result(third)["is_verified"] is True
    assert town.outside() == begun


DOCUMENTS = Path(__file__).parents[2] / "examples" / "documents"
HALDEN = "How much did the Halden Bay heat pump retrofit cost?"


LONG = [pytest.param(stage, marks=pytest.mark.long) for stage in ("intake", "reflect", "write")]


@pytest.mark.parametrize("stage", ["extract", *LONG])
def test_a_follow_up_that_is_killed_goes_on(tmp_path: Path, stage: str) -> None:
    docs = tmp_path / "docs"
    docs.mkdir()
    for name in ("council-closing-report.pdf", "harbour-heat-faq.html"):
        (docs / name).write_bytes((DOCUMENTS / name).read_bytes())
    user = User(tmp_path / "user")
    first = user.run("ask", HALDEN, "--docs", str(docs), "--wiring", "worlds:documents", "--quiet")
    assert first.returncode == 0, first.stderr
    run = user.only_run().id
    follow = ("ask", "Who paid for it?", "--follow", run[:8], "--wiring", "worlds:documents", "--quiet", "--add")
    killed = user.run(*follow, TEST_KILL_STAGE=stage)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    (dead,) = [row for row in user.with_store(lambda store: store.list_runs(limit=5)) if row.id != run]
    resumed = user.run("runs", "resume", dead.id)
    assert resumed.returncode == 0, resumed.stderr
    undisturbed = user.run(*follow)
    assert undisturbed.returncode == 0, undisturbed.stderr
    rows = user.with_store(lambda store: store.list_runs(limit=5))
    texts = {
        row.id: re.sub("started .*", "", (Path(row.folder) / "report.md").read_text(encoding="utf-8")).replace(
            row.id, ""
        )
        for row in rows
    }
    assert len(texts) == 3
    (other,) = set(texts) - {run, dead.id}
    assert texts[dead.id] == texts[other]
    assert_emitted_once(user.with_store(lambda store: store.read_events(dead.id)))


def test_at_the_command_line_a_follow_up_searches_where_the_run_did_and_shows_its_link(tmp_path: Path) -> None:
    user = User(tmp_path / "user")
    first = user.call("ask", HALDEN, "--docs", str(DOCUMENTS), "--strategy", "local", "--quiet")
    assert first.returncode == 0, first.stderr
    run = user.only_run()
    second = user.call("ask", "Who paid for it?", "--follow", run.id[:6], "--quiet", "--json")
    assert second.returncode == 0, second.stderr
    newest, _ = user.with_store(lambda store: store.list_runs(limit=5))
    assert newest.request.docs == run.request.docs
    assert newest.request.search.strategy == "local"
    listed = user.call("runs", "list").stdout.splitlines()
    assert run.id[:8] in listed[0].partition("Who paid")[2]
    assert run.id[:8] in user.call("runs", "show", newest.id[:8]).stdout
    shown = json.loads(user.call("runs", "show", newest.id[:8], "--json").stdout)
    assert shown["run"]["follows"] == run.id
    assert "feed" in assert_explained(user.call("ask", "Why?", "--follow", "feedfeed", "--quiet"), 64)
    assert "--follow" in assert_explained(user.call("ask", HALDEN, "--docs", str(DOCUMENTS), "--add", "--quiet"), 64)


def test_from_python(tmp_path: Path) -> None:
    from deep_research.runner import research
    from deep_research.settings import Settings

    settings = Settings(home=tmp_path / "home", logs=tmp_path / "logs", docs=DOCUMENTS, strategy="local", charts=False)

    async def talk() -> tuple[str, str]:
        first = await research(HALDEN, settings=settings)
        plain = Settings(home=tmp_path / "home", logs=tmp_path / "logs", charts=False)
        second = await research("Who paid for it?", follow=first.run, add=True, settings=plain)
        return first.final_report, second.final_report

    first, second = asyncio.run(talk())
    assert second.startswith(body_of(first).partition("## Where the sources")[0].rstrip())
    assert "Who paid for" in second
