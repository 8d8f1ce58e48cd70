"""A draft as a model gets to see it: numbered sentences and rows, with what they cite and what speaks against them."""

from collections.abc import Mapping, Sequence

from deep_research.reasoning.values import Paragraphs
from deep_research.report.paragraph import Paragraph, Sentence


def shown_text(paragraphs: Paragraphs, labels: Mapping[str, str]) -> str:
    """Return a text in which each sentence has a line of its own, with its number, its mark and what it is."""
    marks = {id_: label for label, id_ in labels.items()}
    lines = []
    section, lead, number = "", "", 0
    for paragraph in paragraphs:
        lines += [f"## {paragraph.section}"] if paragraph.section != section else []
        section = paragraph.section
        lines += [f"**{paragraph.lead}**"] if paragraph.lead not in ("", lead) else []
        lead = paragraph.lead
        names = columns_of(paragraph)
        lines += [_as_row(names)] if names else []
        for sentence in paragraph.sentences:
            number += 1
            lines.append(f"{number} {marked(sentence, marks, names)}")
        lines.append("")
    return "\n".join(lines).strip()


def columns_of(paragraph: Paragraph) -> list[str]:
    """Return the names of a table's columns: rows do not have those in which nothing stands."""
    rows = sorted(([name for name, _ in each.cells] for each in paragraph.sentences), key=len, reverse=True)
    return list(dict.fromkeys(name for names in rows for name in names))


def _as_row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def marked(sentence: Sentence, marks: Mapping[str, str], columns: Sequence[str] = ()) -> str:
    """Return a sentence with its kind before it and its mark behind it, a row as cells where it has columns."""
    named = ", ".join(marks[id_] for id_ in sentence.evidence if id_ in marks)
    mark = {"conclusion": f"[so: {named}]", "link": ""}.get(sentence.kind, f"[{named}]" if named else "")
    if sentence.kind in ("calculation", "absence"):
        word = "calc" if sentence.kind == "calculation" else "none"
        mark = f"[{word}: {'; '.join(filter(None, (sentence.basis, named)))}]"
    kind = f"{sentence.kind}, table row" if sentence.cells else sentence.kind
    cells = dict(sentence.cells)
    text = _as_row([cells.get(name, "") for name in columns]) if cells and columns else sentence.text
    return f"({kind}) {text} {mark}"


def is_to_mend(sentence: Sentence) -> bool:
    """Say whether a sentence cannot stand, or not as it is."""
    return sentence.is_refused or (sentence.verdict is not None and sentence.verdict.kind == "partly")


def reason_against(sentence: Sentence, labels: Mapping[str, str]) -> str:
    """Return what was found against a sentence, with the passage that says so."""
    verdict = sentence.verdict
    if not verdict:
        return ""
    against = [f"[{label}]" for label, id_ in labels.items() if id_ == verdict.evidence]
    return ", ".join(filter(None, (verdict.kind, f"{verdict.reason} {' '.join(against)}".strip())))
