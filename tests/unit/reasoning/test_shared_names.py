"""Names that several documents share, which rules look for where no model says what an expert would name."""

import pytest

from deep_research.reasoning.rules.question.shared_names import shared_names


@pytest.mark.parametrize(
    ("spellings", "name"),
    [
        (("PEP 517", "PEP-517", "PEP 517"), "PEP 517"),
        (("EIP-4337",) * 3, "EIP-4337"),
        (("使用PodSecurityPolicy的集群",) * 3, "PodSecurityPolicy"),
        (("GB/T 19001",) * 3, "GB/T 19001"),
        (("《数据安全法》",) * 3, "《数据安全法》"),
    ],
)
def test_a_name_in_three_documents_is_shared_however_it_is_spelled(spellings: tuple[str, ...], name: str) -> None:
    texts = [f"About {spelling}, and again {spelling}." for spelling in spellings]
    assert shared_names(texts) == [name]
    assert shared_names([*texts[:2], f"{texts[0]} {texts[1]}"][:2]) == []


def test_years_words_and_addresses_are_no_names() -> None:
    text = "In AUGUST 2024 the Report of NASA stood at https://one.example/PEP-517/GitHub and in a_PEP_517."
    assert shared_names([text] * 3) == []


def test_what_most_documents_hold_stands_first_and_there_are_not_too_many() -> None:
    texts = [" ".join(f"PEP {n}" for n in range(300, 360)) for _ in range(3)]
    found = shared_names([*texts, "PEP 359", "PEP 359"])
    assert found[0] == "PEP 359"
    assert len(found) == 40
