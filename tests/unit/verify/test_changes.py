"""Two versions of a text differ where their words do: not by line ends, order, or the form of quotation marks."""

import random
import textwrap
from datetime import UTC, datetime

import pytest

from deep_research.report.citation import Citations, Source
from deep_research.report.edition import CitedPassage, Edition
from deep_research.report.layout import Chapter, ReportLayout
from deep_research.report.paragraph import Paragraph, Sentence
from deep_research.verify.changes import (
    Changes,
    Comparison,
    Edit,
    NewText,
    Units,
    compare_reports,
    compare_with_sources,
    marked,
)

TEXT = """# The plant

The plant of Lund cost 41.5 million euros in 2021. It was built in three years by a firm from Oslo, and the council of \
the city says that it works as it should.

Its output was 412 GWh in 2022, and nobody says "it is too small" any more.

| Year | Output (GWh) |
| --- | --- |
| 2021 | 388 |
| 2022 | 412 |
"""
CHINESE = "# 电厂\n\n隆德电厂在2021年花费了4.15亿元。电厂由一家公司用三年建成。\n\n2022年的发电量为412亿千瓦时。\n"


def _edits(before: str, after: str) -> tuple[Edit, ...]:
    return Comparison(Units(before), Units(after)).edits


@pytest.mark.parametrize("width", [30, 45, 60, 100, 1_000])
def test_wrapped_lines_are_no_change(width: int) -> None:
    paragraphs = TEXT.split("\n\n")
    wrapped = "\n\n".join(
        part if part.startswith(("#", "|")) else textwrap.fill(part, width, break_long_words=False)
        for part in paragraphs
    )
    assert _edits(TEXT, wrapped) == ()
    assert _edits(wrapped, TEXT) == ()


def test_order_line_ends_and_typography_are_no_change() -> None:
    title, *paragraphs = TEXT.strip().split("\n\n")
    moved = "\r\n\r\n".join([title, *reversed(paragraphs)]).replace('"it is too small"', "“it is too small”")
    assert _edits(TEXT, moved) == ()
    assert _edits(CHINESE, CHINESE.replace("2022年的发电量", "2022 年的发电量")) == ()


def test_the_mark_of_a_list_item_is_no_word_and_a_minus_is() -> None:
    listed = "Three things went wrong:\n\n- The tunnel was flooded in 2023.\n- The pipes were rusty in 2024.\n"
    assert _edits(listed, listed.replace("- The", "* The")) == ()
    assert _edits(listed, listed.replace("- The", "The")) == ()
    assert _edits("-5 degrees were measured.\n", "5 degrees were measured.\n")


@pytest.mark.parametrize(
    ("text", "before", "after"),
    [
        (TEXT, "41.5 million", "45.1 million"),
        (TEXT, "in 2021.", "in 2022."),
        (TEXT, "nobody says", "everybody says"),
        (TEXT, "| 2021 | 388 |", "| 2021 | 398 |"),
        (TEXT, "| 2021 | 388 |\n", ""),
        (TEXT, "| 2022 | 412 |\n", "| 2022 | 412 |\n| 2023 | 455 |\n"),
        (CHINESE, "4.15亿元", "4.51亿元"),
        (CHINESE, "用三年建成", "用四年建成"),
        (CHINESE, "电厂由一家公司用三年建成。", ""),
        (CHINESE, "412亿千瓦时。", "412亿千瓦时。2023年停止运行。"),
    ],
)
def test_each_change_is_one_edit(text: str, before: str, after: str) -> None:
    assert text.count(before) == 1
    (edit,) = _edits(text, text.replace(before, after))
    if not after:
        assert not edit.after
    elif before in after:
        assert not edit.before
    else:
        assert edit.before
        assert edit.after


def test_a_sentence_that_is_now_denied_does_not_still_stand() -> None:
    before = "The bridge is safe.\n"
    assert _edits(before, "Nobody believes that The bridge is safe.\n")


def test_one_change_in_a_long_document_is_found_among_moved_paragraphs() -> None:
    chance = random.Random(7)
    parts = [
        f"Town {n} spent {n * 3} million euros on bridge {n * 7} in the year {1900 + n % 120}." for n in range(6_000)
    ]
    moved = parts.copy()
    chance.shuffle(moved)
    moved[17] = moved[17].replace("million", "billion")
    (edit,) = _edits("\n\n".join(parts), "\n\n".join(moved))
    assert edit.after == moved[17]


def test_a_document_that_was_written_anew_is_compared_in_time() -> None:
    before = "\n\n".join(f"Alpha beta gamma {n} delta." for n in range(2_000))
    after = "\n\n".join(f"Alpha beta {n} epsilon zeta." for n in range(2_000))
    assert len(_edits(before, after)) >= 2_000


def test_the_words_that_changed_are_marked() -> None:
    before, after = marked("It cost 41.5 million in 2021.", "It cost 45.1 million in 2021.")
    assert [text for text, is_changed in before if is_changed] == ["41.5"]
    assert [text for text, is_changed in after if is_changed] == ["45.1"]
    assert "".join(text for text, _ in before) == "It cost 41.5 million in 2021."
    zh, _ = marked("花费了4.15亿元", "花费了4.51亿元")
    assert [text for text, is_changed in zh if is_changed] == ["4.15"]


def _edition(run: str, texts: dict[str, str], *claims: tuple[str, str]) -> Edition:
    """Return a report whose sentences, each from the document of that name, stand there word for word."""
    passages, sentences = [], []
    for number, (document, text) in enumerate(claims):
        start = texts[document].index(text)
        id_ = f"{run}{number}"
        passages.append(CitedPassage(id=id_, document=document, start=start, end=start + len(text), quote=text))
        sentences.append(Sentence(text=text, evidence=(id_,)))
    sources = tuple(Source(document=name, title=name, address=name.split("@")[0]) for name in texts)
    paragraph = Paragraph(section="S", sentences=tuple(sentences))
    return Edition(
        run=run,
        question="?",
        language="en",
        created_at=datetime(2026, 1, 1, tzinfo=UTC),
        code_version="1",
        report=ReportLayout(title="T", chapters=(Chapter(title="S", paragraphs=(paragraph,)),), run_line=run),
        citations=Citations(cited=sources),
        passages=tuple(passages),
    )


def _kinds(changes: Changes) -> dict[str, str]:
    return {claim.before or claim.after: claim.kind for claim in changes.claims}


A = "The plant cost 41.5 million euros. It opened in May 2021."
B = "The choir of the town sings on Monday."


def _updated(now: dict[str, NewText], new_texts: dict[str, str], *claims: tuple[str, str]) -> Changes:
    texts = {"a@1": A, "b@1": B}
    old = _edition("old", texts, ("a@1", "The plant cost 41.5 million euros."), ("b@1", B))
    return compare_with_sources(old, texts, now, _edition("new", new_texts, *claims), new_texts)


def test_a_source_that_is_gone_or_silent_takes_no_side() -> None:
    gone, down = NewText(reason="not found", is_gone=True), NewText(reason="no answer")
    found = _updated({"a": gone, "b": down}, {})
    assert _kinds(found) == {"The plant cost 41.5 million euros.": "gone", B: "unchecked"}
    assert [source.kind for source in found.sources] == ["gone", "unchecked"]


def test_a_change_beside_a_claim_is_told_of_the_source_alone() -> None:
    now = A.replace("May", "June")
    found = _updated({"a": NewText(now), "b": NewText(B)}, {"a@2": now, "b@1": B})
    assert set(_kinds(found).values()) == {"still"}
    assert [source.kind for source in found.sources] == ["changed", "same"]
    assert [edit.after for edit in found.sources[0].edits] == ["It opened in June 2021."]


def test_what_says_a_changed_claim_anew_is_not_told_twice() -> None:
    now = A.replace("41.5", "45.1")
    new = {"a@2": now, "b@1": B}
    found = _updated({"a": NewText(now), "b": NewText(B)}, new, ("a@2", "The plant cost 45.1 million euros."))
    assert sorted(_kinds(found).values()) == ["changed", "still"]


def test_what_was_known_and_is_only_told_now_is_not_new() -> None:
    new = {"a@1": A, "b@1": B}
    found = _updated({"a": NewText(A), "b": NewText(B)}, new, ("a@1", "It opened in May 2021."))
    assert set(_kinds(found).values()) == {"still"}


def test_two_reports_are_compared_by_their_sentences() -> None:
    before, after = {"a": A, "b": B}, {"a": A.replace("41.5", "45.1"), "c": "A bridge was built in 2020."}
    old = _edition(
        "old", before, ("a", "The plant cost 41.5 million euros."), ("a", "It opened in May 2021."), ("b", B)
    )
    new = _edition(
        "new",
        after,
        ("a", "It opened in May 2021."),
        ("a", "The plant cost 45.1 million euros."),
        ("c", "A bridge was built in 2020."),
    )
    found = compare_reports(old, new)
    assert _kinds(found) == {
        "The plant cost 41.5 million euros.": "changed",
        "It opened in May 2021.": "still",
        B: "gone",
        "A bridge was built in 2020.": "new",
    }
    assert {source.address: source.kind for source in found.sources} == {"a": "same", "b": "gone", "c": "new"}
