"""Queries as a person types them: names and nouns of a question, with its dates and numbers; a dozen words at most."""

import re
from calendar import month_name
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from deep_research.reasoning.rules.question.phrases import chinese_pieces, is_asking, phrases
from deep_research.reasoning.values import Brief, QuestionAnalysis
from deep_research.text.analyzer import CJK, content_terms
from deep_research.text.dates import find_dates
from deep_research.text.script import detect_language
from deep_research.text.stop_words import ENGLISH

MAX_WORDS = 12
# So many words of the question go with a section's title.
_TOPIC_WORDS = 6
# A single word finds anything, unless it is a name.
_MIN_WORDS = 2
_WORD = re.compile(rf"[{CJK}]+|[^\W_{CJK}]+(?:[.,'’&/-][^\W_{CJK}]+)*")
_HAN = re.compile(f"[{CJK}]")


class _Stretch(NamedTuple):
    """Words that stand together in a question; those that are fixed are the same in every language."""

    start: int
    text: str
    is_fixed: bool = False

    @property
    def size(self) -> float:
        return _size(self.text)


def typed_queries(brief: Brief, title: str = "", aim: str = "") -> Iterator[str]:
    """Yield what to search for: the question with a section's title and a special aim, then its parts and phrases.

    Without a title the question is answered as a whole.
    """
    question = brief.question
    head = _joined(_typed(title) or title, aim)
    topic = _typed(question, brief.analysis, room=min(_TOPIC_WORDS if title else MAX_WORDS, MAX_WORDS - _size(head)))
    yield _joined(topic or " ".join(question.split()[:MAX_WORDS]), head)
    names = [name for name in brief.analysis.names if _size(name) <= MAX_WORDS // 2][:1]
    found = [phrase.text for phrase in phrases(question)]
    for text in [*names, *found] if title else [*map(_typed, brief.analysis.parts), *names, *found]:
        query = _joined(*(() if title else names), text, head)
        if query in names or _MIN_WORDS <= _size(query) <= MAX_WORDS:
            yield query


def shared_queries(brief: Brief) -> Iterator[str]:
    """Yield what documents in another language can be searched for: names, figures and dates as they write them."""
    question = brief.question
    is_chinese = detect_language(question)[:2] != "zh"
    dates = [_date_in(mention.iso, is_chinese=is_chinese) for mention in find_dates(question)]
    fixed = [one.text for one in _stretches(question, brief.analysis) if one.is_fixed and not find_dates(one.text)]
    yield _joined(*_within(fixed, MAX_WORDS - sum(map(_size, dates))), *dates)
    yield from fixed


def _typed(text: str, analysis: QuestionAnalysis | None = None, *, room: float = MAX_WORDS) -> str:
    """Return the words of a text that say what it is about; of too many, names and what is asked about most."""
    asked = analysis or QuestionAnalysis()
    stretches = _stretches(text, asked, is_left_out=_is_stop_word)
    if sum(one.size for one in stretches) > room:
        stretches = _stretches(text, asked, is_left_out=is_asking)
    counts = Counter(content_terms(text))
    in_parts = frozenset(content_terms(" ".join(asked.parts)))

    def worth(one: _Stretch) -> float:
        """Names and dates first, then what is asked, said more than once, and said in more than one word."""
        terms = set(content_terms(one.text))
        repeated = sum(min(counts[term] - 1, 2) for term in terms) / max(len(terms), 1)
        is_named = one.is_fixed and (one.text[0].isalpha() or bool(find_dates(one.text)))
        return 2 * is_named + (not terms.isdisjoint(in_parts)) + repeated + min(one.size, 4) / 2

    best = sorted(stretches, key=lambda one: (-worth(one), one.start))
    kept = _within([one.text for one in best], room)
    return _joined(*(one.text for one in sorted(stretches) if one.text in kept))


def _within(texts: Iterable[str], room: float) -> list[str]:
    kept: list[str] = []
    for text in dict.fromkeys(texts):
        if _size(text) <= room:
            kept.append(text)
            room -= _size(text)
    return kept


def _is_stop_word(word: str) -> bool:
    return word.lower() in ENGLISH


def _stretches(
    text: str, analysis: QuestionAnalysis, *, is_left_out: Callable[[str], bool] = is_asking
) -> list[_Stretch]:
    """Return dates and names as they stand, and what is left between the words that questions are asked with."""
    spans = [(mention.start, mention.end) for mention in find_dates(text)]
    spans += [(at, at + len(name)) for name in analysis.names if (at := text.find(name)) >= 0]
    found: list[_Stretch] = []
    end = 0
    for start, until in [*sorted(spans), (len(text), len(text))]:
        if start < end:
            continue
        found += _between(text, end, start, is_left_out)
        found.append(_Stretch(start, text[start:until], is_fixed=True))
        end = until
    return [one for one in found if one.text]


def _between(text: str, start: int, end: int, is_left_out: Callable[[str], bool]) -> Iterator[_Stretch]:
    is_chinese = bool(_HAN.search(text))
    run = _Stretch(start, "")
    for word in _WORD.finditer(text, start, end):
        if _HAN.match(word[0]):
            for at, until in chinese_pieces(word[0]):
                if until - at > 1:
                    yield _Stretch(word.start() + at, word[0][at : min(until, at + 2 * MAX_WORDS)])
        elif not is_left_out(word[0]):
            is_fixed = is_chinese or word[0][0].isdigit()
            gap = text[run.start + len(run.text) : word.start()]
            if run.text and gap == " " and run.is_fixed == is_fixed:
                run = run._replace(text=f"{run.text} {word[0]}")
                continue
            yield run
            run = _Stretch(word.start(), word[0], is_fixed)
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
    return sum(len(word) / 2 if _HAN.match(word) else 1 for word in _WORD.findall(text))
