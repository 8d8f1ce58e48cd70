"""Questions over folders of documents, answered without a model: `python -m evals.answers [FOLDER ...]`.

Folders, questions and what a correct report must hold were written by people who had not seen the rules. A report
passes if all of this is so: each string of `first` (or one of its alternatives) stands among its first 60 words, and
none of `never_first`; the strings of each of `rows` stand together in a row or paragraph; it says that the question is
not answered if and only if the documents do not answer it; it has at most `max_words` words before its references.
Two Chinese characters count as a word. `--sealed PASSWORD` runs the questions that are kept encrypted, `--opened` the
60 of another sealed set that has been run once and is now a regression.
"""

import argparse
import asyncio
import io
import re
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

from deep_research.errors import DeepResearchError
from deep_research.report.escaping import unescape
from deep_research.request import Language
from deep_research.text.analyzer import CJK
from deep_research.text.messages.words import words_in
from evals import shared

FOLDERS = Path(__file__).with_name("answer_folders")
SEALED = FOLDERS / "sealed.tgz.enc"
OPENED = FOLDERS / "opened"
FIRST_WORDS = 60
_LANGUAGES: tuple[Language, ...] = ("en", "zh-Hans", "zh-Hant")
_REFERENCES = re.compile(r"^## (?:References|参考文献|參考文獻)$", re.MULTILINE)
_WORD = re.compile(rf"[{CJK}]|[^\s{CJK}|]+")
_MARK = re.compile(r"(?<!\\)\[\d{1,4}\]")
_RULE = re.compile(r"^\|[\s:|-]+\|$", re.MULTILINE)


class Score(NamedTuple):
    """What one report came to; `failures` is empty where it passed."""

    id: str
    kind: str
    failures: tuple[str, ...]
    words: int


def plain(text: str) -> str:
    """Return a text as strings are looked for in it: without marks of citations and Markdown, and in small letters."""
    return " ".join(unescape(_MARK.sub("", _RULE.sub("", text))).replace("**", "").casefold().split())


def body_of(report: str) -> str:
    """Return what stands between a report's title and its references."""
    _, _, rest = report.partition("\n")
    return _REFERENCES.split(rest, maxsplit=1)[0]


def first_words(text: str, count: int) -> str:
    """Return a text up to so many words."""
    left = float(count)
    for match in _WORD.finditer(text):
        left -= 0.5 if re.match(f"[{CJK}]", match.group()) else 1.0
        if left < 0:
            return text[: match.start()]
    return text


def count_words(text: str) -> int:
    """Return how many words a text has."""
    return round(sum(0.5 if re.match(f"[{CJK}]", word) else 1.0 for word in _WORD.findall(text)))


def failures_of(report: str, question: dict[str, Any]) -> Iterator[str]:
    """Yield what is wrong with a report."""
    body = body_of(report)
    without_headings = "\n".join(line for line in body.split("\n") if not line.startswith("#"))
    first = plain(first_words(_MARK.sub("", _RULE.sub("", without_headings)), FIRST_WORDS))
    for alternatives in question.get("first", []):
        if not any(plain(each) in first for each in alternatives):
            yield f"not among the first words: {' / '.join(alternatives)}"
    for wrong in question.get("never_first", []):
        if plain(wrong) in first:
            yield f"among the first words: {wrong}"
    lines = [plain(line) for line in body.split("\n")]
    for row in question.get("rows", []):
        if not any(all(plain(cell) in line for cell in row) for line in lines):
            yield f"no row: {' | '.join(row)}"
    denies = any(plain(words_in(language)("nothing.answer"))[:24] in first for language in _LANGUAGES)
    denies = denies or any(plain(words_in(language)("nothing.report"))[:24] in first for language in _LANGUAGES)
    if denies and question["answerable"]:
        yield "says that it is not answered, and it is"
    if not denies and not question["answerable"]:
        yield "does not say that it is not answered"
    words = count_words(plain(without_headings))
    if words > question["max_words"]:
        yield f"{words} words, at most {question['max_words']}"


def run_folder(folder: Path, keep: Path, only: Sequence[str] = ()) -> list[Score]:
    """Answer a folder's questions, in this process."""
    from deep_research.runner import research
    from deep_research.settings import load_settings

    scores = []
    for question in shared.read_json_lines(folder / "questions.jsonl"):
        if only and question["id"] not in only:
            continue
        own = keep / folder.name
        settings = load_settings(
            home=own / "home", logs=own / question["id"], docs=folder / "documents", offline=True, clarify="off"
        )
        try:
            report = asyncio.run(research(question["question"], settings=settings)).final_report
        except DeepResearchError as exc:
            report = f"# {question['question']}\n\n{exc}"
        failures = tuple(failures_of(report, question))
        scores.append(Score(question["id"], question["kind"], failures, count_words(plain(body_of(report)))))
    return scores


def totals(scores: Sequence[Score]) -> dict[str, float]:
    """Return the figures of all questions together."""
    every = [failure for score in scores for failure in score.failures]
    return {
        "questions": len(scores),
        "passed": sum(not score.failures for score in scores) / len(scores),
        "wrongly not answered": sum("and it is" in failure for failure in every),
        "wrongly answered": sum("does not say" in failure for failure in every),
        "mean words": sum(score.words for score in scores) / len(scores),
    }


def run_folders(folders: Sequence[Path], *, keep: Path | None, jobs: int, only: Sequence[str] = ()) -> list[Score]:
    """Answer the questions of folders, each folder in a process of its own."""
    started_anew = get_context("spawn")  # a fork of a process with threads may wait for one that it does not have
    with tempfile.TemporaryDirectory() as scratch, ProcessPoolExecutor(jobs, mp_context=started_anew) as pool:
        answered = pool.map(partial(run_folder, keep=keep or Path(scratch), only=only), folders)
        return [score for scores in answered for score in scores]


def unseal(password: str, to: Path) -> list[Path]:
    """Decrypt the sealed folders; return where they are."""
    command = [
        "openssl",
        "enc",
        "-d",
        "-aes-256-cbc",
        "-pbkdf2",
        "-iter",
        "200000",
        "-pass",
        "stdin",
        "-in",
        str(SEALED),
    ]
    packed = subprocess.run(command, input=password.encode(), capture_output=True, check=True).stdout
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        archive.extractall(to, filter="data")
    return folders_in(to / "sealed")


def folders_in(place: Path) -> list[Path]:
    """Return the folders with questions."""
    return sorted(path.parent for path in place.glob("*/questions.jsonl"))


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="*", help="only these folders")
    parser.add_argument("--only", action="append", default=[], help="only the question with this id (may be repeated)")
    parser.add_argument("--keep", type=Path, help="keep the runs in this folder, to read the reports")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--sealed", metavar="PASSWORD", help="run the sealed questions instead")
    parser.add_argument("--opened", action="store_true", help="run the questions of the opened set instead")
    given = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as scratch:
        known = unseal(given.sealed, Path(scratch)) if given.sealed else folders_in(OPENED if given.opened else FOLDERS)
        folders = [folder for folder in known if not given.folders or folder.name in given.folders]
        scores = run_folders(folders, keep=given.keep, jobs=given.jobs, only=given.only)
    for score in scores:
        print(f"{'pass' if not score.failures else 'FAIL'}  {score.id:<22} {score.kind:<15} {score.words:5} words")
        for failure in score.failures:
            print(f"        {failure}")
    name = "answers, sealed" if given.sealed else "answers, opened" if given.opened else "answers"
    return shared.report(name, totals(scores), details=[score._asdict() for score in scores])


if __name__ == "__main__":
    sys.exit(main())
