"""The clauses of a sentence, and one among them that was added: nothing of it stands where the others come from."""

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache

from deep_research.text.analyzer import content_terms
from deep_research.text.folding import to_simplified
from deep_research.verify.particulars import figures_of, split_figures, without_extra_space

# What begins a clause stays in it: "after" has an opposite.
_SUBORDINATE = (
    "after|although|because|before|but|despite|leaving|making|since|so|though|unless|until|when|where|whereas|which"
    "|while|who|whose"
)
# "And" joins things too: it begins a clause where a verb, or what goes before a noun, follows it.
_CLAUSE = re.compile(
    rf"[;:，；：()（）—–]|,(?!\d)|(?=(?<!-)\b(?:{_SUBORDINATE})\b)"
    r"|(?=\band\s(?:an?|the|its?|their|his|her|they|he|she|no|all|most|many|half|nearly|almost|is|are|was|were|has|have|\w+ed|\w+[^su\W]s)\b)"
    r"|(?=但是?|然而|却|因为|由于|并且?|而且|以致|导致|同时)",
    re.IGNORECASE,
)
# A clause ends where the next begins, or with its sentence.
CLAUSE_END = re.compile(rf"{_CLAUSE.pattern}|[.!?](?=\s|$)|[。！？]", re.IGNORECASE)
# What leads on to a statement is the writer's own.
_LEAD = re.compile(r"[^:：]{1,40}(?:：|:(?!\d))")
_CONCLUSION = re.compile(r"so\b|因此|所以", re.IGNORECASE)
# What begins a sentence and is not its subject.
_OPENING = re.compile(
    rf"\s*(?:(?:{_SUBORDINATE}|in|on|at|by|for|with|without|under|amid|due|thanks|unlike|\w+ing|\w+ed)\b"
    "|[为因由在随迫据经按受鉴应自凭虽尽对])",
    re.IGNORECASE,
)
# In a clause, a purpose, a means or a circumstance may be added as well.
_PHRASE = re.compile(r"(?=\b(?:by|with|for|in order|under|amid|through|against|without)\b)", re.IGNORECASE)
# So many words of its own make a clause say something, in Chinese characters; at most so much of it may stand in one
# sentence of a source by chance, and so much of what is beside it is what the source says.
_MIN_WORDS, _MIN_CHARACTERS, _CHANCE, _CHANCE_OF_CHARACTERS, _CONTAINED = 2, 4, 0.28, 0.4, 0.65
_JOINING = frozenset("因此为由于并且而但却其所之以及与和在这该也有")


def clauses_of(text: str) -> list[str]:
    """Return the clauses of a sentence in order."""
    return [clause for clause in _CLAUSE.split(text) if clause and clause.strip()]


@lru_cache(maxsize=2_048)
def terms_of(text: str) -> frozenset[str]:
    """Return what a text is about, in either script of Chinese, without its quantities."""
    for worded in split_figures(text)[1]:
        text = text.replace(worded.raw, " ")
    return frozenset(term for term in content_terms(to_simplified(text)) if not any(map(str.isdigit, term)))


def added_clause(text: str, near: frozenset[str], sentences: Sequence[frozenset[str]], min_words: int) -> str:
    """Return a clause or phrase that no sentence holds more of than chance, beside others that stand `near`, or ""."""
    clauses = clauses_of(_LEAD.sub("", text, count=1))
    parts = {*clauses, *(phrase for clause in clauses for phrase in _PHRASE.split(clause)[1:])}
    said = letters_of(near)
    for part in sorted(parts, key=len, reverse=True):
        rest = terms_of(text.replace(part, " ", 1))
        terms, others = terms_of(_without_figures(part)) - rest, letters_of(rest)
        own = letters_of(terms) - others
        least = max(_MIN_WORDS, min_words) if all(map(str.isascii, own)) else _MIN_CHARACTERS
        is_subject = text.lstrip().startswith(part) and not _OPENING.match(to_simplified(part))
        if is_subject or _CONCLUSION.match(part) or not least <= len(own) <= len(others):
            continue
        # Single characters of Chinese meet more often by chance than pairs do.
        shares = (len(own & letters_of(each)) / len(own) for each in sentences)
        chances = (_CHANCE if terms & each or part.isascii() else _CHANCE_OF_CHARACTERS for each in sentences)
        is_beside = len(others & said) >= _CONTAINED * len(others)
        if is_beside and all(share <= chance for share, chance in zip(shares, chances, strict=True)):
            return part.strip(" .。")
    return ""


def _without_figures(text: str) -> str:
    plain = without_extra_space(text)
    for figure in reversed(figures_of(text)):
        plain = f"{plain[: figure.start]} {plain[figure.end :]}"
    return plain


def letters_of(terms: Iterable[str]) -> frozenset[str]:
    """Return words as they are and pairs of Chinese characters as single ones, without those that only join."""
    return frozenset(letter for term in terms for letter in ((term,) if term.isascii() else term)) - _JOINING
