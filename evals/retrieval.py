"""Measuring the product's own search on a set in the BEIR layout: texts become files, queries are searched for."""

import asyncio
import math
import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

from deep_research.documents.corpus.folder import FolderCorpus
from evals import shared

DEPTH = 10
# Several passages of one file may come before ten files are together.
_PASSAGES = 4 * DEPTH


class BeirSet(NamedTuple):
    """Texts by id as (title, text), queries by id, and the ids that answer each query."""

    texts: dict[str, tuple[str, str]]
    queries: dict[str, str]
    gold: Mapping[str, frozenset[str]]


class Figures(NamedTuple):
    """Means over all queries, within the first ten files."""

    all_gold: float
    recall: float
    ndcg: float


def load(folder: Path) -> BeirSet:
    gold: dict[str, set[str]] = defaultdict(set)
    for line in (folder / "qrels.tsv").read_text(encoding="utf-8").splitlines():
        query, text, grade = line.split("\t")
        if grade.isdigit() and int(grade):
            gold[query].add(text)
    texts = {line["_id"]: (line["title"], line["text"]) for line in shared.read_json_lines(folder / "corpus.jsonl")}
    queries = {line["_id"]: line["text"] for line in shared.read_json_lines(folder / "queries.jsonl")}
    return BeirSet(texts, queries, {query: frozenset(ids) for query, ids in gold.items()})


def write_files(texts: Mapping[str, tuple[str, str]], folder: Path) -> None:
    """Write each text as a Markdown file under its title."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, (title, text) in texts.items():
        (folder / f"{name}.md").write_text(f"# {title}\n\n{text}\n", encoding="utf-8")


async def rankings(corpus: FolderCorpus, queries: Mapping[str, str]) -> dict[str, list[str]]:
    """Return the ids of the first files for each query."""
    found = {}
    for name, query in queries.items():
        hits = await corpus.search(query, limit=_PASSAGES)
        found[name] = list(dict.fromkeys(hit.address.removesuffix(".md") for hit in hits))[:DEPTH]
    return found


def measure(found: Mapping[str, list[str]], gold: Mapping[str, frozenset[str]]) -> Figures:
    """Score rankings by the ids that answer each query."""
    scores = [_score(found[query], ids) for query, ids in gold.items()]
    return Figures(*(sum(column) / len(scores) for column in zip(*scores, strict=True)))


def run(folder: Path, spellings: Mapping[str, Callable[[str], str]], *, every: int = 1) -> dict[str, Figures]:
    """Index a set once, and return the figures for its queries, or every so many of them, in each spelling."""
    beir = load(folder)
    asked = dict(shared.sample(list(beir.queries.items()), every))
    gold = {query: ids for query, ids in beir.gold.items() if query in asked}

    async def searched() -> dict[str, Figures]:
        with tempfile.TemporaryDirectory() as scratch:
            write_files(beir.texts, Path(scratch) / "docs")
            corpus = FolderCorpus(Path(scratch) / "docs", index=Path(scratch) / "corpus.db")
            await corpus.refresh()
            figures = {}
            for name, spell in spellings.items():
                queries = {query: spell(text) for query, text in asked.items()}
                figures[name] = measure(await rankings(corpus, queries), gold)
            await corpus.close()
            return figures

    print(f"{len(asked)} queries over {len(beir.texts)} files", file=sys.stderr)
    return asyncio.run(searched())


def _score(found: list[str], gold: frozenset[str]) -> Figures:
    gain = sum(1 / math.log2(rank + 2) for rank, one in enumerate(found) if one in gold)
    best = sum(1 / math.log2(rank + 2) for rank in range(min(DEPTH, len(gold))))
    held = gold.intersection(found)
    return Figures(float(held == gold), len(held) / len(gold), gain / best)
