"""What can be quoted together: up to three neighbouring sentences, or one row of a table with its header."""

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TypeAlias

from deep_research.text.analyzer import CJK_CHARACTER, analyze, content_terms
from deep_research.text.folding import to_simplified
from deep_research.text.headings import headings_above
from deep_research.text.prompt_injection import find_prompt_injection
from deep_research.text.sentences import STAMPED, LineKind, TextSpan, line_kind, split_sentences
from deep_research.text.tables import find_tables, is_note

Stretches: TypeAlias = Sequence[tuple[int, int]]
# Measured on DRBench: units of three neighbours found twice as many facts as single sentences, four found fewer.
MAX_SENTENCES = 3
_BEFORE = 3
_ENGLISH_WORDS = range(4, 81)
_CHINESE_CHARACTERS = range(8, 221)
_SHORTEST_STEP = 3
_MAX_ROWS = 2_000
# Of a row, the columns and the cells that a report has room for.
_MAX_COLUMNS, _MAX_ASKED_COLUMNS, _MAX_CELL_CHARS = 8, 12, 200
# Thin spaces stand in no cell, so that a labelled row can be taken apart again.
_LABEL, _NEXT = ":\u2009", ";\u2009"
_NUMBERED_TITLE = re.compile(
    r"\(?\d{1,2}(?:[.)]|(?:\.\d{1,2})+[.)]?)\s[^.!?]{0,60}$|[（(]?[一二三四五六七八九十]{1,3}[、）)][^。！？；]{0,30}$"
)
_ASKING = re.compile(r"[?？][\"”’』」]?$")
_FINISHED = re.compile(r"[.!。！…:：][\"”’』」)）]?(?:\[\d+\])*$")
# The head of a message, greetings and good wishes, what a paper says of itself, bylines, shouted titles, office hours.
_BEGINS_NO_CONTENT = re.compile(
    r"(?:From|To|Cc|Date|Subject|Sent|Files): |(?:发件人|收件人|主题|日期|寄件者|收件者|主旨)[：:]"
    r"|[\w ]{1,24}: [^;]{1,80}; [\w ]{1,24}: "
    r"|(?:Hi|Hello|Dear|Hey|Good (?:morning|afternoon|evening))\b.{0,40}[,!:]$"
    r"|(?:Best|Kind) (?:regards|wishes)\b|(?:Best|Regards|Sincerely|Cheers|Yours(?: \w+)?)\b[,.!]|Thanks?\b(?! to\b)"
    r"|本(?:报告|報告|文件|文|方案|纪要|紀要)(?:旨在|介绍|介紹|概述|主要|将|將)|Let['’]s\b"
    r"|(?:您好|你好|大家好|此致|敬礼|敬禮|祝好|谢谢|謝謝)|(?:Opinion|Report) by\b"
)
_NEW_MESSAGE = re.compile(r"From: |(?:发件人|寄件者)[：:]")
_NO_CONTENT = re.compile(
    r"\bI hope (?:this|you)\b|\b[Ll]ooking forward to\b|\b[Ll]et me know\b|\bfinds? you well\b"
    r"|\b[Pp]lease (?:find|see) attached\b|\b(?:schedule|set up|join) (?:a|the|our) (?:\w+ ){0,2}(?:meeting|call)\b"
    r"|\b[Tt]his (?:document|report|presentation|paper|memo|proposal|section|email|deck) (?:\w+ )?"
    r"(?:explor|review|outlin|examin|provid|aim|will|present|propos|discuss|summar|delv|seek|focus|highlight|is )\w*"
    r"|\b(?:updated|published|presented|printed|issued) on \d{1,2} \w+ \d{4}\.$"
    r"|(?:\b[A-Z]{3,}\b[ \-–—:]+){3}"
    r"|\d{1,2}:\d{2}\s*(?:to|[-–—至])\s*\d{1,2}:\d{2}"
)
# Sellers call to buy and praise themselves: neither is evidence.
_SELLS = re.compile(
    r"^(?:contact|call|visit|order|buy|book|try|join|shop|sign up)\b(?=.*\b(?:today|now)\b)"
    r"(?=.*\b(?:us|our|free|offer|save|quote)\b)"
    r"|(?:\b(?:our|we)\b[^.]{0,40}|\b(?:market|industry|world|country)(?:['’]s |-))"
    r"\b(?:leading|best|most trusted|award-winning|world-class|unrivall?ed)\b"
    r"[^.]{0,30}\b(?:providers?|suppliers?|brands?|makers?|manufacturers?|partners?|products?|solutions?)\b"
    r"|(?:欢迎|敬请|立即|马上)(?:来电|致电|咨询|垂询|选购|订购|购买|下单|抢购|联系)|联系我们[。！!]?$"
    r"|(?:行业|业界|市场|国内|全球)领先的?[^，。]{0,10}(?:品牌|企业|公司|商|产品|方案)|值得(?:您|你)?(?:信赖|拥有)",
    re.IGNORECASE,
)
_ATTENDANCE = re.compile(
    r"(?:Present|Attending|Apologies|Attendees|In (?:the chair|attendance)|Date|Time|Venue"
    r"|出席|列席|参加|与会|时间|地点|主持|记录)[^:：]{0,12}[:：]"
)
# Requests, promises, wishes and announcements: somebody wrote them, and they state nothing.
_NOT_STATED = re.compile(
    r"\b(?:please|could you|can you|would you|kindly|let (?:me|us)|let's|i(?:'ll| will| would)"
    r"|we(?:'ll| will) (?:send|let|get|come)"
    r"|hope|looking forward|thanks?|thank you|sorry|remind|attached|see you|to be (?:confirmed|decided))\b"
    r"|请|麻烦|谢谢|感谢|希望|抱歉|您好|大家好|稍后|辛苦|收到|记得|祝",
    re.IGNORECASE,
)
# A byline, or where and when a meeting was. Each word is taken whole: cut anywhere, a long number takes for ever.
_ONLY_NAMES = re.compile(
    r"(?:(?:[A-Z\d](?:[\w'’-]|\.(?!$))*+|and|of|the|for|to|by|in|on|at|&)(?:[,;]\s*|\s+|(?=\.$))){1,10}\."
)


@dataclass(frozen=True)
class SourceSentence:
    """A sentence with what it holds; `terms` are the analyzer's."""

    start: int
    end: int
    text: str

    @cached_property
    def terms(self) -> frozenset[str]:
        return frozenset(analyze(self.text))


def as_sentence(text: str) -> SourceSentence:
    """Return a sentence by itself."""
    return SourceSentence(0, len(text), text)


@dataclass(frozen=True)
class Unit:
    """Neighbouring sentences under one heading, or a row; `header` is where the row's header stands."""

    sentences: tuple[SourceSentence, ...]
    heading: str
    header: TextSpan | None = None
    # The sentences right before it.
    before: tuple[SourceSentence, ...] = ()

    @property
    def start(self) -> int:
        return self.sentences[0].start

    @property
    def end(self) -> int:
        return self.sentences[-1].end

    @cached_property
    def text(self) -> str:
        return " ".join(sentence.text for sentence in self.sentences)

    @cached_property
    def terms(self) -> frozenset[str]:
        return frozenset().union(*(sentence.terms for sentence in self.sentences))


def units_of(text: str, stretches: Stretches = (), *, step: int = 1, is_whole: bool = False) -> list[Unit]:
    """Return everything in a document that could be quoted; with `stretches`, only what stands in them.

    Units of sentences begin `step` sentences apart, so that they may overlap: who chooses parts them. With `is_whole`
    also what nobody would quote is there: greetings, questions, what leads to a list, rows without a header.
    """
    stretches = stretches or [(0, len(text))]
    found = list(_rows(text, stretches, is_whole=is_whole))
    for start, end in stretches:
        for heading, run in runs_of(text[start:end], start, is_whole=is_whole):
            found += [
                Unit(tuple(run[at : at + MAX_SENTENCES]), heading, before=tuple(run[max(0, at - _BEFORE) : at]))
                for at in range(0, len(run), step)
            ]
    return found


# A document is asked for them coarsely, finely and for each question.
@lru_cache(maxsize=8)
def runs_of(text: str, offset: int = 0, *, is_whole: bool = False) -> Sequence[tuple[str, Sequence[SourceSentence]]]:
    """Return stretches of neighbouring usable sentences with the headings above them, the highest first."""
    found = []
    run = list[SourceSentence]()
    spans = find_prompt_injection(text)
    every = split_sentences(text)
    kinds = [line_kind(text, span.start) for span in every]
    for at, span in enumerate(every):
        words, kind = text[span.start : span.end], kinds[at]
        is_step = kind == "item" and "item" in (*kinds[at - 1 : at], *kinds[at + 1 : at + 2])
        is_told = is_whole or is_usable(words, kind, is_step=is_step)
        is_told = is_told and kind in ("prose", "item") and not _is_injected(span, spans)
        if run and (not is_told or (is_whole and _NEW_MESSAGE.match(words))):
            found.append((headings_above(text, run[0].start - offset), run))
            run = []
        if is_told:
            run.append(SourceSentence(offset + span.start, offset + span.end, words))
    return [*found, (headings_above(text, run[0].start - offset), run)] if run else found


def is_usable(sentence: str, kind: LineKind = "prose", *, is_step: bool = False) -> bool:
    """Return whether a sentence tells something: no question, greeting, dateline or scrap; one of several steps may
    be short.
    """
    if _ASKING.search(sentence, max(0, len(sentence) - 2)) or _ONLY_NAMES.fullmatch(sentence):
        return False
    if _BEGINS_NO_CONTENT.match(sentence) or _NO_CONTENT.search(sentence) or _SELLS.search(to_simplified(sentence)):
        return False
    if kind == "item" and not is_step and _NUMBERED_TITLE.match(sentence):
        return False
    han = len(CJK_CHARACTER.findall(sentence))
    is_chinese = han > len(sentence) / 4
    is_sized = han in _CHINESE_CHARACTERS if is_chinese else len(sentence.split()) in _ENGLISH_WORDS
    is_sized = is_sized or (is_step and len(sentence) > _SHORTEST_STEP)
    # A line of a log or a chat often ends without a stop.
    return is_sized and (kind == "item" or bool(_FINISHED.search(sentence) or STAMPED.match(sentence)))


def states_nothing(text: str) -> bool:
    """Return whether somebody asks, promises, wishes or announces, or a list of those present is given."""
    simple = to_simplified(text)
    return _NOT_STATED.search(simple) is not None or _ATTENDANCE.match(simple) is not None


def count_prompt_injections(text: str) -> int:
    """Return how many sentences, rows and headings of a text read like prompt injections: none is ever quoted."""
    spans = find_prompt_injection(text)
    return sum(_is_injected(span, spans) for span in split_sentences(text)) if spans else 0


def _is_injected(span: TextSpan, spans: Stretches) -> bool:
    before = bisect_left(spans, (span.end, 0)) - 1
    return before >= 0 and span.start < spans[before][1]


def _rows(text: str, stretches: Stretches, *, is_whole: bool) -> Iterator[Unit]:
    """Yield the rows in the stretches, each cell behind its label; a long table's header may stand far above them."""
    for table in find_tables(text):
        if not (table.header or is_whole):
            continue
        headings = headings_above(text, table.start)
        header = TextSpan(table.header.start, table.header.end) if table.header else None
        rows = [row for row in table.rows if any(start <= row.start < end for start, end in stretches)]
        for row in rows[:_MAX_ROWS]:
            words = labelled(table.header.cells, row.cells) if table.header else text[row.start : row.end]
            if not find_prompt_injection(words):
                yield Unit((SourceSentence(row.start, row.end, words),), headings, header)


def rows_around(text: str, at: int) -> int:
    """Return how many rows the table has in which a place stands."""
    around = next((table.rows for table in find_tables(text) if table.start <= at < table.end), ())
    return sum(not is_note(row) for row in around)


def labelled(header: Sequence[str], cells: Iterable[str], asked: frozenset[str] = frozenset()) -> str:
    """Return a row with the header's word before each cell; columns whose label is asked for are kept before others."""
    return _NEXT.join(f"{label}{_LABEL}{cell}" if label else cell for label, cell in pairs(header, cells, asked))


def pairs(header: Sequence[str], cells: Iterable[str], asked: frozenset[str] = frozenset()) -> list[tuple[str, str]]:
    """Return the cells of a row that say something, each with its label; columns may lack one if the first does."""
    named = [(label.replace("_", " ").strip(), cell.strip()) for label, cell in zip(header, cells, strict=False)]
    is_bare = bool(named) and not named[0][0]
    kept = [pair for pair in named if pair[1] and (pair[0] or is_bare) and len(pair[1]) <= _MAX_CELL_CHARS]
    ranked = sorted(
        range(len(kept)), key=lambda at: (at > 1 and asked.isdisjoint(content_terms(" ".join(kept[at]))), at)
    )
    return [kept[at] for at in sorted(ranked[: _MAX_ASKED_COLUMNS if asked else _MAX_COLUMNS])]


def cells_of(labelled_row: str) -> tuple[tuple[str, str], ...]:
    """Return label and value of each cell of a row with labels."""
    parts = (part.partition(_LABEL) for part in labelled_row.split(_NEXT))
    return tuple((label, value) if found else ("", label) for label, found, value in parts)
