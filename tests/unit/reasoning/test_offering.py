"""What of a long document is offered first: its opening, its fate, and what speaks of all that is asked."""

from collections.abc import Sequence
from itertools import pairwise

import pytest

from deep_research.reasoning.rules.quoting.offering import offered_first, states_of
from deep_research.reasoning.rules.reasoner import ExtractiveReasoner
from deep_research.reasoning.values import Context
from deep_research.report.sources.document import Document
from tests.unit.reasoning.pieces import piece

ENGLISH = (
    "PEP 900 – A lock file",
    "Which lock files are there?",
    "This proposal describes a file that lists what is installed.",
    "## Rejection Notice\n\nThe council said no in 2024, because the conditions were never met.",
    "Later PEP 900 was withdrawn in favour of another one.",
)
CHINESE = (
    "准入控制器",
    "集群如何隔离？",
    "本页介绍一种检查工作负载的机制。",
    "## 移除说明\n\n由于条件一直没有满足，委员会在二〇二四年作出了决定。",
    "准入控制器后来被废弃，由另一种机制代替。",
)
FILLER = {
    "en": "The {n}th option of the tool reads {n} more pages from the folder of the user and prints them.",
    "zh": "该工具的第{n}个选项会再读取用户文件夹中的{n}个文件并把它们显示出来。",
}


def page(parts: Sequence[str], language: str) -> str:
    """Return a page whose notices stand among much that is beside the matter."""
    title, _, opening, notice, late = parts

    def filler(first: int) -> str:
        return " ".join(FILLER[language].format(n=n) for n in range(first, first + 30))

    return (
        f"# {title}\n\n{opening}\n\n## A\n\n{filler(1)}\n\n{notice}\n\n## B\n\n{filler(40)}\n\n{late}\n\n{filler(80)}"
    )


def first(text: str, title: str, *asked: str) -> list[str]:
    return [unit.text for unit in offered_first(text, [(0, len(text))], title, asked)]


@pytest.mark.parametrize(("parts", "language"), [(ENGLISH, "en"), (CHINESE, "zh")], ids=["en", "zh"])
def test_the_opening_and_what_became_of_it_come_first(parts: Sequence[str], language: str) -> None:
    title, question, opening, notice, late = parts
    told = first(page(parts, language), title, question)
    assert told[0] == opening
    assert any(notice.split("\n\n")[1] in text for text in told[:3])
    assert any(late in text for text in told[:3])


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("dependency confusion", "Dependency confusion installs a wrong package."),
        ("资源配额", "资源配额限制每个部门能用的内存。"),
    ],
)
def test_what_is_looked_for_comes_before_the_rest(name: str, text: str) -> None:
    language = "en" if name.isascii() else "zh"
    parts = ENGLISH if name.isascii() else CHINESE
    whole = f"{page(parts, language)}\n\n## C\n\n{FILLER[language].format(n=3)}\n\n## D\n\n{text}"
    without, asked = (first(whole, "", parts[1], *sought) for sought in ((), (name,)))
    places = [next(at for at, unit in enumerate(units) if text in unit) for units in (without, asked)]
    assert places[1] < places[0]
    assert places[1] <= 3


def test_every_section_comes_before_the_third_part_of_any() -> None:
    sections = [
        f"## S{n}\n\n" + " ".join(f"Cost {n}.{k} was paid for the harbour wall." for k in range(12)) for n in range(6)
    ]
    text = "\n\n".join(sections)
    units = offered_first(text, [(0, len(text))], "", ["What did the harbour wall cost?"])
    assert len({unit.heading for unit in units[:7]}) == 6
    assert sorted(unit.start for unit in units) == [unit.start for unit in sorted(units, key=lambda each: each.start)]


def test_rows_are_offered_with_and_without_a_header_and_the_head_is_not() -> None:
    tables = "| Benchmark | Tool 2.6.4 | Tool 3.0.1 |\n| django | 1.08 s | 0.80 s |\n| nbody | 0.51 s | 0.28 s |\n"
    bare = "| 32-bit | 1.3M | 12M |\n| 64-bit | 1.6M | 13M |\n"
    text = f"# Speed\n\nStatus: Final\nVersion: 3\n\nIt was measured.\n\n{tables}\nSizes follow here.\n\n{bare}"
    told = first(text, "Speed", "How fast is it?")
    assert any("django" in each and "2.6.4" in each for each in told)
    assert sum("1.3M" in each for each in told) == 1
    assert not any("Status" in each for each in told)


async def test_a_document_is_offered_whole_and_nothing_twice() -> None:
    text = page(ENGLISH, "en")
    document = Document(id="one", snapshot="s", title="PEP 900", text=text, media_type="text/plain", extractor="text/1")
    ranked = await ExtractiveReasoner().passages(document, ("Which lock files are there?",))
    in_order = await ExtractiveReasoner().passages(document, ("Which lock files are there?",), is_whole=True)
    assert sorted(ranked, key=lambda each: each.start) == in_order
    assert all(before.end <= after.start for before, after in pairwise(in_order))


def test_where_a_thing_stands_is_told_by_its_newest_its_oldest_and_an_undated_passage() -> None:
    told = {
        "2018": "RuntimeClass is an alpha feature of this release.",
        "2019": "RuntimeClass is now a beta feature.",
        "2020": "RuntimeClass graduated and is stable.",
        "": "RuntimeClass is stable since version 1.20.",
        "2024": "Other things graduated and are stable.",
        "2025": "RuntimeClass chooses among what runs containers.",
    }
    pieces = [piece(text, year or "undated") for year, text in told.items()]
    contexts = {one.id: Context(title="t", published=year) for one, year in zip(pieces, told, strict=True)}
    found = states_of(("RuntimeClass: choice of a runtime",), pieces, contexts)
    assert {one.document for one in found} == {"2018", "2020", "undated"}


def test_what_stands_under_a_heading_is_about_it() -> None:
    one = piece("It graduated in this release.", "notes")
    contexts = {one.id: Context(title="t", headings="News › 用户命名空间 User Namespaces")}
    assert states_of(("User namespaces",), [one], contexts) == (one,)
    assert states_of(("Seccomp",), [one], contexts) == ()
