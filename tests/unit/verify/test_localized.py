"""Reports in languages that the rules do not read: faithful sentences pass, and figures and days are checked."""

import pytest

from deep_research.report.evidence.passage import Evidence
from deep_research.report.paragraph import Sentence
from deep_research.verify.veto import veto, veto_row

QUOTE = (
    "On 11 January 2024 some 2,900 dwellings in Old Mole were without heat. The tunnel is 1.3 kilometres long, "
    "and the insurer refused 60 per cent of the €1,250,000 that Halden Bay Heat had claimed."
)
FAITHFUL = {
    "de": (
        "Am 11. Januar 2024 waren rund 2.900 Wohnungen im Viertel Old Mole ohne Wärme.",
        "Der Tunnel misst 1,3 Kilometer; der Versicherer lehnte 60 Prozent der Forderung von €1,250,000 ab.",
    ),
    "fr": (
        "Le 11 janvier 2024, quelque 2 900 Logements étaient sans chauffage.",
        "Le tunnel mesure 1,3 km et l’Assureur a refusé 60 pour cent des 1.250.000 euros.",
    ),
    "es": ("El 11 de enero de 2024 quedaron sin calefacción unas 2.900 viviendas, y el túnel mide 1,3 kilómetros.",),
    "ja": ("2024年1月11日、約2,900戸が暖房を失い、トンネルの長さは1.3キロメートルである。",),
}
CHANGED = {
    "de": ("Am 12. Januar 2024 waren rund 2.900 Wohnungen ohne Wärme.", "Der Tunnel misst 1,8 Kilometer."),
    "fr": ("Le 11 mars 2024, 2 900 logements étaient sans chauffage.", "Quelque 2 800 logements étaient touchés."),
    "es": ("Unas 29.000 viviendas quedaron sin calefacción.",),
    "ja": ("約3,900戸が暖房を失った。",),
}


def _pairs(told: dict[str, tuple[str, ...]]) -> list[tuple[str, str]]:
    return [(language, text) for language, texts in told.items() for text in texts]


def _passage() -> Evidence:
    return Evidence(id="e1", document="d", start=0, end=len(QUOTE), quote=QUOTE, finding="", section="")


@pytest.mark.parametrize(("language", "text"), _pairs(FAITHFUL))
def test_faithful_sentence_is_left_to_the_judge(language: str, text: str) -> None:
    assert veto(Sentence(text=text), [_passage()], language=language) is None
    assert veto_row([("", text)], [_passage()], language=language) is None


@pytest.mark.parametrize(("language", "text"), _pairs(CHANGED))
def test_changed_figure_or_day_is_refused(language: str, text: str) -> None:
    refused = veto(Sentence(text=text), [_passage()], language=language)
    assert refused
    assert refused.reason.startswith(("number", "date"))
