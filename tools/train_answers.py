"""Trains what answers are known by without a model: `python -m tools.train_answers [kinds] [meaning] [answers]`.

Three files of numbers are written, each from data that no eval with a floor measures on; needs numpy:

- `learned_kinds.bin`: what a question asks for, from the labelled questions of `evals/answer_training/questions`;
- `learned_meaning.bin`: which words mean alike, from the pairs of a question and a sentence that answers it in other
  words in `evals/answer_training/pairs`;
- `learned_answers.json`: what each feature of a sentence or a row is worth, from the reading sets of
  `../shared/evaldata` and the folders of `evals/answer_training/folders`, both with questions without an answer there.

The first is shipped; the others lie beside the ranker in `evals/answer_ranking`, which is not shipped yet.

`--leave-out` trains the last without each folder in turn, and prints how well it ranks that folder's candidates.
"""

import argparse
import asyncio
import json
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from deep_research.documents.corpus.port import Listed, PassageHit
from deep_research.documents.readers import read
from deep_research.reasoning.rules.question.analysis import analyze_question, asking_part, cues_of
from deep_research.reasoning.rules.question.kinds import SIZE, slots_of
from deep_research.reasoning.rules.quoting.answer import Subjects, beside_in_columns
from deep_research.reasoning.rules.quoting.relevance import weigh
from deep_research.report.sources.document import Document, text_id
from deep_research.text.analyzer import analyze, content_terms
from deep_research.text.folding import to_simplified
from evals.answer_ranking.candidates import placed_sentences, rows_of
from evals.answer_ranking.features import AnswerSought, features
from evals.reading import SETS, cases, document_of
from tools.minimize import minimize

ROOT = Path(__file__).parents[1]
OWN = ROOT / "evals" / "answer_training"
DATA = ROOT.parent / "shared" / "evaldata"
QUESTION = ROOT / "src" / "deep_research" / "reasoning" / "rules" / "question"
RANKING = ROOT / "evals" / "answer_ranking"
Array = Any

_KIND_REGULAR, _KIND_STEPS, _FOLDER_TIMES = 0.033, 60, 3
_DIMENSIONS, _RARE, _ROUNDS, _BATCH, _DROPPED, _SOFTNESS, _STEP = 64, 3, 30, 128, 0.5, 0.5, 0.05
_REGULAR, _STEPS = 3.0, 150
# What a question counts: of a folder, of a reading set, and of SQuAD's that were written to look answered.
_FOLDER, _READING, _TRAP = 20.0, 1.0, 0.3
_EVERY = 3
_PASSAGE = 700
# So much of a quoted row's cells a row must hold to be it.
_SAME_ROW = 0.7


def labelled_questions() -> list[dict[str, str]]:
    """Return the labelled questions of all languages, and those of the folders, which are of the kinds users ask."""
    paths = [
        *sorted((OWN / "questions").glob("*.jsonl")),
        *_FOLDER_TIMES * sorted(OWN.glob("folders/*/questions.jsonl")),
    ]
    return [json.loads(line) for path in paths for line in path.read_text(encoding="utf-8").splitlines()]


def train_kinds() -> None:
    """Write what questions of each kind and sort are known by."""
    asked = labelled_questions()
    rows = [slots_of(part, cues_of(part)) for part in (asking_part(each["question"]) for each in asked)]
    labels = sorted({each["kind"] for each in asked})
    worth, bias = _classifier(rows, np.array([labels.index(each["kind"]) for each in asked]), len(labels))
    scale = float(np.quantile(np.abs(worth), 0.9999) / 127)
    values = np.clip(np.round(worth / scale), -127, 127).astype(np.int8)
    told = f"{len(asked)} labelled questions: evals/answer_training/questions"
    header = {"trained on": told, "labels": labels, "bias": bias.round(4).tolist(), "scale": round(scale, 8)}
    (QUESTION / "learned_kinds.bin").write_bytes(write_learned(header, values.tobytes()))


def _classifier(rows: Sequence[Sequence[int]], wanted: Array, count: int) -> tuple[Array, Array]:
    """Return the weights and the bias of each class of a logistic regression."""
    places = np.concatenate([np.array(row) for row in rows])
    sizes = np.array([len(row) for row in rows])
    of_row = np.repeat(np.arange(len(rows)), sizes)
    values = np.repeat(sizes**-0.5, sizes)[:, None]
    begins = np.cumsum(sizes) - sizes
    right = np.eye(count)[wanted]

    def cost(at: Array) -> tuple[float, Array]:
        worth, bias = at[:-count].reshape(SIZE, count), at[-count:]
        scores = np.add.reduceat(worth[places] * values, begins) + bias
        scores -= scores.max(1, keepdims=True)
        likely = np.exp(scores)
        likely /= likely.sum(1, keepdims=True)
        change = likely - right
        slope = np.zeros_like(worth)
        np.add.at(slope, places, change[of_row] * values)
        loss = -np.log(likely[np.arange(len(rows)), wanted]).sum() + _KIND_REGULAR / 2 * (at @ at)
        return float(loss), np.concatenate([slope.ravel(), change.sum(0)]) + _KIND_REGULAR * at

    found = minimize(cost, np.zeros(SIZE * count + count), _KIND_STEPS)
    return found[:-count].reshape(SIZE, count), found[-count:]


def train_meaning() -> None:
    """Write vectors of terms such that a question and its answer lie near each other, and not near those of others."""
    paths = sorted((OWN / "pairs").glob("*.jsonl"))
    lines = [json.loads(line) for path in paths for line in path.read_text(encoding="utf-8").splitlines()]
    sides = [[list(dict.fromkeys(content_terms(line[key]))) for line in lines] for key in ("q", "a")]
    counts = Counter(term for texts in sides for terms in texts for term in terms)
    places = {term: place for place, term in enumerate(sorted(term for term in counts if counts[term] >= _RARE))}
    rarity = np.array([np.log(1 + len(lines) / counts[term]) for term in places]) ** 0.5
    asked, told = (
        [np.array([places[term] for term in terms if term in places], int) for terms in texts] for texts in sides
    )
    rng = np.random.default_rng(0)
    vectors = rng.normal(0, _DIMENSIONS**-0.5, (len(places), _DIMENSIONS))
    past = np.full(vectors.shape, 1e-3)
    order = np.array([at for at in range(len(lines)) if len(asked[at]) and len(told[at])])

    def some(terms: Array) -> Array:
        kept = terms[rng.random(len(terms)) > _DROPPED]
        return kept if len(kept) else terms

    for _ in range(_ROUNDS):
        rng.shuffle(order)
        for begin in range(0, len(order), _BATCH):
            batch = order[begin : begin + _BATCH]
            slope = _pulled(vectors, rarity, [some(asked[at]) for at in batch], [some(told[at]) for at in batch])
            past += slope * slope
            vectors -= _STEP * slope / np.sqrt(past)
    vectors *= rarity[:, None]
    values = np.clip(np.round(vectors * (127 / np.quantile(np.abs(vectors), 0.9995))), -127, 127).astype(np.int8)
    told_of = f"{len(lines)} pairs of a question and its answer: evals/answer_training/pairs"
    header = {"trained on": told_of, "dimensions": _DIMENSIONS, "terms": " ".join(places)}
    (RANKING / "learned_meaning.bin").write_bytes(write_learned(header, values.tobytes()))


def _pulled(vectors: Array, rarity: Array, asked: Sequence[Array], told: Sequence[Array]) -> Array:
    """Return the slope by which each question of a batch comes nearer to its own answer than to the others."""
    sides = []
    for texts in (asked, told):
        rows, terms = np.repeat(np.arange(len(texts)), [len(each) for each in texts]), np.concatenate(list(texts))
        sums = np.zeros((len(texts), vectors.shape[1]))
        np.add.at(sums, rows, vectors[terms] * rarity[terms][:, None])
        length = np.linalg.norm(sums, axis=1, keepdims=True) + 1e-6
        sides.append((rows, terms, sums / length, length))
    scores = sides[0][2] @ sides[1][2].T / _SOFTNESS
    by_row, by_column = (np.exp(scores - scores.max(axis, keepdims=True)) for axis in (1, 0))
    both = by_row / by_row.sum(1, keepdims=True) + by_column / by_column.sum(0, keepdims=True)
    change = (both / 2 - np.eye(len(asked))) / _SOFTNESS
    slope = np.zeros_like(vectors)
    for (rows, terms, own, length), pull in zip(sides, (change @ sides[1][2], change.T @ sides[0][2]), strict=True):
        pull = (pull - own * (pull * own).sum(1, keepdims=True)) / length
        np.add.at(slope, terms, pull[rows] * rarity[terms][:, None])
    return slope


def write_learned(header: dict[str, Any], values: bytes) -> bytes:
    """Return the content of a file of learned numbers."""
    return json.dumps(header, ensure_ascii=False).encode() + b"\n" + values


class Pool(NamedTuple):
    """The candidates of one question: their features, and which of them answer it."""

    name: str
    found: list[dict[str, float]]
    answers: list[bool]
    counts: float


class Passages:
    """How many passages of some documents hold a term, as the corpus tells it."""

    def __init__(self, documents: Iterable[Document], size: int = _PASSAGE) -> None:
        self._counts: Counter[str] = Counter()
        self._total = 0
        for document in documents:
            for at in range(0, len(document.text), size):
                self._total += 1
                self._counts.update({*analyze(f"{document.title} {document.text[at : at + size]}")})

    async def frequencies(self, terms: Sequence[str]) -> tuple[int, dict[str, int]]:
        return self._total, {term: self._counts[term] for term in terms if self._counts[term]}

    async def contents(self) -> list[Listed]:
        return []

    async def search(self, query: str, *, limit: int) -> list[PassageHit]:  # noqa: ARG002 - the port's signature
        return []


def sought(question: str, corpus: Any, documents: Iterable[Document]) -> AnswerSought:
    """Return what a question looks for, as a whole."""
    weights = asyncio.run(weigh(question, corpus)).with_quiet_question_words()
    beside = Subjects(frozenset(), *beside_in_columns(question, (each.text for each in documents)))
    return AnswerSought(analyze_question(question), weights.known(), weights.unknown, question, beside)


def reading_pools(data: Path) -> Iterator[Pool]:
    """Yield the pools of the reading sets: the sentences of a paragraph."""
    for name, language in SETS.items():
        asked = list(cases(data / "reading" / f"{name}.jsonl.gz", language))[::_EVERY]
        documents = {each["context"]: document_of(each["title"], each["context"]) for each in asked}
        corpus = Passages(documents.values(), 10_000)
        for each in asked:
            wanted = sought(each["question"], corpus, [documents[each["context"]]])
            known = [to_simplified(answer).lower() for answer in each["answers"]]
            placed = placed_sentences(documents[each["context"]], ((0, len(each["context"])),))
            found = [features(wanted, unit, place) for _, _, unit, place in placed]
            right = [any(answer in to_simplified(unit.text).lower() for answer in known) for _, _, unit, _ in placed]
            if found and (any(right) or not each["answerable"]):
                yield Pool(name, found, right, _TRAP if language == "en" and not each["answerable"] else _READING)


def folder_pools(folder: Path) -> Iterator[Pool]:
    """Yield the pools of a folder: all sentences, and the rows of each table that meet the question's conditions."""
    documents = []
    for path in sorted(path for path in (folder / "documents").rglob("*") if path.is_file()):
        reading = read(path.read_bytes(), name=path.name)
        documents.append(
            Document(
                id=text_id("train", reading.text),
                snapshot="",
                title=reading.title or path.stem,
                text=reading.text,
                media_type="",
                extractor="train",
                published=reading.published or "",
                author=path.name,
            )
        )
    corpus = Passages(documents)
    for line in (folder / "questions.jsonl").read_text(encoding="utf-8").splitlines():
        each = json.loads(line)
        wanted = sought(each["question"], corpus, documents)
        quotes = [(Path(answer["file"]).name, answer["quote"]) for answer in each["answers"] if each["answerable"]]
        found, right = [], []
        for document in documents:
            own = [quote for name, quote in quotes if name == document.author]
            for _, _, unit, place in placed_sentences(document, ((0, len(document.text)),)):
                found.append(features(wanted, unit, place))
                right.append(any(_is_in(unit.text, quote) for quote in own))
            for rows in rows_of(document, each["question"], wanted.analysis):
                for unit, place in rows:
                    found.append(features(wanted, unit, place))
                    right.append(any(_is_row(document.text[unit.start : unit.end], quote) for quote in own))
        if found and (any(right) or not each["answerable"]):
            yield Pool(folder.name, found, right, _FOLDER)


def _plain(text: str) -> str:
    return re.sub(r"[\s|]+", " ", to_simplified(text)).lower().strip()


def _is_in(sentence: str, quote: str) -> bool:
    """Return whether a sentence is a part of a quote, or holds one of its sentences."""
    own, parts = _plain(sentence), [_plain(part) for part in re.split(r"(?<=[.。!?;；])\s*", quote)]
    whole = len(own) > 8 and own in _plain(quote)
    return whole or any(len(part) > 8 and part in own for part in (_plain(quote), *parts))


def _is_row(row: str, quote: str) -> bool:
    cells, wanted = ([_plain(cell) for cell in text.split("|") if cell.strip()] for text in (row, quote))
    return bool(wanted) and sum(cell in cells for cell in wanted) >= max(1.0, _SAME_ROW * len(wanted))


def fit(pools: Sequence[Pool], names: Sequence[str]) -> Array:
    """Return what each feature is worth: the candidates of a question compete with each other, and with no answer."""
    table, begins, right, counts = _table(pools, names)
    group = np.repeat(np.arange(len(pools)), np.diff([*begins, len(table)]))
    has_answer = np.bincount(group, right, len(pools)) > 0

    def cost(worth: Array) -> tuple[float, Array]:
        scores = table @ worth
        top = np.maximum(np.maximum.reduceat(scores, begins), 0)
        likely, none = np.exp(scores - top[group]), np.exp(-top)
        total = np.add.reduceat(likely, begins) + none
        answers = np.bincount(group, likely * right, len(pools))
        loss = counts @ (np.log(total) - np.log(np.where(has_answer, answers, none)))
        wanted = np.where(right, likely / np.maximum(answers, 1e-300)[group], 0.0)
        slope = table.T @ (counts[group] * (likely / total[group] - wanted))
        return float(loss + _REGULAR / 2 * (worth @ worth)), slope + _REGULAR * worth

    return minimize(cost, np.zeros(len(names)), _STEPS)


def _table(pools: Sequence[Pool], names: Sequence[str]) -> tuple[Array, Array, Array, Array]:
    places = {name: place for place, name in enumerate(names)}
    sizes = [len(pool.found) for pool in pools]
    table = np.zeros((sum(sizes), len(names)))
    for row, found in enumerate(each for pool in pools for each in pool.found):
        for name, value in found.items():
            table[row, places[name]] = value
    right = np.array([answer for pool in pools for answer in pool.answers])
    return table, np.cumsum(sizes) - sizes, right, np.array([pool.counts for pool in pools])


def ranks(pools: Sequence[Pool], names: Sequence[str], worth: Array) -> list[int]:
    """Return at which place the first right candidate of each question stands, from 0."""
    found = []
    for pool in pools:
        if any(pool.answers):
            scores = _table([pool], names)[0] @ worth
            found.append(int(min((scores > scores[at]).sum() for at, answer in enumerate(pool.answers) if answer)))
    return found


def train_answers(data: Path, *, leave_out: bool) -> None:
    """Write what each feature is worth."""
    pools = [*reading_pools(data)]
    for folder in sorted((OWN / "folders").iterdir()):
        pools += folder_pools(folder)
    names = sorted({name for pool in pools for found in pool.found for name in found})
    if leave_out:
        every = []
        for left in sorted({pool.name for pool in pools}):
            own = [pool for pool in pools if pool.name == left]
            found = ranks(own, names, fit([pool for pool in pools if pool.name != left], names))
            print(f"{left:<12} first {np.mean(np.array(found) == 0):.3f}  in five {np.mean(np.array(found) < 5):.3f}")
            every += [] if left in SETS else found
        print(f"folders      first {np.mean(np.array(every) == 0):.3f}  in five {np.mean(np.array(every) < 5):.3f}")
    worth = fit(pools, names)
    told = Counter("folders" if pool.name not in SETS else pool.name for pool in pools)
    header = {"trained on": "; ".join(f"{count} questions of {name}" for name, count in told.items())}
    shipped = {name: round(float(value), 3) for name, value in zip(names, worth, strict=True) if abs(value) >= 0.02}
    content = json.dumps(header | {"worth": shipped}, indent=1) + "\n"
    (RANKING / "learned_answers.json").write_text(content, encoding="utf-8")


def main() -> int:
    """Train what was asked for, and write it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="*", default=["kinds", "meaning", "answers"])
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--leave-out", action="store_true")
    given = parser.parse_args()
    if "kinds" in given.what:
        train_kinds()
    if "meaning" in given.what:
        train_meaning()
    if "answers" in given.what:
        train_answers(given.data, leave_out=given.leave_out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
