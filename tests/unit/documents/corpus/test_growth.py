"""Documents that say one thing over and over: cut, compared and indexed in a time that grows with their length."""

from deep_research.documents.corpus.documents import prepare
from deep_research.documents.corpus.duplicates import same_but_for_spelling, without_page_lines
from deep_research.documents.corpus.passages import cut_passages
from deep_research.documents.readers import Reading
from tests.support.cpu import at_most_cpu_s


def test_a_header_wider_than_a_passage_does_not_come_with_every_row():
    text = "|" + "name|" * 20_000 + "\n" + "|1|2|3|4|5|6|\n" * 20_000
    with at_most_cpu_s(8):
        prepared = prepare(Reading(text=text), "a.txt")
    assert max(terms.count("name") for terms in prepared.terms) <= 240
    assert "name" in prepared.terms[-1]


def test_headings_in_a_row_fill_no_more_than_a_passage():
    passages = cut_passages("# Costs of storage\n" * 500 + "They fell.")
    assert max(end - start for start, end in passages) < 3_000
    assert len(passages) > 5


def test_a_line_of_blanks_is_no_page_number():
    with at_most_cpu_s(2):
        assert without_page_lines("a\n" + " " * 40_000 + "x\n  12 of 30 \npage 4") == "a\n" + " " * 40_000 + "x\n\n"


def test_long_texts_are_compared_in_time():
    names = [f"{first}{second}" for first in "abcdefghij" for second in "abcdefghij"]
    lines = [f"The store at {names[n % 100]}{n // 100:x} is open. ".replace("0", "g") for n in range(100 * 60)]
    respelled = [line.replace("store", "storre") if n % 10 == 0 else line for n, line in enumerate(lines)]
    with at_most_cpu_s(6):
        assert not same_but_for_spelling("x" * 20_000 + " a b c", "x" * 20_000 + "y a b c")
        assert not same_but_for_spelling("Costs fell. " * 20_000, "Costs fell. " * 19_999 + "They rose by 5. ")
        assert same_but_for_spelling("".join(respelled), "".join(lines)) == same_but_for_spelling(
            "".join(respelled[:900]), "".join(lines[:900])
        )
