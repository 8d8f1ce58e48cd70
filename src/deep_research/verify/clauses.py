"""The clauses of a sentence, and one among them that was added: nothing of it stands where the others come from."""

import re
from collections.abc import Sequence
from itertools import groupby

from deep_research.text.analyzer import content_terms
from deep_research.text.folding import to_simplified
from deep_research.verify.particulars import split_figures

# What begins a clause stays in it: "after" has an opposite.
_SUBORDINATE = (
    "after|although|as|because|before|but|despite|leaving|making|since|so|though|unless|until|when|where|whereas|which"
    "|while|who|whose"
)
# "And" joins things too: it begins a clause where a verb, or what goes before a noun, follows it.
_CLAUSE = re.compile(
    rf"[;:，；：()（）—–]|,(?!\d)|(?=\b(?:{_SUBORDINATE})\b)"
    r"|(?=\band\s(?:an?|the|its?|their|his|her|they|he|she|no|all|most|many|half|nearly|almost|\w+ed|\w+[^su\W]s)\b)"
    r"|(?=但是?|然而|却|因为|由于|并且?|而且|以致|导致|同时)",
    re.IGNORECASE,
)
# What leads on to a statement is the writer's own.
_LEAD = re.compile(r"[^:：]{1,40}(?:：|:(?!\d))")
_OPENING = re.compile(rf"\s*(?:(?:{_SUBORDINATE})\b|因为|由于|在)", re.IGNORECASE)
# So many words of its own make a clause say something, or words in a row a stretch of it, of which in Chinese each is a
# pair of characters; and so much of the others is what the source says.
_MIN_TERMS, _MIN_RUN, _MIN_CJK_RUN, _HELD, _HELD_BESIDE, _BESIDE = 2, 3, 4, 0.6, 0.8, 2
_FIGURES = re.compile(r"[\d.,]*\d|[，、；]")


def clauses_of(text: str) -> list[str]:
    """Return the clauses of a sentence in order."""
    return [clause for clause in _CLAUSE.split(text) if clause and clause.strip()]


def terms_of(text: str) -> frozenset[str]:
    """Return what a text is about, in either script of Chinese, without its quantities."""
    return frozenset(_terms(text))


def _terms(text: str) -> list[str]:
    for worded in split_figures(text)[1]:
        text = text.replace(worded.raw, " ")
    return [term for term in content_terms(to_simplified(text)) if not any(map(str.isdigit, term))]


def added_clause(text: str, near: Sequence[frozenset[str]], held: frozenset[str]) -> str:
    """Return a clause of which no word is `held`, beside others that something `near` says, or ""."""
    clauses = clauses_of(_LEAD.sub("", text, count=1))
    terms = [terms_of(clause) for clause in clauses]
    for at, clause in enumerate(clauses):
        others = frozenset[str]().union(*(each for place, each in enumerate(terms) if place != at))
        own = terms[at] - others
        is_subject = at == 0 and not _OPENING.match(to_simplified(clause))
        if is_subject or len(own) < _MIN_TERMS or own & held or not others:
            continue
        if any(len(others & each) >= _HELD * len(others) for each in near):
            return clause.strip(" .。")
    return ""


def added_words(text: str, near: frozenset[str], held: frozenset[str]) -> str:
    """Return words in a row of which none is `held`, in a sentence that otherwise stands `near`, or ""."""
    every = terms_of(text)
    for part in _FIGURES.split(text):
        for is_known, run in groupby(_terms(part), key=held.__contains__):
            words = [] if is_known else list(run)
            others = every.difference(words)
            is_long = len(words) >= (_MIN_RUN if all(map(str.isascii, words)) else _MIN_CJK_RUN)
            if is_long and len(others & near) >= max(_HELD_BESIDE * len(others), _BESIDE * len(words)):
                return " ".join(words)
    return ""
