"""Whatever is printed, a terminal shows it and obeys nothing of it; programs get the data as it is."""

import io
import json
import logging
from datetime import UTC, datetime

import pytest
from rich.console import Console

from deep_research.cli.printing import json_line, set_up_logs, show, show_json, tell, tell_over
from deep_research.cli.runs import progress
from deep_research.cli.runs.progress import Board, section_lines
from deep_research.events import EventKind, RunEvent
from deep_research.text.messages.words import words_in
from deep_research.value import JsonObject

HOSTILE = "费用\x1b[2J\x1b]0;owned\x07 rose\x9b31m\u202egnp\x08.exe"
PLAIN = "费用 rosegnp.exe"


def test_what_a_terminal_would_obey_is_not_printed(capsys):
    show(f"a {HOSTILE}")
    show()
    tell(f"b {HOSTILE}", end="!")
    tell_over(f"1/2 {HOSTILE}\n")
    printed = capsys.readouterr()
    assert printed.out == f"a {PLAIN}\n\n"
    assert printed.err == f"b {PLAIN}!\r\x1b[2K1/2 {PLAIN}"


def test_json_keeps_its_values_and_shows_no_sign_that_a_terminal_obeys(capsys):
    data = {"text": HOSTILE + "\ud800\u2028"}
    show_json(**data)
    printed = capsys.readouterr().out
    assert printed == json_line({"schema_version": 1, **data})
    assert json.loads(printed) == {"schema_version": 1, **data}
    assert not set(printed) & set("\x1b\x07\x08\x9b\u202e\ud800\u2028")


def test_logs_are_cleaned(capsys, monkeypatch):
    monkeypatch.setattr(logging.root, "handlers", [])
    monkeypatch.setattr(logging.root, "level", logging.WARNING)
    monkeypatch.setattr(logging.getLogger("deep_research"), "level", logging.NOTSET)
    set_up_logs(is_verbose=False)
    logging.getLogger("deep_research.x").warning("skipped %s", HOSTILE)
    assert capsys.readouterr().err == f"WARNING deep_research.x: skipped {PLAIN}\n"


@pytest.mark.parametrize("kind", ["lines", "bars"])
def test_events_are_cleaned(kind, capsys, monkeypatch):
    words, drawn = words_in("en"), io.StringIO()
    shown = progress.ProgressPrinter(words) if kind == "lines" else progress.Bars(words)
    if isinstance(shown, progress.Bars):
        console = Console(file=drawn, force_terminal=True, width=200)
        monkeypatch.setattr(shown, "_progress", Board(console=console, below=lambda: section_lines(shown._told)))
    events: list[tuple[EventKind, JsonObject]] = [
        ("report-plan", {"title": "T", "sections": [{"title": HOSTILE}]}),
        ("serp-query", {"section": HOSTILE, "round": 1, "queries": [{"query": "q", "goal": ""}]}),
        ("error", {"message": HOSTILE, "step": "extract"}),
    ]
    for kind_, data in events:
        shown.show(RunEvent(seq=1, run="r", at=datetime(2026, 1, 1, tzinfo=UTC), kind=kind_, key="k", data=data))
    shown.close()
    printed = capsys.readouterr().err + drawn.getvalue()
    assert PLAIN in printed
    assert not any(sign in printed for sign in ("\x1b[2J", "\x1b]", "\x07", "\x9b", "\u202e"))
