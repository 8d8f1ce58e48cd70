"""What whoever writes or judges is told about a document: its kind, and what its head says of status and columns."""

import pytest

from deep_research.pipeline.passages import facts_of, kind_of
from deep_research.report.sources.document import Document, Place, PlaceKind

MAIL = "From: a@works.example; To: b@works.example\n\nThe pump failed."


@pytest.mark.parametrize(
    ("place", "text", "kind"),
    [
        ("message", MAIL, "mails"),
        ("message", "Mara: The pump failed.", "chat"),
        ("cells", "| Pump | 3 |", "spreadsheet"),
        ("slide", "Pumps", "slides"),
        ("page", "Pumps", "PDF"),
        (None, "Pumps", "document"),
    ],
)
def test_the_kind_of_a_document_is_told(place: PlaceKind | None, text: str, kind: str) -> None:
    places = (Place(kind=place, label="1", start=0, end=len(text)),) if place else ()
    document = Document(
        id="d", snapshot="d", title="t", text=text, media_type="text/plain", extractor="plain", places=places
    )
    assert kind_of(document, is_page=False) == kind
    assert kind_of(document, is_page=True) == "web page"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("Title: A\nStatus: Rejected\nSuperseded by: PEP 9\n\nText.", ["Status: Rejected", "Superseded by: PEP 9"]),
        ("- Last updated: 4 May 2026\n\nText.", ["Last updated: 4 May 2026"]),
        ("标题\n状态：已废止\n发布：2024年3月\n\n正文。", ["状态：已废止", "发布：2024年3月"]),
        ("Author\n\nAnn Lee\n\nStatus\n\nFinal\n\nRequires\n\n2718\n\nText.", ["Status: Final", "Requires: 2718"]),
        ("| 作者 | 李安 |\n| 状态 | 已废止 |\n| 被取代 | GB/T 9 |\n\n正文。", ["状态: 已废止", "被取代: GB/T 9"]),
        ("FEATURE STATE: Kubernetes v1.25 [stable]\n\nText.", ["FEATURE STATE: Kubernetes v1.25 [stable]"]),
        ("Region: sales area; Units: sold in thousands\n\n| Region | Units |\n| --- | --- |\n| A | 3 |",
         ["Region: sales area; Units: sold in thousands"]),
    ],
)  # fmt: skip
def test_what_a_head_says_of_status_dates_and_columns_is_told(text: str, told: list[str]) -> None:
    assert all(each in facts_of(text) for each in told)


def test_who_wrote_a_document_is_told_beside_its_facts_and_facts_are_few_and_short() -> None:
    assert facts_of("Author: Ann Lee\nStatus: Final\n") == "Status: Final"
    told = facts_of("".join(f"Version: {number}{'x' * 300}\n" for number in range(3)) + "Date: 2024\n" * 40)
    assert told.count("; ") == 3
    assert max(map(len, told.split("; "))) == 120


def test_what_stands_further_down_is_not_the_head() -> None:
    assert facts_of("Text.\n" * 400 + "Status: Rejected\n") == ""
