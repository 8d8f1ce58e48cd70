"""Charts of whole runs: drawn, mended, given up, or off; the report is complete each time and says what happened."""

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from deep_research.charts.sandbox.port import Execution
from deep_research.errors import SourceRefused
from deep_research.pipeline.adapters import Adapters
from deep_research.reasoning.values import ChartSpec
from deep_research.report.figure import Figure
from deep_research.value import Json
from tests.e2e.harness import Lab, User, assert_emitted_once
from tests.support.analyst import ScriptedAnalyst
from tests.support.charts import BAD, GOOD, WRONG, ScriptedSandbox, drawn_by_ours, with_series
from tests.support.world import with_models

# Without a model there are few.
BY_RULES = 2


def _analyst(programs: Sequence[str], mended: str = GOOD) -> ScriptedAnalyst:
    answer = {"charts": list(range(1, len(programs) + 1)), "titles": [], "programs": list(programs)}
    return ScriptedAnalyst(
        answers={
            "plan_charts": lambda _: json.dumps(answer),
            "repair_chart": lambda _: json.dumps({"python_code": mended}),
        }
    )


def _run(user: User, analyst: ScriptedAnalyst | None, **changes: Any) -> None:
    def change(adapters: Adapters) -> Adapters:
        adapters = replace(with_series(adapters), **{"draw": drawn_by_ours, **changes})
        if analyst is None:
            return replace(adapters, models=(), reasoner=None)
        return with_models(adapters, analyst)

    assert Lab(user, change=change).ask().status == "done"
    assert_emitted_once(user.events())
    assert "## References" in user.report()


def _results(user: User) -> list[tuple[str, str]]:
    return [
        (str(event.data["status"]), str(event.data.get("error", "")))
        for event in user.events()
        if event.kind == "chart-result"
    ]


def _planned(user: User) -> list[ChartSpec]:
    [charts] = [event.data["charts"] for event in user.events() if event.kind == "chart-planning"]
    assert isinstance(charts, list)
    return [ChartSpec.from_json(spec) for spec in charts]


def _told(user: User) -> str:
    """Return what the report says about itself."""
    return user.report().partition("## About this report")[2]


def test_what_a_model_draws_in_the_sandbox_is_shown(tmp_path: Path) -> None:
    user, sandbox = User(tmp_path), ScriptedSandbox()
    _run(user, _analyst([GOOD, f"{GOOD} "]), sandbox=sandbox)
    assert _results(user) == [("done", ""), ("done", "")]
    assert "chart" not in _told(user).lower()
    assert [len(spec.rows) for spec in _planned(user)] == [4, 4]


def test_events_carry_the_figure_and_the_text_of_the_report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    user = User(tmp_path)
    _run(user, None)
    [planned, *_] = _planned(user)
    [event, *_] = [event.data for event in user.events() if event.kind == "chart-result"]
    figure = Figure.from_json(event["figure"])
    assert (figure.title, figure.chart_type, figure.rows) == (planned.title, planned.chart_type, planned.rows)
    assert figure.png
    [told] = [event.data for event in user.events() if event.kind == "final-report"]
    assert told["text"] == Path(str(told["path"])).read_text(encoding="utf-8")
    monkeypatch.setattr("deep_research.pipeline.stages.write.MAX_EVENT_TEXT_CHARS", 100)
    user = User(tmp_path / "long")
    _run(user, None)
    [told] = [event.data for event in user.events() if event.kind == "final-report"]
    assert "text" not in told
    assert told["report"]


def test_a_form_that_only_a_program_draws_is_bars_where_the_sandbox_refuses(tmp_path: Path) -> None:
    class Refusing(ScriptedSandbox):
        async def execute(self, code: str, data: Json = None) -> Execution:
            raise SourceRefused("no sandbox any more")

    user = User(tmp_path)
    answer = {"charts": [1], "forms": ["pie"], "programs": [GOOD]}
    analyst = replace(_analyst([GOOD]), answers={"plan_charts": lambda _: json.dumps(answer)})
    _run(user, analyst, sandbox=Refusing())
    assert [spec.chart_type for spec in _planned(user)] == ["pie"]
    [event] = [event.data for event in user.events() if event.kind == "chart-result"]
    assert Figure.from_json(event["figure"]).chart_type == "bar"
    assert "Pie chart" not in user.report()


def test_a_model_sees_the_values_and_periods_of_every_series(tmp_path: Path) -> None:
    analyst = _analyst([GOOD])
    _run(User(tmp_path), analyst, sandbox=ScriptedSandbox())
    [asked] = [request.text for request in analyst.requests if request.act == "plan_charts"]
    assert "2021 | 11" in asked
    assert "2024 | 26" in asked
    assert "million euros" in asked
    assert "programs" in asked


def test_a_title_that_brings_a_number_of_its_own_is_not_taken(tmp_path: Path) -> None:
    user, analyst = User(tmp_path), _analyst([GOOD, f"{GOOD} "])
    answer = {"charts": [1, 2], "titles": ["Costs since 2021", "Costs rose by 75 %"], "programs": [GOOD, f"{GOOD} "]}
    analyst = replace(analyst, answers={"plan_charts": lambda _: json.dumps(answer)})
    _run(user, analyst, sandbox=ScriptedSandbox())
    first, second = (spec.title for spec in _planned(user))
    assert first == "Costs since 2021"
    assert "75" not in second


def test_a_program_that_fails_is_mended_once(tmp_path: Path) -> None:
    user, sandbox, analyst = User(tmp_path), ScriptedSandbox(), _analyst([BAD])
    _run(user, analyst, sandbox=sandbox)
    assert sandbox.ran == [BAD, GOOD]
    assert _results(user) == [("done", "")]
    [asked] = [request.text for request in analyst.requests if request.act == "repair_chart"]
    assert "NameError: bad" in asked
    assert BAD in asked
    assert '"label":"2021"' in asked


def test_a_figure_that_shows_other_values_is_rejected_and_mended(tmp_path: Path) -> None:
    user, sandbox, analyst = User(tmp_path), ScriptedSandbox(), _analyst([WRONG, WRONG + " "], mended=WRONG)
    _run(user, analyst, sandbox=sandbox)
    assert [status for status, _ in _results(user)] == ["failed", "failed"]
    assert all("999" in error for _, error in _results(user))
    assert "999" in _told(user)


def test_a_program_that_fails_twice_is_skipped_and_two_in_a_row_end_it(tmp_path: Path) -> None:
    user, sandbox = User(tmp_path), ScriptedSandbox()
    _run(user, _analyst([BAD, GOOD, BAD + " ", BAD + "  "], mended="worse()"), sandbox=sandbox)
    assert [status for status, _ in _results(user)] == ["failed", "done", "failed", "failed"]
    user, sandbox = User(tmp_path / "rest"), ScriptedSandbox()
    _run(user, _analyst([BAD, BAD + " ", GOOD, GOOD + " "], mended="worse()"), sandbox=sandbox)
    assert [status for status, _ in _results(user)] == ["failed", "failed", "skipped", "skipped"]
    assert GOOD not in sandbox.ran
    told = _told(user)
    assert "Charts that were not drawn" in told
    assert "The 2 charts before failed, so the others were not tried." in told


def test_the_setting_says_after_how_many_failures_it_ends(tmp_path: Path) -> None:
    user, sandbox = User(tmp_path), ScriptedSandbox()
    _run(user, _analyst([BAD, GOOD], mended="worse()"), sandbox=sandbox, max_chart_failures=1)
    assert [status for status, _ in _results(user)] == ["failed", "skipped"]


@pytest.mark.parametrize("error", ["stopped after 60 s", "the worker died (signal 9)"])
def test_a_timeout_and_a_crash_are_failures_like_others(tmp_path: Path, error: str) -> None:
    user, sandbox = User(tmp_path), ScriptedSandbox(errors=(error,))
    _run(user, _analyst([BAD, GOOD], mended="worse()"), sandbox=sandbox)
    assert _results(user) == [("failed", error), ("done", "")]
    assert error in _told(user)


@pytest.mark.parametrize("sandbox", [None, ScriptedSandbox(problem="bubblewrap: not installed")])
def test_without_a_sandbox_the_rows_that_a_model_chose_are_drawn_by_our_program_and_the_report_says_so(
    tmp_path: Path, sandbox: ScriptedSandbox | None
) -> None:
    user, analyst = User(tmp_path), _analyst([GOOD, BAD])
    _run(user, analyst, sandbox=sandbox)
    assert _results(user) == [("done", ""), ("done", "")]
    assert _told(user).count("not run without a sandbox") == 1
    assert not [event for event in user.events() if event.kind == "error" and "sandbox" in str(event.data)]
    [asked] = [request for request in analyst.requests if request.act == "plan_charts"]
    assert "in order: the whole Python program" not in asked.text


def test_without_anything_that_draws_the_report_says_once_how_to_get_it(tmp_path: Path) -> None:
    user = User(tmp_path)
    _run(user, None, draw=None, no_drawing="matplotlib is not installed (pip install 'deep-research[charts]')")
    assert _results(user) == []
    assert _told(user).count("pip install") == 1
    assert f"{BY_RULES} charts were planned and not drawn" in _told(user)


def test_by_rules_no_program_runs_and_every_point_has_its_evidence(tmp_path: Path) -> None:
    user, sandbox = User(tmp_path), ScriptedSandbox()
    _run(user, None, sandbox=sandbox)
    assert sandbox.ran == []
    assert [status for status, _ in _results(user)] == ["done"] * BY_RULES
    rows = [row for spec in _planned(user) for row in spec.rows]
    assert {row.label for row in rows} == {"2021", "2022", "2023", "2024"}
    run, ids = user.only_run().id, [row.evidence for row in rows]
    pieces = user.with_store(lambda store: store.get_evidence(run, ids))
    for row, piece in zip(rows, pieces, strict=True):
        assert f"| {row.label} | {row.value:g} |" in piece.quote


@pytest.mark.long
def test_a_run_that_is_killed_as_it_draws_goes_on_and_draws_no_chart_twice(tmp_path: Path) -> None:
    user = User(tmp_path)
    killed = user.ask("charted", TEST_KILL_DRAWING="2")
    assert killed.returncode < 0, killed.stderr
    resumed = user.run("runs", "resume", user.only_run().id)
    assert resumed.returncode == 0, resumed.stderr
    begun = Counter(line["what"] for line in user.logged("begin") if line["kind"] == "draw")
    # Only the one that was under way is begun again.
    assert sorted(begun.values()) == [1] * (BY_RULES - 1) + [2]
    assert Counter(line["what"] for line in user.logged("end") if line["kind"] == "draw") == dict.fromkeys(begun, 1)
    assert [status for status, _ in _results(user)] == ["done"] * BY_RULES
    assert_emitted_once(user.events())
    assert user.report().count("Figure 1:") == user.report().count(f"Figure {BY_RULES}:") > 0
