"""A report says whose words it is made of, and how far a model's were checked."""

import pytest

from deep_research.pipeline.about import cuts_of, limitations_of, unread_of, wording_of
from deep_research.pipeline.gap import Gap, GapKind
from deep_research.report.paragraph import Paragraph, Sentence, Verdict, VerdictKind, note, row
from deep_research.request import Budget
from deep_research.text.messages.words import words_in


def said(text: str, kind: VerdictKind = "supported", reason: str = "judged") -> Sentence:
    return Sentence(text=text, evidence=("e1",), verdict=Verdict(kind=kind, reason=reason))


QUOTED = (said("a.", reason="verbatim"), said("b.", reason="trimmed"))
TABLE = Paragraph(section="s", kind="table", sentences=(row((("Part", "Tank"),), ("e1",)),))


@pytest.mark.parametrize("language", ["en", "zh-Hans", "zh-Hant"])
def test_a_models_sentences_are_counted_once_and_by_what_their_check_showed(language):
    worded = (said("c."), said("d.", "partly"), said("e.", "not_checked", "failed"))
    paragraphs = [
        Paragraph(section="abstract", sentences=worded[:1]),
        Paragraph(section="s", sentences=(*QUOTED, *worded)),
        TABLE,
        note("outlook", "f."),
    ]
    say = words_in(language)
    separator = say("report.list_separator")
    assert wording_of(paragraphs, ["one:pen", "two:pen"], say) == (
        say("limits.worded", count=3, total=5, models=f"one:pen{separator}two:pen"),
        say("limits.partly", count=1),
        say("limits.not_checked", count=1),
    )


def test_a_report_of_quotations_says_nothing_about_a_model():
    assert wording_of([Paragraph(section="s", sentences=QUOTED), TABLE], ["one:pen"], words_in("en")) == ()


def test_a_report_without_a_model_says_nothing_about_one():
    assert (
        wording_of([Paragraph(section="s", sentences=(said("c.", "not_checked", "likely"),))], [], words_in("en")) == ()
    )


def test_files_that_could_not_be_read_are_named_apart_from_the_answer():
    gaps = [Gap(kind="page", scope="index", subject="letter.pdf", reason="damaged")]
    assert cuts_of(gaps, Budget(), words_in("en")) == ()
    (line,) = unread_of(gaps, words_in("zh-Hant"))
    assert "letter.pdf" in line
    assert unread_of([], words_in("en")) == ()


_TRACE = """printed before
Traceback (most recent call last):
  File "/tmp/work/chart.py", line 3, in <module>
    ax.plot(row["valeu"])
KeyError: 'valeu'
"""
_INTERNAL = [
    ("chart", _TRACE),
    ("chart", "No chart was drawn: Traceback (most recent call last)"),
    ("chart", "The sandbox could not be started again: [Errno 13] Permission denied: '/usr/bin/bwrap'"),
    ("section", "unexpected RuntimeError"),
    ("section", "unexpected StopIteration"),
    ("search", "json.decoder.JSONDecodeError: Expecting value"),
    ("page", "The page https://a.example/x failed in /home/me/lib/site-packages/httpx/_client.py"),
]


@pytest.mark.parametrize("language", ["en", "zh-Hans", "zh-Hant"])
@pytest.mark.parametrize(("kind", "reason"), _INTERNAL)
def test_a_report_tells_no_traceback_no_exception_and_no_path_of_the_machine(
    kind: GapKind, reason: str, language: str
) -> None:
    say = words_in(language)
    [line] = limitations_of([Gap(kind=kind, scope="s", subject="Sales", reason=reason)], say)
    assert "Sales" in line
    assert say("failed.unforeseen") in line
    assert not [sign for sign in ("Traceback", "Error", "unexpected", "/home", "/usr", "\n") if sign in line]


@pytest.mark.parametrize(
    "reason",
    [
        "The page https://docs.example/KeyError/a/b.html could not be read: it is gone.",
        "The file “notes/KeyError.md” was not used: it is damaged.",
        "The code was stopped after 60 s.",
        "Brave did not answer within 10 s and/or refused.",
    ],
)
def test_a_reason_in_plain_words_stays_as_it_is(reason: str) -> None:
    [line] = limitations_of([Gap(kind="section", scope="s", subject="Sales", reason=reason)], words_in("en"))
    assert reason in line
