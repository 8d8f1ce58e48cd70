"""The main text of 181 news pages: `python -m evals.article_extraction --data FOLDER`.

Scored as the benchmark scores: four words in a row are a shingle, each page counts the same, F1 is of the mean
precision and the mean recall.
"""

import argparse
import gzip
import json
import re
import sys
import time
from collections import Counter
from pathlib import Path
from statistics import mean
from typing import NamedTuple

from deep_research.documents.readers import read
from deep_research.errors import SourceError
from evals import shared

_WORDS_IN_SHINGLE = 4
_MARKS = re.compile(r"^(?:#{1,6} | *- |\| )", re.MULTILINE)


class Score(NamedTuple):
    """How much of one page's text is right, and how much of the right text is there."""

    precision: float
    recall: float


def score(found: str, right: str) -> Score:
    """Compare two texts by their shingles."""
    ours, theirs = shingles(found), shingles(right)
    shared_count = (ours & theirs).total()
    if not ours or not theirs:
        return Score(float(not ours and not theirs), float(not ours and not theirs))
    return Score(shared_count / ours.total(), shared_count / theirs.total())


def shingles(text: str) -> Counter[tuple[str, ...]]:
    """Count the runs of four words; a shorter text is one run."""
    words = re.findall(r"\w+", text)
    starts = range(max(1, len(words) - _WORDS_IN_SHINGLE + 1))
    return Counter(run for start in starts if (run := tuple(words[start : start + _WORDS_IN_SHINGLE])))


def read_page(raw: bytes, name: str) -> str:
    """Return the text of a page without the marks of headings, items and rows; nothing where it is refused."""
    try:
        return _MARKS.sub("", read(raw, name=name, media_type="text/html").text)
    except SourceError:
        return ""


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Find the main text of news pages.")
    shared.add_data_argument(parser)
    shared.add_sample_argument(parser)
    given = parser.parse_args(arguments)
    folder = shared.require(given.data, "article_extraction")
    whole = json.loads((folder / "ground-truth.json").read_text(encoding="utf-8"))
    gold = dict(shared.sample(list(whole.items()), given.every))
    pages = {key: _load(folder / "html" / f"{key}.html.gz") for key in gold}
    read_page(next(iter(pages.values())), "warm-up.html")
    start_s = time.process_time()
    texts = {key: read_page(raw, f"{key}.html") for key, raw in pages.items()}
    took_s = time.process_time() - start_s
    scores = {key: score(texts[key], gold[key]["articleBody"]) for key in gold}
    precision, recall = mean(s.precision for s in scores.values()), mean(s.recall for s in scores.values())
    figures = {
        "F1": 2 * precision * recall / (precision + recall),
        "precision": precision,
        "recall": recall,
        "pages a CPU second": len(pages) / took_s,
    }
    details = sorted((round(min(s), 3), gold[key]["url"]) for key, s in scores.items() if min(s) < 0.8)
    return shared.report(shared.sample_name("article_extraction", given.every), figures, details=details)


def _load(path: Path) -> bytes:
    return gzip.decompress(path.read_bytes())


if __name__ == "__main__":
    sys.exit(main())
