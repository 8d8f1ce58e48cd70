"""What a follow-up takes over from the run before it."""

from datetime import UTC, datetime

import pytest

from deep_research.pipeline.earlier import request_following
from deep_research.request import Language, ResearchRequest
from deep_research.storage.store.port import RunRow

NOW = datetime(2026, 1, 2, tzinfo=UTC)


def done(language: Language) -> RunRow:
    return RunRow(
        id="a" * 32,
        created_at=NOW,
        updated_at=NOW,
        status="done",
        request=ResearchRequest(question="…"),
        wiring="",
        folder="",
        code_version="",
        result={"edition": "0", "language": language},
    )


@pytest.mark.parametrize(
    ("before", "question", "language"),
    [
        ("zh-Hant", "那成本呢？", "zh-Hant"),  # written alike in both scripts
        ("zh-Hans", "那成本呢？", None),
        ("zh-Hant", "那维护呢？", None),
        ("zh-Hant", "And the cost?", None),
        ("en", "那成本呢？", None),
    ],
)
def test_a_question_written_alike_in_both_scripts_is_answered_in_that_of_the_report(before, question, language):
    assert request_following(ResearchRequest(question=question, follow="aaaa"), done(before)).language == language


def test_a_section_has_the_language_of_its_report():
    added = request_following(ResearchRequest(question="那成本呢？", follow="aaaa", add=True), done("en"))
    assert (added.language, added.follow) == ("en", "a" * 32)
