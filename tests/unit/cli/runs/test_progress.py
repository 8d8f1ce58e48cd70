"""What a run's events say to a person: each thing once, and thin sections only when nothing more is searched for."""

from datetime import UTC, datetime

import pytest

from deep_research.cli.runs.progress import Bars, Display, ProgressPrinter
from deep_research.events import EventKind, RunEvent
from deep_research.service.runs.progress_lines import ProgressLines
from deep_research.text.messages.words import words_in
from deep_research.value import JsonObject


def event(kind: EventKind, **data: object) -> RunEvent:
    content: JsonObject = data  # type: ignore[assignment]  # plain values
    return RunEvent(seq=1, run="r", at=datetime(2026, 1, 1, tzinfo=UTC), kind=kind, key="k", data=content)


def coverage(section: str, round_: int, share: float, *, is_sufficient: bool) -> RunEvent:
    return event("section-coverage", section=section, round=round_, coverage=share, is_sufficient=is_sufficient)


def said(lines: ProgressLines, event: RunEvent) -> str:
    """Return what is said of an event beside the stage that begins with it."""
    return "".join(line.text for line in lines.of(event) if not line.is_stage)


def test_the_same_failure_is_said_once():
    news, failed = (
        ProgressLines(words_in("en")),
        event("error", message="extract: the model is overloaded", step="extract"),
    )
    assert said(news, failed) == "  ! extract: the model is overloaded"
    assert said(news, failed) == ""


def test_a_plan_is_shown_title_by_title_and_a_section_that_is_written_is_not() -> None:
    news = ProgressLines(words_in("en"))
    written = event("message", type="text", text="成本与资金")
    assert said(news, written.model_copy(update={"key": "message:plan:1a2b3c4d"})) == "  · 成本与资金"
    assert said(news, written.model_copy(update={"key": "message:draft/section/1:0"})) == ""


@pytest.mark.parametrize("language", ["en", "zh-Hans", "zh-Hant"])
def test_a_try_is_announced_without_its_reason_which_ends_the_run_if_it_stays(language):
    news = ProgressLines(words_in(language))
    first = said(news, event("error", message="No connection.", category="NETWORK", retry_count=1, step="workflow"))
    second = said(news, event("error", message="No connection.", category="NETWORK", retry_count=2, step="workflow"))
    assert first != second
    assert "No connection" not in first + second


def test_only_sections_that_end_thin_are_told_and_only_at_the_end():
    news = ProgressLines(words_in("en"))
    rounds = [
        coverage("Costs", 1, 0.2, is_sufficient=False),
        coverage("People", 1, 0.3, is_sufficient=False),
        coverage("Costs", 2, 0.9, is_sufficient=True),
        coverage("People", 2, 0.35, is_sufficient=False),
    ]
    assert [said(news, each) for each in rounds] == [""] * 4
    done = event("progress", step="analyze", status="started")
    assert said(news, done) == "  Few sources were found for: People (35% covered)"
    assert said(news, done) == ""


def test_lines_tell_of_each_round_and_silence_of_none(capsys):
    shown = {"round": 1, "is_judged": True, "entries": [], "new": 0, "pages": 3, "queries": 1, "stop": ""}
    judged = event("research-map", **shown)
    ProgressPrinter(words_in("en")).show(judged)
    assert capsys.readouterr().err == "  Round 1: 3 pages read, 1 query left\n"
    Display().show(judged)
    assert capsys.readouterr().err == ""


def test_a_stage_that_works_at_several_places_is_done_when_all_are(capsys):
    bars = Bars(words_in("en"))
    try:
        for status in ("started", "started", "done"):
            bars.show(event("progress", step="draft", status=status))
        bars.show(event("progress", step="supervise", status="done", data={"dealt": {}}))
        drafting = next(task for task in bars._progress.tasks if task.description == "Drafting")
        assert (drafting.completed, drafting.total) == (1, 2)
        bars.show(event("progress", step="draft", status="done"))
        assert drafting.finished
    finally:
        bars.close()
    assert "Drafting" in capsys.readouterr().err
