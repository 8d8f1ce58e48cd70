"""Texts made of one sign or word over and over: what is found in them takes time as they are long."""

from collections.abc import Callable

import pytest

from deep_research.reasoning.model.prose import read_report, without_markup
from deep_research.report.sources.dating import days_of
from deep_research.text.analyzer import analyze
from deep_research.text.prompt_injection import find_prompt_injection
from deep_research.text.quantities import find_quantities
from deep_research.text.sentences import split_sentences
from deep_research.text.tables import find_tables
from deep_research.verify.particulars import particulars
from deep_research.verify.references import find_references
from deep_research.verify.trimming import possible_cuts
from tests.support.cpu import at_most_cpu_s


@pytest.mark.parametrize(
    ("function", "text", "count"),
    {
        "dots": (split_sentences, "Costs fell" + "." * 20_000 + "x", 1),
        "marks": (split_sentences, "Costs fell" + "!?" * 10_000 + "x", 1),
        "ellipses": (split_sentences, "Costs fell" + "…" * 60_000 + "x", 1),
        "closers": (split_sentences, "Costs fell." + ")" * 60_000 + "x", 1),
        "titles of books": (split_sentences, "据" + "《中。》" * 150_000, 1),
        "rules of tables": (find_tables, "|a|b|\n" + "|-|\n" * 30_000 + "|1|2|\n", 1),
        "dashes in a row": (find_tables, "|" + "-" * 80_000 + "x|\n|1|\n", 1),
        "a gap in a row": (find_tables, "|a" + " " * 30_000 + "b|\n|1|2|\n", 1),
        "a wide row over many": (find_tables, "|a|b|\n|" + "ab|" * 20_000 + "\n" + "|c|\n" * 20_000, 1),
        "dense digits": (analyze, "1," * 20_000, 20_000),
        "orders far apart": (find_prompt_injection, ("\n" * 300 + "ignore") * 200, 0),
        "spaces": (particulars, "Costs" + " " * 40_000 + "fell", 4),
        "items of a reference": (possible_cuts, f"Costs fell (see Figures 6{'-45' * 25}!) again.", 0),
        "numerals of a reference": (possible_cuts, f"Costs fell (see Figures I{' -I-Q' * 20}!) again.", 0),
        "names of hosts": (find_references, "U.S." * 20_000, 0),
    }.values(),
)  # fmt: skip
def test_a_text_takes_time_as_it_is_long(function: Callable, text: str, count: int):
    with at_most_cpu_s(3):
        assert len(function(text)) == count


def test_a_models_white_space_without_end_costs_nothing():
    with at_most_cpu_s(3):
        assert without_markup("Costs fell." + "\n" * 40_000 + "x") == "Costs fell.\n\nx"
        assert without_markup("Costs" + " \t" * 40_000 + "fell.") == "Costs fell."
        without_end = read_report("Costs fell [E1" + ", 2" * 60 + " and so on.", {}, language="en")
        assert without_end.problem
        prose = read_report("Costs fell [E1, " + "\n " * 40_000 + "&" + "[" * 40_000, {}, language="en")
    assert prose.problem


def test_a_share_in_thousands_is_a_number():
    found = find_quantities("增长百分之1,234")[0]
    assert (found.value, found.unit) == (1234.0, "%")


def test_a_year_of_ten_digits_is_no_date():
    assert days_of("7777777777") is None


def test_stops_end_a_sentence_as_before():
    text = "Costs fell... They rose?! “So.” [3] Then (e.g. in May.) It ended…) And Dr. Lee left. 好.不"
    assert [text[start:end] for start, end in split_sentences(text)] == [
        *("Costs fell...", "They rose?!", "“So.”", "[3] Then (e.g. in May.)", "It ended…)", "And Dr. Lee left."),
        *("好.", "不"),
    ]
