"""Queries as a person types them: names and nouns of a question, with its dates and numbers; a dozen words at most."""

import re
from calendar import month_name
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from deep_research.reasoning.rules.question.phrases import chinese_pieces, is_asking, phrases
from deep_research.reasoning.values import Brief
from deep_research.text.analyzer import CJK, CJK_CHARACTER, content_terms
from deep_research.text.dates import find_dates
from deep_research.text.script import detect_language
from deep_research.text.stop_words import ENGLISH

MAX_WORDS = 12
# So many words of the question go with a section's title.
_TOPIC_WORDS = 6
# A single word finds anything, unless it is a name.
_MIN_WORDS = 2
_WORD = re.compile(rf"[{CJK}]+|[^\W_{CJK}]+(?:[.,'’&/-][^\W_{CJK}]+)*")


def typed_queries(brief: Brief, title: str = "", aim: str = "") -> Iterator[str]:
    """Yield what to search for: the question with a section's title and a special aim, then its parts and phrases.

    Without a title the question is answered as a whole.
    """
    question, names = brief.question, brief.analysis.names
    head = _joined(_typed(title) or title, aim)
    topic = _typed(question, names, room=min(_TOPIC_WORDS if title else MAX_WORDS, MAX_WORDS - _size(head)))
    yield _joined(topic or " ".join(question.split()[:MAX_WORDS]), head)
    first = names[:1]
    parts = () if title else map(_typed, brief.analysis.parts)
    for text in [*parts, *first, *(phrase.text for phrase in phrases(question))]:
        query = _joined(*(() if title else first), text, head)
        if query in first or _MIN_WORDS <= _size(query) <= MAX_WORDS:
            yield query


def shared_queries(brief: Brief) -> Iterator[str]:
    """Yield what documents in another language can be searched for: names, figures and dates as they write them."""
    question = brief.question
    is_chinese = detect_language(question)[:2] != "zh"
    dates = [_date_in(mention.iso, is_chinese=is_chinese) for mention in find_dates(question)]
    fixed = [one.text for one in _stretches(question, brief.analysis.names) if one.is_fixed and not one.is_date]
    yield _joined(*_within(fixed, MAX_WORDS - sum(map(_size, dates))), *dates)
    yield from fixed


class _QueryStretch(NamedTuple):
    """Words that stand together in a question; those that are fixed are the same in every language."""

    start: int
    text: str
    is_fixed: bool = False

    @property
    def is_date(self) -> bool:
        return bool(find_dates(self.text))


def _typed(text: str, names: Iterable[str] = (), *, room: float = MAX_WORDS) -> str:
    """Return what a text is about: of too many words names, what comes up again, and what takes several words."""
    stretches = _stretches(text, names, is_left_out=lambda word: word.lower() in ENGLISH)
    if sum(_size(one.text) for one in stretches) > room:
        stretches = _stretches(text, names)
    counts = Counter(content_terms(text))

    def worth(one: _QueryStretch) -> float:
        terms = content_terms(one.text)
        repeated = sum(counts[term] - 1 for term in terms) / max(len(terms), 1)
        return 2 * (one.is_fixed and (one.text[0].isalpha() or one.is_date)) + repeated + min(_size(one.text), 4) / 2

    kept = _within((one.text for one in sorted(stretches, key=lambda one: (-worth(one), one.start))), room)
    return _joined(*(one.text for one in sorted(stretches) if one.text in kept))


def _within(texts: Iterable[str], room: float) -> list[str]:
    kept = []
    for text in dict.fromkeys(texts):
        if _size(text) <= room:
            kept.append(text)
            room -= _size(text)
    return kept


def _stretches(
    text: str, names: Iterable[str], *, is_left_out: Callable[[str], bool] = is_asking
) -> list[_QueryStretch]:
    """Return dates and names as they stand, and what is left between the words that questions are asked with."""
    spans = [(mention.start, mention.end) for mention in find_dates(text)]
    spans += [(at, at + len(name)) for name in names if (at := text.find(name)) >= 0]
    found: list[_QueryStretch] = []
    end = 0
    for start, until in [*sorted(spans), (len(text), len(text))]:
        if start >= end:
            found += _between(text, end, start, is_left_out)
            found.append(_QueryStretch(start, text[start:until], is_fixed=True))
            end = until
    return [one for one in found if one.text]


def _between(text: str, start: int, end: int, is_left_out: Callable[[str], bool]) -> Iterator[_QueryStretch]:
    is_chinese = bool(CJK_CHARACTER.search(text))
    run = _QueryStretch(start, "")
    for word in _WORD.finditer(text, start, end):
        if CJK_CHARACTER.match(word[0]):
            for at, until in chinese_pieces(word[0]):
                if until - at > 1:
                    yield _QueryStretch(word.start() + at, word[0][at : min(until, at + 2 * MAX_WORDS)])
        elif not is_left_out(word[0]):
            own = _QueryStretch(word.start(), word[0], is_fixed=is_chinese or word[0][0].isdigit())
            if own.is_fixed == run.is_fixed and text[run.start + len(run.text) : own.start] == " ":
                run = run._replace(text=f"{run.text} {own.text}")
            else:
                yield run
                run = own
    yield run


def _date_in(iso: str, *, is_chinese: bool) -> str:
    """Return a date as the documents' language writes it."""
    year, *rest = iso.split("-")
    numbers = [int(part) for part in rest if part.isdigit()]
    if is_chinese:
        return f"{year}年" + "".join(f"{number}{unit}" for number, unit in zip(numbers, "月日", strict=False))
    return " ".join([*map(str, numbers[1:]), *(month_name[month] for month in numbers[:1]), year])


def _joined(*texts: str) -> str:
    """Return texts as one query in which no word stands twice."""
    words = [word for text in texts for word in text.split()]
    first = {word.casefold(): word for word in reversed(words)}
    return " ".join(dict.fromkeys(first[word.casefold()] for word in words))


def _size(text: str) -> float:
    """Return how many words a text has; two Chinese characters are one."""
    return sum(len(word) / 2 if CJK_CHARACTER.match(word) else 1 for word in _WORD.findall(text))
