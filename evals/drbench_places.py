"""Does the place that a sentence is cited from hold it? Read with the formats' own libraries, not with our readers."""

import json
import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

# Words of a sentence that its place must hold; a word cut at a page's line end may be lost.
_SHARE = 0.9


def check(
    paragraphs: Sequence[dict[str, Any]], evidence: Sequence[dict[str, Any]], files: Path
) -> tuple[int, list[str]]:
    """Return how many cited sentences stand where the report says, and a line for each that does not."""
    pieces = {piece["id"]: piece for piece in evidence}
    placed, misplaced = 0, []
    for sentence in (sentence for paragraph in paragraphs for sentence in paragraph["sentences"]):
        cited = [pieces[id_] for id_ in sentence["evidence"]]
        if not cited:
            continue
        held = " ".join(text_at(files / piece["source"], piece["place"]) for piece in cited)
        wanted = _tokens(sentence["text"])
        found = _tokens(held)
        joined = "".join(found)
        share = sum(token in found or token in joined for token in wanted) / max(1, len(wanted))
        if share >= _SHARE:
            placed += 1
        else:
            misplaced.append(f"{cited[0]['source']} {cited[0]['place']!r} {share:.2f}: {sentence['text']}")
    return placed, misplaced


def _tokens(text: str) -> list[str]:
    plain = unicodedata.normalize("NFKC", text).replace("\u00ad", "").lower()
    return re.findall(r"[^\W_]+", plain.replace(",", ""))


@lru_cache(maxsize=4096)
def text_at(path: Path, place: str) -> str:
    """Return everything that a file holds at a place; "" for a place that does not exist."""
    readers = {".pdf": _pdf, ".pptx": _pptx, ".xlsx": _xlsx, ".docx": _docx, ".jsonl": _jsonl}
    return readers[path.suffix](path, place)


def _numbers(place: str) -> range:
    first, last = (re.findall(r"\d+", place) * 2)[:2] if "-" not in place else re.findall(r"\d+", place)[:2]
    return range(int(first), int(last) + 1)


def _pdf(path: Path, place: str) -> str:
    import pypdfium2

    document = pypdfium2.PdfDocument(path)
    return " ".join(document[number - 1].get_textpage().get_text_range() for number in _numbers(place))


def _pptx(path: Path, place: str) -> str:
    import pptx

    slides = list(pptx.Presentation(str(path)).slides)
    found: list[str] = []
    for number in _numbers(place):
        for shape in slides[number - 1].shapes:
            if shape.has_text_frame:
                found.append(shape.text_frame.text)
            if getattr(shape, "has_table", False):
                found += [cell.text for row in shape.table.rows for cell in row.cells]
        if slides[number - 1].has_notes_slide:
            found.append(slides[number - 1].notes_slide.notes_text_frame.text)
    return " ".join(found)


def _xlsx(path: Path, place: str) -> str:
    import openpyxl

    book = openpyxl.load_workbook(path, data_only=True)
    sheet, _, cells = place.rpartition("!")
    found = []
    for row in book[sheet.strip("'")][cells] if ":" in cells else ((book[sheet.strip("'")][cells],),):
        for cell in row:
            if cell.value is not None:
                found += _as_shown(cell.value, cell.number_format)
    return " ".join(found)


def _as_shown(value: Any, number_format: str) -> list[str]:
    if isinstance(value, float | int) and not isinstance(value, bool):
        scaled = value * 100 if "%" in number_format else value
        return [f"{scaled:.{digits}f}" for digits in range(5)] + [repr(scaled), str(value)]
    return [str(value), str(value)[:10]]


def _docx(path: Path, place: str) -> str:
    """A heading's own part: from the heading to the next one that our report could have named instead."""
    import docx

    document = docx.Document(str(path))
    texts = [block.text if hasattr(block, "text") else " ".join(cell.text for row in block.rows for cell in row.cells)
             for block in document.iter_inner_content()]  # fmt: skip
    label = " ".join(place.strip('“”「」『』"').split())
    starts = [at for at, text in enumerate(texts) if " ".join(text.split()) == label]
    return " ".join(texts[starts[0] :]) if starts else ""


def _jsonl(path: Path, place: str) -> str:
    numbers = re.findall(r"\d+", place)
    found, others = [], []
    for line in path.read_text(encoding="utf-8").splitlines():
        entry = json.loads(line) if line.strip() else {}
        body = entry.get("body") or entry.get("post", {}).get("message")
        if body:
            subject = entry.get("subject", "")
            found.append(f"{subject} {body}")
        else:
            others.append(" ".join(map(str, entry.values())))
    if not numbers:
        return " ".join(others)
    return found[int(numbers[0]) - 1] if int(numbers[0]) <= len(found) else ""
