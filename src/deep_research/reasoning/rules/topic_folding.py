"""From a question and the answers given to ours, one question again: "癌症" and "机制" become "癌症：机制"."""

from typing import NamedTuple

from deep_research.messages.words import Words
from deep_research.reasoning.rules.topic_material import is_document_option, is_own_option
from deep_research.reasoning.rules.topic_questions import Doubt, ask, reference_options, term_options
from deep_research.reasoning.rules.topic_reference import Pointer, find_pointer
from deep_research.reasoning.rules.topic_rules import NO_RULES
from deep_research.reasoning.rules.topic_signals import READ_CHARS, rare_terms, read_topic, subject_of
from deep_research.reasoning.rules.topic_words import NO_PREFERENCE, NO_PREFERENCE_END, START_NOW, WORD
from deep_research.reasoning.values import Exchange
from deep_research.request import IntakeRules
from deep_research.text.folding import to_simplified

_ARTICLES = frozenset("a an the at in on for".split())
_EDGE = " \t.。!！?？\"'“”"


class Folded(NamedTuple):
    """The question with its answers in it, and what they settled."""

    text: str
    settled_terms: tuple[str, ...] = ()
    is_answered: bool = False
    is_reference_settled: bool = False
    is_named: bool = False
    assumptions: tuple[str, ...] = ()


def is_no_preference(answer: str) -> bool:
    """Say whether an answer leaves the choice to us, or only wants the research to begin."""
    plain = to_simplified(answer).strip(_EDGE).lower()
    return plain in NO_PREFERENCE or plain in START_NOW or bool(NO_PREFERENCE_END.search(plain))


def fold_answers(question: str, exchanges: tuple[Exchange, ...], say: Words, rules: IntakeRules = NO_RULES) -> Folded:
    """Fold the answers into the question, one after the other."""
    folded = Folded(question)
    for exchange in exchanges:
        answer = exchange.answer.strip()
        if not is_no_preference(answer):
            folded = _fold(folded, exchange.question, answer, say, rules)._replace(is_answered=True)
    return folded


def _fold(folded: Folded, asked: str, answer: str, say: Words, rules: IntakeRules) -> Folded:
    for term in rare_terms(folded.text):
        if asked == ask(Doubt("term", term), say, rules).question:
            return _fold_term(folded, term, answer, say)
    if is_document_option(answer):
        return folded._replace(text=answer, is_reference_settled=True)
    pointer = find_pointer(folded.text, rules)
    if is_own_option(answer) and not _asks_subject(asked, pointer, say, rules):
        return folded._replace(text=_beside(folded.text, answer, say))
    if pointer and not folded.is_reference_settled:
        return _fold_reference(folded, pointer, answer, say, rules)
    if not read_topic(folded.text).has_subject:
        return folded._replace(text=_said(answer))
    return folded._replace(text=_beside(folded.text, _said(answer), say))


def _beside(text: str, side: str, say: Words) -> str:
    return text.rstrip("?？ ") + say("report.colon") + side


def _asks_subject(asked: str, pointer: Pointer | None, say: Words, rules: IntakeRules) -> bool:
    """Say whether we asked for the subject itself: then "History" names it, and is no side to look at."""
    doubts = [Doubt("topic")]
    if pointer:
        doubts += [Doubt("reference", pointer.phrase, pointer.noun, choices) for choices in ((), ("",))]
    return any(asked == ask(doubt, say, rules).question for doubt in doubts)


def _fold_term(folded: Folded, term: str, answer: str, say: Words) -> Folded:
    as_written, left_out = term_options(term, say)
    settled = (*folded.settled_terms, term)
    if answer == as_written:
        note = (*folded.assumptions, say("clarify.assume_term", term=term))
        return folded._replace(settled_terms=settled, assumptions=note)
    meaning = "" if answer == left_out else _said(answer)
    text = " ".join(folded.text.replace(term, meaning).split())
    return folded._replace(text=text, settled_terms=settled)


def _fold_reference(folded: Folded, pointer: Pointer, answer: str, say: Words, rules: IntakeRules) -> Folded:
    in_documents, general = reference_options(pointer.noun, say)
    meaning = {in_documents: answer, general: pointer.noun}.get(answer) or _said(answer)
    text = pointer.replaced_in(folded.text, meaning)
    is_settled = find_pointer(meaning, rules) is None
    return folded._replace(text=text, is_reference_settled=is_settled, is_named=is_settled and answer != general)


def _said(answer: str) -> str:
    """Return what an answer names: "我想了解肺癌" says 肺癌, while "a heat pump" is kept as it is."""
    opening = WORD.match(answer)
    if len(answer) > READ_CHARS or (opening and opening.group().lower() in _ARTICLES):
        return answer
    return subject_of(answer) or answer
