"""`Verifier` (document 001): checks a report's files as they were shipped, without asking anyone."""

import json
import re
from pathlib import Path
from typing import Any

from pydantic import Field

from deep_research.value import Value

_MARKER = re.compile(r"\[(\d+)\]")
_ENDS_IN_MARKER = re.compile(r"\[\d+\][\s.。!！?？)）\"”]*$")
_REFERENCE = re.compile(r"^\[(\d+)\] ", re.MULTILINE)


class ReportCheck(Value):
    """What the report file shows."""

    report_passed: bool
    unresolved_markers: tuple[int, ...] = ()
    paragraph_without_citation_count: int = 0


class ParagraphCheck(Value):
    """What `paragraphs.jsonl` shows."""

    paragraphs_jsonl_cite_ids_passed: bool
    paragraphs: int = 0
    claims: int = 0
    unknown_ids: tuple[str, ...] = ()
    verdicts: dict[str, int] = Field(default_factory=dict)


class Verification(Value):
    """`verify.json` (SPEC V1)."""

    passed: bool
    report_passed: bool
    paragraphs_jsonl_cite_ids_passed: bool
    paragraph_end_citation_passed: bool
    paragraph_without_citation_count: int
    report: ReportCheck
    paragraphs: ParagraphCheck

    def in_words(self) -> str:
        """Return `verification.md`."""
        verdict = "passed" if self.passed else "FAILED"
        counted = ", ".join(f"{count} {kind}" for kind, count in sorted(self.paragraphs.verdicts.items())) or "none"
        lines = [
            f"# Verification {verdict}",
            f"- Markers that name no reference: {len(self.report.unresolved_markers)}",
            f"- Checked paragraphs without a citation at their end: {self.paragraph_without_citation_count}",
            f"- Evidence ids that do not exist: {len(self.paragraphs.unknown_ids)}",
            f"- Sentences: {counted}",
        ]
        return "\n".join(lines) + "\n"


class Verifier:
    """Checks that every marker resolves and every claim is cited."""

    def verify(self, report: Path, paragraphs: Path) -> Verification:
        """Check both files of a run."""
        shown, listed = self.verify_report(report), self.verify_paragraphs_jsonl(paragraphs)
        ends = shown.paragraph_without_citation_count == 0
        return Verification(
            passed=shown.report_passed and listed.paragraphs_jsonl_cite_ids_passed and ends,
            report_passed=shown.report_passed,
            paragraphs_jsonl_cite_ids_passed=listed.paragraphs_jsonl_cite_ids_passed,
            paragraph_end_citation_passed=ends,
            paragraph_without_citation_count=shown.paragraph_without_citation_count,
            report=shown,
            paragraphs=listed,
        )

    def verify_report(self, report_path: Path) -> ReportCheck:
        """Check that every marker resolves and that no claim of `paragraphs.jsonl` beside it lacks one."""
        text = report_path.read_text(encoding="utf-8")
        known = {int(number) for number in _REFERENCE.findall(text)}
        body = _REFERENCE.sub("", text)
        unresolved = sorted({int(number) for number in _MARKER.findall(body)} - known)
        bare = sum(1 for block in self._claims(report_path, text) if not _ENDS_IN_MARKER.search(block))
        return ReportCheck(
            report_passed=not unresolved and bare == 0,
            unresolved_markers=tuple(unresolved),
            paragraph_without_citation_count=bare,
        )

    def verify_paragraphs_jsonl(self, paragraphs_path: Path) -> ParagraphCheck:
        """Check that every claim has evidence ids and that `evidence.jsonl` beside it holds them all."""
        evidence = paragraphs_path.with_name("evidence.jsonl")
        known = {line["id"] for line in _lines(evidence)}
        lines = _lines(paragraphs_path)
        claims = [line for line in lines if line["kind"] == "claim"]
        unknown = sorted({id_ for line in lines for id_ in line["cite_ids"]} - known)
        verdicts: dict[str, int] = Field(default_factory=dict)
        for line in claims:
            for sentence in line["sentences"]:
                kind = (sentence["verdict"] or {"kind": "not_checked"})["kind"]
                verdicts[kind] = verdicts.get(kind, 0) + 1
        return ParagraphCheck(
            paragraphs_jsonl_cite_ids_passed=not unknown and all(line["cite_ids"] for line in claims),
            paragraphs=len(lines),
            claims=len(claims),
            unknown_ids=tuple(unknown),
            verdicts=verdicts,
        )

    def _claims(self, report_path: Path, text: str) -> list[str]:
        """Return the report's blocks that open with the first sentence of a claim of `paragraphs.jsonl`."""
        listed = report_path.with_name("paragraphs.jsonl")
        openings = tuple(line["sentences"][0]["text"] for line in _lines(listed) if line["kind"] == "claim")
        return [block for block in text.split("\n\n") if openings and block.startswith(openings)]


def _lines(path: Path) -> list[dict[str, Any]]:
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
