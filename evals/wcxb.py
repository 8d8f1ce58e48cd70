"""The main text of 208 pages of seven kinds: `python -m evals.wcxb --data FOLDER`.

Scored as the benchmark scores: F1 of the words of a page, counted as a bag, each page counts the same; and the share of
the snippets that must be there and are, and of those that must not and are not. Beside our reading stand trafilatura's
own modes in the same run; a sample leaves them out. `--ablate` shows instead what is lost without each rule.
"""

import argparse
import gzip
import json
import re
import sys
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import mean
from typing import Any, NamedTuple
from unittest.mock import patch

import trafilatura

from deep_research.documents.readers import html, main_text
from deep_research.documents.readers.port import BlockText
from evals import shared
from evals.article_extraction import read_page

_MODES: Mapping[str, Mapping[str, Any]] = {
    "default": {},
    "no tables": {"include_tables": False},
    "no comments": {"include_comments": False},
    "precision": {"favor_precision": True},
    "recall": {"favor_recall": True},
    "recall, no comments": {"favor_recall": True, "include_comments": False},
}


# What to put in whose place to be without a rule.
_ABLATIONS: Mapping[str, tuple[object, str, object]] = {
    "articles apart": (html, "_read_article", lambda _tree, guesses: (BlockText(), {})),  # noqa: ARG005 - called by name
    "prose left out": (html, "_is_article", lambda article, _main, _posts: bool(article)),
    "pages for scripts": (html, "_UNSCRIPTED_CHARS", 0),
    "layout by tables": (html, "_is_layout", lambda _row: False),
    "the marked main": (main_text, "_MIN_MAIN_SHARE", 2.0),
    "panels of posts": (main_text, "_shorten_panels", lambda _post, _weights: None),
} | {
    f"margins {rule.__name__.strip('_').replace('_', ' ')}": (
        main_text,
        "MARGIN_RULES",
        tuple(other for other in main_text.MARGIN_RULES if other is not rule),
    )
    for rule in main_text.MARGIN_RULES
}


class Score(NamedTuple):
    """How well one page was read."""

    f1: float
    precision: float
    recall: float
    has: float
    has_not: float


def score(found: str, page: Mapping[str, Any]) -> Score:
    """Compare the text found with the right one, word by word, and look for the snippets."""
    ours, theirs = words(found), words(page["text"])
    both = (ours & theirs).total()
    precision, recall = (both / ours.total() if ours else 0.0), (both / theirs.total() if theirs else 0.0)
    f1 = 2 * precision * recall / (precision + recall) if both else 0.0
    text = _folded(found)
    has = mean([_folded(snippet) in text for snippet in page["has"]] or [True])
    has_not = mean([_folded(snippet) not in text for snippet in page["has_not"]] or [True])
    return Score(f1, precision, recall, float(has), float(has_not))


def words(text: str) -> Counter[str]:
    """Count the words of a text, whatever their case."""
    return Counter(re.findall(r"\w+", text.lower()))


def _folded(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.lower()))


def _of_mode(mode: str) -> Callable[[bytes, str], str]:
    def extract(raw: bytes, _name: str) -> str:
        return trafilatura.extract(raw, **_MODES[mode]) or ""

    return extract


def score_pages(pages: Sequence[Mapping[str, Any]], folder: Path, extract: Callable[[bytes, str], str]) -> list[Score]:
    """Return how well each page is read by one way of reading."""
    return [score(extract(_load(folder, page["id"]), f"{page['id']}.html"), page) for page in pages]


def print_table(pages: Sequence[Mapping[str, Any]], ways: Mapping[str, Sequence[Score]]) -> None:
    """Print the mean F1 of each way of reading by kind of page, and its snippets over all pages."""
    kinds = list(dict.fromkeys(page["kind"] for page in pages))
    print(f"{'F1':<24} " + " ".join(f"{kind[:10]:>10}" for kind in (*kinds, "all", "has", "has not")))
    for way, scores in ways.items():
        by_kind = [mean(s.f1 for s, page in zip(scores, pages, strict=True) if page["kind"] == kind) for kind in kinds]
        over_all = [mean(s.f1 for s in scores), mean(s.has for s in scores), mean(s.has_not for s in scores)]
        print(f"{way:<24} " + " ".join(f"{figure:10.3f}" for figure in (*by_kind, *over_all)))
    print()


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Find the main text of pages of seven kinds.")
    shared.add_data_argument(parser)
    shared.add_sample_argument(parser)
    parser.add_argument("--ablate", action="store_true", help="read without each rule in turn")
    given = parser.parse_args(arguments)
    folder = shared.require(given.data, "wcxb_dev")
    pages = shared.sample(json.loads((folder / "pages.json").read_text(encoding="utf-8")), given.every)
    read_page(_load(folder, pages[0]["id"]), "warm-up.html")
    start_s = time.process_time()
    ours = score_pages(pages, folder, read_page)
    took_s = time.process_time() - start_s
    ways = {"ours": ours}
    if given.ablate:
        for rule, (module, name, value) in _ABLATIONS.items():
            with patch.object(module, name, value):
                ways[f"no {rule}"] = score_pages(pages, folder, read_page)
    elif given.every == 1:
        ways |= {mode: score_pages(pages, folder, _of_mode(mode)) for mode in _MODES}
    print_table(pages, ways)
    figures = {
        "F1": mean(s.f1 for s in ours),
        "F1 of pages that are no articles": mean(
            s.f1 for s, page in zip(ours, pages, strict=True) if page["kind"] != "article"
        ),
        "precision": mean(s.precision for s in ours),
        "recall": mean(s.recall for s in ours),
        "snippets found": mean(s.has for s in ours),
        "snippets avoided": mean(s.has_not for s in ours),
        "pages a CPU second": len(pages) / took_s,
    }
    rows = [(round(s.f1, 3), page["kind"], page["id"], page["url"]) for s, page in zip(ours, pages, strict=True)]
    return shared.report(shared.sample_name("wcxb", given.every), figures, details=sorted(rows, key=lambda row: row[0]))


def _load(folder: Path, page_id: str) -> bytes:
    return gzip.decompress((folder / "html" / f"{page_id}.html.gz").read_bytes())


if __name__ == "__main__":
    sys.exit(main())
