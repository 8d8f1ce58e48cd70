"""Which evidence a prompt shows where not all of it fits."""

from deep_research.llm.tokens import tokens_at_most
from deep_research.reasoning.model.prompting import show_evidence
from deep_research.reasoning.values import Context
from deep_research.report.evidence.passage import Evidence
from tests.unit.reasoning.pieces import piece, rows_of, table

CHOIR = [
    piece(f"The choir sang on evening {n} of the festival and was applauded for a long time.", "choir", start=100 * n)
    for n in range(9)
]
PUMPS = table(["Pump", "Losses"], *([f"Pump {n}", f"{n} %"] for n in range(1, 7)))


def shown(evidence: list[Evidence], of_all: float, **about: object) -> set[str]:
    """Return the quotes that stand in a prompt with room for such a part of the evidence."""
    size = sum(map(tokens_at_most, show_evidence(evidence, limit=10**6).blocks))
    material = show_evidence(evidence, limit=round(of_all * size), **about)  # type: ignore[arg-type]
    kept = set(material.labels.values())
    assert sum(map(tokens_at_most, material.blocks)) <= of_all * size
    return {one.quote for one in evidence if one.id in kept}


def test_what_the_account_of_a_section_rests_on_is_kept() -> None:
    wanted = piece("Measured over the year, the pumps lost 2.1 % of their heat.", "choir", start=900)
    assert wanted.quote in shown([*CHOIR, wanted], 0.3, sought="The pumps lost 2.1 % of their heat.")


def test_each_document_keeps_something() -> None:
    pumps = [piece(f"The pumps lost {n} % of their heat in month {n}.", "pumps", start=100 * n) for n in range(1, 12)]
    kept = shown([*CHOIR, *pumps], 0.5, sought="How much heat did the pumps lose?")
    assert any("choir" in quote for quote in kept)
    assert sum("choir" in quote for quote in kept) < sum("pumps" in quote for quote in kept)


def test_a_table_is_kept_whole_or_left_out() -> None:
    rows = [row for row, _ in rows_of(PUMPS, "pumps")]
    for share in (0.2, 0.4, 0.6, 0.8):
        assert sum("Pump" in quote for quote in shown([*CHOIR, *rows], share, sought="choir pump")) in (0, len(rows))


def test_rows_beside_one_that_was_chosen_stay() -> None:
    first, *others = [row for row, _ in rows_of(PUMPS, "pumps")]
    kept = shown([*CHOIR, first.replace(score=3.0), *others], 0.5, sought="choir festival")
    assert {one.quote for one in (first, *others)} <= kept


def test_what_goes_on_in_a_message_names_its_place_once() -> None:
    parts = [piece(f"Sentence {n} of the mail.", "mail", start=40 * n) for n in range(3)]
    contexts = {one.id: Context(title="Mail", kind="mails", place="message 3", headings="Pumps") for one in parts}
    *_, first, second, third = show_evidence(parts, limit=10**6, contexts=contexts).blocks
    assert 'of="D1"' in first
    assert "of=" not in second + third
