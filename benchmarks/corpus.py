"""A folder of documents, from ten files to 100,000 passages: `python -m benchmarks.corpus [--data FOLDER]`.

Prints files/s by format, and for three sizes the time to index, memory, and the time of a query with common terms left
out of the finding and not; beside it `bm25s` where it is installed; then the same documents in a file and in a
PostgreSQL.
Each size runs in a process of its own, because peak memory never falls. With evaluation data the words, questions and
quality are those of the sets.
"""

import argparse
import asyncio
import json
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from importlib.util import find_spec
from itertools import accumulate
from pathlib import Path
from typing import Any

from benchmarks.corpus_files import make_file
from deep_research.documents.corpus.folder import FolderCorpus
from deep_research.documents.corpus.index import IndexLocation
from deep_research.documents.corpus.rank import MAX_SCANNED
from deep_research.documents.readers.registry import FORMATS
from deep_research.text.analyzer import analyze
from evals import retrieval

SIZES = (1_000, 10_000, 100_000)
SHARED_DOCUMENTS, SHARED_PASSAGES = 1_000, 10
# Without the copies of the documents.
_SHARED_BYTES = """SELECT sum(pg_total_relation_size(oid)) FROM pg_class
WHERE relkind = 'r' AND relname LIKE 'corpus%' AND relname != 'corpus_originals'"""
FILES_A_FORMAT, PARAGRAPHS_A_FILE, PASSAGES_A_FILE = 40, 12, 50
QUERIES, QUERY_WORDS = 60, 10
VOCABULARY = 40_000
DATA = Path("../shared/evaldata")
AIM_GROWTH, AIM_LOSS = 20, 0.005


class Prose:
    """Words by natural frequency: those of an evaluation set, or made-up ones whose frequency falls with their rank."""

    def __init__(self, data: Path, seed: int) -> None:
        self.dice = random.Random(seed)
        folder = data / "hotpotqa250"
        self.beir = retrieval.load(folder) if folder.exists() else None
        if self.beir is not None:
            self._words = [word for _, text in self.beir.texts.values() for word in text.split()]
            self._weights = None
        else:
            letters = "abcdefghijklmnopqrstuvwxyz"
            self._words = ["".join(self.dice.choices(letters, k=self.dice.randint(3, 9))) for _ in range(VOCABULARY)]
            self._weights = list(accumulate(1 / (rank + 3) for rank in range(VOCABULARY)))

    def words(self, count: int) -> list[str]:
        return self.dice.choices(self._words, cum_weights=self._weights, k=count)

    def paragraph(self) -> str:
        return " ".join(self.words(self.dice.randint(40, 100))).capitalize() + "."

    def queries(self) -> dict[str, str]:
        if self.beir is not None:
            return self.beir.queries
        return {str(number): " ".join(self.words(QUERY_WORDS)) for number in range(QUERIES)}


def write_passages(folder: Path, prose: Prose, count: int) -> None:
    """Fill a folder with so many passages: the set's own files first, as far as they go, then files of noise."""
    folder.mkdir()
    if prose.beir is not None:
        own = dict(list(prose.beir.texts.items())[:count])
        retrieval.write_files(own, folder)
        count -= len(own)
    for number in range(0, count, PASSAGES_A_FILE):
        parts = (
            f"## {' '.join(prose.words(3))}\n\n{prose.paragraph()}" for _ in range(min(PASSAGES_A_FILE, count - number))
        )
        (folder / f"noise{number}.md").write_text("\n\n".join(parts), encoding="utf-8")


async def measure_ours(data: Path, count: int) -> dict[str, Any]:
    """Index so many passages and search them, with common terms left out of the finding and not."""
    prose = Prose(data, seed=count)
    with tempfile.TemporaryDirectory() as scratch:
        docs, index = Path(scratch) / "docs", Path(scratch) / "corpus.db"
        write_passages(docs, prose, count)
        # In a process that has done nothing else, for its peak of memory.
        figures = _child("index", folder=docs)
        figures["text_mb"] = sum(path.stat().st_size for path in docs.iterdir()) / 1e6
        figures["index_mb"] = index.stat().st_size / 1e6
        for name, looked_at in (("pruned", MAX_SCANNED), ("all", sys.maxsize)):
            corpus = FolderCorpus(docs, index=index, max_scanned=looked_at)
            figures[name] = await _search(corpus, prose, with_quality=count == SIZES[-1])
            await corpus.close()
    return figures


async def measure_index(folder: Path) -> dict[str, Any]:
    """Index a folder, beside it."""
    corpus = FolderCorpus(folder, index=folder.parent / "corpus.db")
    begin = time.perf_counter()
    await corpus.refresh()
    spent = time.perf_counter() - begin
    await corpus.close()
    return {"index_s": spent, "memory_mb": _peak_mb()}


async def _search(corpus: FolderCorpus, prose: Prose, *, with_quality: bool) -> dict[str, float]:
    queries = prose.queries()
    times = []
    for query in list(queries.values())[:QUERIES]:
        # The better of two: the first may wait for the disk, and either for another process.
        times.append(min([await _timed(corpus, query), await _timed(corpus, query)]))
    figures = _percentiles(times)
    if prose.beir is not None and with_quality:
        found = retrieval.measure(await retrieval.rankings(corpus, queries), prose.beir.gold)
        figures |= {"all_gold": found.all_gold, "ndcg": found.ndcg}
    return figures


async def _timed(corpus: FolderCorpus, query: str) -> float:
    begin = time.perf_counter()
    await corpus.search(query, limit=10)
    return time.perf_counter() - begin


async def measure_shared(data: Path) -> dict[str, Any]:
    """Index the same documents in a file and in PostgreSQL, and search both."""
    import psycopg

    from deep_research.storage.database.postgres import PostgresDatabase
    from tests.support.postgres import postgres_server

    prose = Prose(data, seed=5)
    figures: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as scratch, postgres_server(is_durable=True) as server:
        docs, index, url = Path(scratch) / "docs", Path(scratch) / "corpus.db", server.new_database()
        docs.mkdir()
        for number in range(SHARED_DOCUMENTS):
            parts = (f"## {' '.join(prose.words(3))}\n\n{prose.paragraph()}" for _ in range(SHARED_PASSAGES))
            (docs / f"{number}.md").write_text("\n\n".join(parts), encoding="utf-8")
        places: dict[str, IndexLocation] = {
            "file": index,
            "postgres": lambda: PostgresDatabase(url, package="deep_research.documents.corpus"),
        }
        for name, place in places.items():
            corpus = FolderCorpus(docs, index=place)
            begin = time.perf_counter()
            await corpus.refresh()
            figures[name] = {"index_s": time.perf_counter() - begin}
            figures[name] |= await _search(corpus, prose, with_quality=False)
            await corpus.close()
        figures["file"]["index_mb"] = index.stat().st_size / 1e6
        with psycopg.connect(url) as connection:
            figures["postgres"]["index_mb"] = float(connection.execute(_SHARED_BYTES).fetchone()[0]) / 1e6
    return figures


def _print_shared(data: Path) -> None:
    figures = _child("shared", data=data)
    print(f"\n{SHARED_DOCUMENTS:,} documents of {SHARED_PASSAGES} passages, in a file and in PostgreSQL")
    for key, name in (("index_s", "index s"), ("p50_ms", "p50 ms"), ("p99_ms", "p99 ms"), ("index_mb", "index MB")):
        file, shared = figures["file"][key], figures["postgres"][key]
        print(f"  {name:<9} {file:8.1f} {shared:8.1f}   × {shared / file:.1f}")


def measure_bm25s(data: Path, count: int) -> dict[str, Any]:
    """Do the same with bm25s, in memory and with its own tokenizer."""
    import bm25s

    prose = Prose(data, seed=count)
    texts = [f"{title} {text}" for title, text in prose.beir.texts.values()][:count] if prose.beir else []
    texts += [prose.paragraph() for _ in range(count - len(texts))]
    begin = time.perf_counter()
    retriever = bm25s.BM25()
    retriever.index(bm25s.tokenize(texts, show_progress=False), show_progress=False)
    figures: dict[str, Any] = {"index_s": time.perf_counter() - begin, "memory_mb": _peak_mb()}
    times = []
    for query in list(prose.queries().values())[:QUERIES]:
        begin = time.perf_counter()
        retriever.retrieve(bm25s.tokenize(query, show_progress=False), k=10, show_progress=False)
        times.append(time.perf_counter() - begin)
    return figures | {"all": _percentiles(times)}


def bm25s_quality(folder: Path, split: Callable[[str], list[str]] | None) -> retrieval.Figures:
    """Score bm25s on a set, with its own tokenizer or with our terms."""
    import bm25s

    beir = retrieval.load(folder)
    tokens = _tokens if split is None else lambda texts: [split(text) for text in texts]
    retriever = bm25s.BM25()
    retriever.index(tokens([f"{title} {text}" for title, text in beir.texts.values()]), show_progress=False)
    names = list(beir.texts)
    asked = tokens(list(beir.queries.values()))
    rows, _ = retriever.retrieve(asked, k=retrieval.DEPTH, show_progress=False)
    return retrieval.measure(
        {query: [names[at] for at in row] for query, row in zip(beir.queries, rows, strict=True)}, beir.gold
    )


def _tokens(texts: list[str]) -> Any:
    import bm25s

    return bm25s.tokenize(texts, return_ids=False, show_progress=False)


async def measure_formats(data: Path) -> list[tuple[str, float, float]]:
    """Return for each format its files/s and MB of text/s."""
    prose = Prose(data, seed=3)
    rows = []
    for name in FORMATS:
        with tempfile.TemporaryDirectory() as scratch:
            docs = Path(scratch) / "docs"
            docs.mkdir()
            chars = 0
            for number in range(FILES_A_FORMAT):
                paragraphs = [prose.paragraph() for _ in range(PARAGRAPHS_A_FILE)]
                made = make_file(name, f"File {number}", paragraphs)
                if made is not None:
                    chars += sum(map(len, paragraphs))
                    (docs / f"{number}{made[0]}").write_bytes(made[1])
            corpus = FolderCorpus(docs, index=Path(scratch) / "corpus.db")
            begin = time.perf_counter()
            survey = await corpus.refresh()
            spent = time.perf_counter() - begin
            await corpus.close()
            rows.append((name, survey.indexed / spent, chars / spent / 1e6))
    return rows


def report(data: Path = DATA) -> None:
    """Print the tables."""
    print(f"\nreading a folder, {FILES_A_FORMAT} files a format of {PARAGRAPHS_A_FILE} paragraphs")
    for name, files, megabytes in asyncio.run(measure_formats(data)):
        print(
            f"  {name:<10} {files:7.0f} files/s {megabytes:7.2f} MB/s of text"
            if files
            else f"  {name:<10} not written here"
        )
    source = "words and questions of hotpotqa250" if (data / "hotpotqa250").exists() else "made-up words"
    print(f"\nsearching a folder ({source}); pruned: common terms left out of the finding")
    print(f"  {'passages':>9} {'':7} {'index s':>8} {'MB text/s':>9} {'index MB':>8} {'peak MB':>8}"
          f" {'p50 ms':>7} {'p99 ms':>7} {'all@10':>7} {'nDCG':>7}")  # fmt: skip
    ours = {size: _child("ours", size=size, data=data) for size in SIZES}
    theirs = {size: found for size in SIZES if (found := _child("bm25s", size=size, data=data))}
    for size, figures in ours.items():
        _print_row(size, "pruned", figures, figures["pruned"])
        _print_row(size, "all", figures, figures["all"])
        if size in theirs:
            _print_row(size, "bm25s", theirs[size], theirs[size]["all"])
    growth = ours[SIZES[-1]]["pruned"]["p50_ms"] / ours[SIZES[0]]["pruned"]["p50_ms"]
    print(f"  p50 at {SIZES[-1]:,} over p50 at {SIZES[0]:,}: × {growth:.1f}   aim ≤ {AIM_GROWTH}")
    last = ours[SIZES[-1]]
    if "ndcg" in last["pruned"]:
        for label in ("all_gold", "ndcg"):
            loss = last["all"][label] - last["pruned"][label]
            print(f"  {label} lost by pruning at {SIZES[-1]:,}: {loss:.4f}   aim ≤ {AIM_LOSS}")
    _print_shared(data)
    if not theirs:
        print("  bm25s is not installed; for the comparison: pip install bm25s")
    else:
        _print_quality(data)


def _print_row(size: int, name: str, figures: dict[str, Any], search: dict[str, float]) -> None:
    speed = f"{figures['text_mb'] / figures['index_s']:9.2f}" if "text_mb" in figures else f"{'':9}"
    kept = f"{figures['index_mb']:8.0f}" if "index_mb" in figures else f"{'':8}"
    quality = f" {search['all_gold']:7.3f} {search['ndcg']:7.3f}" if "ndcg" in search else ""
    print(f"  {size:>9,} {name:<7} {figures['index_s']:8.1f} {speed} {kept} {figures['memory_mb']:8.0f}"
          f" {search['p50_ms']:7.1f} {search['p99_ms']:7.1f}{quality}")  # fmt: skip


def _print_quality(data: Path) -> None:
    for name in ("hotpotqa250", "cmrc2018_zh"):
        folder = data / name
        if not folder.exists():
            continue
        rows = {
            "ours": retrieval.run(folder, {"": str})[""],
            "bm25s": bm25s_quality(folder, None),
            "bm25s, our terms": bm25s_quality(folder, analyze),
        }
        for label, figures in rows.items():
            print(f"  {name:<12} {label:<18} all gold in top 10 {figures.all_gold:.3f}   nDCG@10 {figures.ndcg:.3f}")


def _child(what: str, **given: object) -> dict[str, Any]:
    """Return what a measurement in a process of its own gives, or nothing where bm25s is not installed."""
    options = [part for name, value in given.items() for part in (f"--{name}", str(value))]
    command = [sys.executable, "-m", "benchmarks.corpus", "--measure", what, *options]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=what != "bm25s")
    return json.loads(done.stdout) if done.returncode == 0 else {}


def _percentiles(times: list[float]) -> dict[str, float]:
    ordered = sorted(times)
    return {"p50_ms": ordered[len(ordered) // 2] * 1e3, "p99_ms": ordered[int(len(ordered) * 0.99)] * 1e3}


def _peak_mb() -> float:
    """Return the peak of this process; that of `getrusage` starts with what the parent had."""
    status = Path("/proc/self/status")
    if status.exists():
        return int(status.read_text().partition("VmHWM:")[2].split()[0]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure the index of a folder of documents.")
    parser.add_argument("--data", type=Path, default=DATA, help="the folder with the evaluation data, if there is one")
    parser.add_argument("--measure", choices=("ours", "index", "bm25s", "shared"), help=argparse.SUPPRESS)
    parser.add_argument("--size", type=int, default=0, help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.measure == "ours":
        print(json.dumps(asyncio.run(measure_ours(given.data, given.size))))
    elif given.measure == "index":
        print(json.dumps(asyncio.run(measure_index(given.folder))))
    elif given.measure == "shared":
        print(json.dumps(asyncio.run(measure_shared(given.data))))
    elif given.measure == "bm25s":
        if find_spec("bm25s") is None:
            sys.exit(1)
        print(json.dumps(measure_bm25s(given.data, given.size)))
    else:
        report(given.data)


if __name__ == "__main__":
    main()
