"""The files beside a report as they were shipped: `paragraphs.jsonl`, `evidence.jsonl`, `citations.json`.

Reads only what checking needs, and takes nothing for granted: a line that cannot be read is named, not skipped.
"""

import json
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from deep_research.report.paragraph import ParagraphKind, VerdictKind


class _Shipped(BaseModel):
    """A record of a file; fields that checking does not need are ignored."""

    model_config = ConfigDict(frozen=True, extra="ignore")


class ShippedVerdict(_Shipped):
    """A verdict of `paragraphs.jsonl`."""

    kind: VerdictKind
    reason: str = ""
    evidence: str = ""
    start: int = -1
    end: int = -1


class ShippedSentence(_Shipped):
    """A sentence of `paragraphs.jsonl`."""

    text: str
    evidence: tuple[str, ...] = ()
    verdict: ShippedVerdict | None = None
    cells: tuple[tuple[str, str], ...] = ()
    revised_from: str = ""


class ShippedParagraph(_Shipped):
    """A line of `paragraphs.jsonl`."""

    id: str
    section: str
    kind: ParagraphKind
    text: str
    cite_ids: tuple[str, ...]
    sentences: tuple[ShippedSentence, ...] = ()


class ShippedEvidence(_Shipped):
    """A line of `evidence.jsonl`."""

    id: str
    document: str
    start: int = -1
    end: int = -1
    quote: str = ""
    place: str | None = None


class _ShippedSource(_Shipped):
    document: str


class Listing(_Shipped):
    """What stands beside a report; `broken` names the lines that cannot be read."""

    paragraphs: tuple[ShippedParagraph, ...] = ()
    evidence: dict[str, ShippedEvidence] = {}
    numbers: dict[str, int] = {}
    is_missing: bool = False
    broken: tuple[str, ...] = ()

    def number_of(self, evidence: str) -> int | None:
        """Return the citation number under which an evidence id stands in the report."""
        piece = self.evidence.get(evidence)
        return self.numbers.get(piece.document) if piece else None


def read_listing(paragraphs_path: Path) -> Listing:
    """Read `paragraphs.jsonl` and the files beside it."""
    broken: list[str] = []
    paragraphs = _read_lines(paragraphs_path, ShippedParagraph, broken)
    evidence = _read_lines(paragraphs_path.with_name("evidence.jsonl"), ShippedEvidence, broken)
    return Listing(
        paragraphs=tuple(paragraphs),
        evidence={piece.id: piece for piece in evidence},
        numbers=_read_numbers(paragraphs_path.with_name("citations.json"), broken),
        is_missing=not paragraphs_path.is_file(),
        broken=tuple(broken),
    )


_Record = TypeVar("_Record", bound=_Shipped)


def _read_lines(path: Path, record: type[_Record], broken: list[str]) -> list[_Record]:
    found = []
    # Not `splitlines`: JSON leaves line separators of other kinds inside strings as they are.
    for number, line in enumerate(_read_text(path, broken).split("\n"), start=1):
        if line.strip():
            try:
                found.append(record.model_validate_json(line))
            except ValidationError:
                broken.append(f"{path.name}:{number}")
    return found


def _read_numbers(path: Path, broken: list[str]) -> dict[str, int]:
    text = _read_text(path, broken)
    if not text.strip():
        return {}
    try:
        listed = json.loads(text)
        return {_ShippedSource.model_validate(source).document: int(number) for number, source in listed.items()}
    except (ValueError, AttributeError):
        broken.append(path.name)
        return {}


def _read_text(path: Path, broken: list[str]) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return ""
    except (OSError, UnicodeDecodeError):
        broken.append(path.name)
        return ""
