"""Finds a sentence in the passages it cites: whole sentences word for word, or one sentence with cuts that say nothing.

What is found neither way is left undecided, never guessed. `find_span` finds the words that a judge relies on: the same
words in the same order, whatever their typography.
"""

import re
import unicodedata
from bisect import bisect_left
from collections.abc import Sequence
from functools import lru_cache, partial
from typing import NamedTuple

from deep_research.report.evidence.passage import Evidence
from deep_research.report.paragraph import Sentence, Strings, Verdict
from deep_research.text.analyzer import CJK, CJK_CHARACTER
from deep_research.text.folding import fold_typography, to_simplified
from deep_research.text.sentences import TextSpan, line_kind, split_sentences
from deep_research.verify.particulars import particulars
from deep_research.verify.trimming import Cut, possible_cuts

# White space only parts tokens: readers leave line breaks inside Chinese text, and "5 %" is "5%".
_TOKEN = re.compile(rf"[^\W_{CJK}]+(?:[.,]\d+)*|\S")
_ENDS_IN_STOP = re.compile(r"[.!?。！？…:：;；][\"'”’»)\]）】》」』]*(?:\[\d{1,3}\])*[\"'”’»)\]）】》」』]*$")
_OPENING, _CLOSING = "“「『«", "”」』»"
# A line that was cut by its width is about as long as the next one; one much shorter is a heading.
_WRAPPED_SHARE = 0.6
# Superscripts and fractions fold to plain digits ("10²" to "102"): they are moved out of the folding's reach.
_PRIVATE_PLANE = 0xF0000


class Match(NamedTuple):
    """Where a text holds a sentence; `is_whole` if nothing was cut from it."""

    start: int
    end: int
    is_whole: bool


class QuoteToken(NamedTuple):
    """A word or a sign of a text, in plain typography, and where it stands."""

    text: str
    start: int
    end: int


class _Bounds(NamedTuple):
    """A sentence of a passage, by its first token and the one after its last, and what may be cut from it, by where."""

    first: int
    last: int
    cuts: dict[int, tuple[int, Cut]]


class _QuotedPassage(NamedTuple):
    """A passage in tokens."""

    tokens: tuple[QuoteToken, ...]
    words: Strings
    bounds: tuple[_Bounds, ...]


def check_quote(sentence: Sentence, passages: Sequence[Evidence]) -> Verdict | None:
    """Return `supported` and where if a cited passage holds the sentence, `not_found` if none is cited, else None."""
    if not passages:
        return Verdict(kind="not_found", reason="uncited")
    found = [(passage, match) for passage in passages if (match := find_quote(sentence.text, passage.quote))]
    if not found:
        return None
    passage, match = max(found, key=lambda pair: pair[1].is_whole)
    start, end = passage.start + match.start, passage.start + match.end
    reason = "verbatim" if match.is_whole else "trimmed"
    return Verdict(kind="supported", reason=reason, evidence=passage.id, start=start, end=end)


def find_quote(sentence: str, text: str) -> Match | None:
    """Return where a text holds a sentence, as whole sentences or with allowed cuts from one; else None.

    The text's own ends count as ends of sentences; a sentence inside a longer quotation is somebody's and not found.
    """
    wanted = words_of(sentence)
    if not any(token[0].isalnum() for token in wanted):
        return None
    passage = _read(text)
    ends = {bounds.last for bounds in passage.bounds}
    for first, _, _ in passage.bounds:
        last = first + len(wanted)
        if last in ends and passage.words[first:last] == wanted:
            start, end = passage.tokens[first].start, passage.tokens[last - 1].end
            if _agrees(text[start:end], sentence) and not _in_quotation(text, start):
                return Match(start, end, is_whole=True)
    for bounds in passage.bounds:
        if not bounds.cuts or bounds.last - bounds.first <= len(wanted):
            continue
        start, end = passage.tokens[bounds.first].start, passage.tokens[bounds.last - 1].end
        cuts = _cuts_between(passage.words, bounds, wanted)
        if cuts and _agrees(text[start:end], sentence, cuts) and not _in_quotation(text, start):
            return Match(start, end, is_whole=False)
    return None


def words_of(text: str) -> Strings:
    """Return the words and signs of a text as quotes are compared by: plain typography, white space aside."""
    return tuple(token.text for token in tokens_of(text))


def tokens_of(text: str) -> list[QuoteToken]:
    """Return the words and signs of a text in order."""
    folded = fold_typography("".join(map(_unfolded, text)) if not text.isascii() else text)
    return [QuoteToken(match[0], *folded.original_span(*match.span())) for match in _TOKEN.finditer(folded.text)]


def whole_sentences(text: str) -> list[TextSpan]:
    """Return the sentences of a text; a line break alone ends none, unless the line is a heading beside the next."""
    joined: list[TextSpan] = []
    for span in split_sentences(text):
        if joined and _goes_on(text, joined[-1], span):
            joined[-1] = TextSpan(joined[-1].start, span.end)
        else:
            joined.append(span)
    return joined


def _goes_on(text: str, last: TextSpan, following: TextSpan) -> bool:
    if text[last.end : following.start].count("\n") != 1 or _ENDS_IN_STOP.search(text, last.start, last.end):
        return False
    if line_kind(text, last.end - 1) not in ("prose", "item") or line_kind(text, following.start) != "prose":
        return False
    line_start = text.rfind("\n", 0, last.end) + 1
    next_end = text.find("\n", following.start)
    next_width = (next_end if next_end >= 0 else len(text)) - following.start
    # A passage may begin inside its first line, so that how wide that line was is not known.
    return line_start == 0 or last.end - line_start >= _WRAPPED_SHARE * next_width


def sentences_in(text: str, tokens: Sequence[QuoteToken]) -> list[tuple[int, int]]:
    """Return the sentences of a text, each by its first token and the one after its last."""
    past = partial(bisect_left, [token.start for token in tokens])
    return [(past(span.start), past(span.end)) for span in whole_sentences(text)]


# The same few passages are asked for every sentence of a paragraph, and a reading depends on the text alone.
@lru_cache(maxsize=512)
def _read(text: str) -> _QuotedPassage:
    tokens = tuple(tokens_of(text))
    past = partial(bisect_left, [token.start for token in tokens])
    bounds = []
    for first, last in sentences_in(text, tokens):
        if first < last:
            shift = tokens[first].start
            cuts = possible_cuts(text[shift : tokens[last - 1].end])
            inside = {past(shift + cut.start): (past(shift + cut.end), cut) for cut in cuts}
            bounds.append(_Bounds(first, last, inside))
    return _QuotedPassage(tokens, tuple(token.text for token in tokens), tuple(bounds))


def _unfolded(letter: str) -> str:
    is_number = letter > "\x7f" and letter <= "\uffff" and unicodedata.category(letter) == "No"
    return chr(_PRIVATE_PLANE + ord(letter)) if is_number else letter


def _cuts_between(words: Sequence[str], bounds: _Bounds, wanted: Strings) -> list[Cut]:
    """Return the allowed cuts that turn a sentence into the wanted tokens; none if no choice of cuts does."""
    made = []
    at, done = bounds.first, 0
    while at < bounds.last:
        if at in bounds.cuts:
            past, cut = bounds.cuts[at]
            if wanted[done : done + past - at] != words[at:past]:
                made.append(cut)
                at = past
                continue
        token = words[at]
        if done == 0 and made and made[0].is_connective and token != wanted[0]:
            # Without its connective, a sentence begins with a capital letter.
            token = token[0].upper() + token[1:]
        if wanted[done : done + 1] != (token,):
            return []
        at, done = at + 1, done + 1
    return made if done == len(wanted) else []


def _agrees(original: str, sentence: str, cuts: Sequence[Cut] = ()) -> bool:
    """Return whether figures, dates, negations and hedges are the same, read without tokens, and none was cut."""
    text = original
    for cut in cuts:
        lost = particulars(original[cut.start : cut.end])
        if not cut.is_connective and (lost.negations or lost.hedges):
            return False
        # A space for every letter: offsets stay, and no two words or numbers grow together.
        text = text[: cut.start] + " " * (cut.end - cut.start) + text[cut.end :]
    return particulars(text) == particulars(sentence)


def _in_quotation(text: str, start: int) -> bool:
    before = text[text.rfind("\n\n", 0, start) + 1 : start]
    is_open = any(before.count(left) > before.count(right) for left, right in zip(_OPENING, _CLOSING, strict=True))
    return is_open or before.count('"') % 2 == 1


# "the cost" proves nothing: a span has at least so many letters, of which a Chinese one counts for three.
_MIN_LETTERS, _CJK_WEIGHT = 9, 3


def find_span(span: str, text: str) -> tuple[int, int] | None:
    """Return where a text holds the words of a span in a row, or None.

    White space, signs, capitals and the script of Chinese are the judge's own spelling; a word more, less or other is
    a paraphrase and not found.
    """
    words, wanted = _words(text), [_spelled(token) for token in _words(span)]
    if sum(_CJK_WEIGHT if CJK_CHARACTER.match(letter) else 1 for letter in "".join(wanted)) < _MIN_LETTERS:
        return None
    spelled = [_spelled(token) for token in words]
    for at in range(len(words) - len(wanted) + 1):
        if spelled[at : at + len(wanted)] == wanted:
            return words[at].start, words[at + len(wanted) - 1].end
    return None


def _words(text: str) -> list[QuoteToken]:
    return [token for token in tokens_of(text) if token.text[0].isalnum()]


def _spelled(token: QuoteToken) -> str:
    return to_simplified(token.text).casefold()
