"""The one question that is put to the asker for each kind of doubt, with options that can be taken as they are."""

from typing import Literal, NamedTuple

from deep_research.messages.words import Words
from deep_research.reasoning.rules.topic_focus import ASPECT_OPTIONS, focus_names
from deep_research.reasoning.rules.topic_rules import NO_RULES, worded
from deep_research.reasoning.values import ClarificationQuestion
from deep_research.request import IntakeRules

DoubtKind = Literal["nothing", "topic", "reference", "aspect", "meaning", "limits", "verify", "term", "vague"]
_MEANING_SEPARATOR = " / "


class Doubt(NamedTuple):
    """What is missing before research can start, the word it hangs on, and the names it may stand for."""

    kind: DoubtKind
    word: str = ""
    noun: str = ""
    choices: tuple[str, ...] = ()


def ask(doubt: Doubt, say: Words, rules: IntakeRules = NO_RULES) -> ClarificationQuestion:
    """Return the question for a doubt, in the user's own words where the rules give them."""
    ours = _ask(doubt, say)
    question = worded(rules.questions, doubt.kind, say.language)
    options = None if doubt.choices else worded(rules.options, doubt.kind, say.language)
    own = {
        "question": question and question.replace("{topic}", doubt.word),
        "options": options and tuple(option.replace("{topic}", doubt.word) for option in options),
    }
    return ours.model_copy(update={key: wording for key, wording in own.items() if wording})


def _ask(doubt: Doubt, say: Words) -> ClarificationQuestion:
    match doubt.kind:
        case "reference":
            return _ask_reference(doubt, say)
        case "aspect":
            question, options = say("clarify.ask_aspect", topic=doubt.word), focus_names(ASPECT_OPTIONS, say)
            missing = "focus"
        case "meaning":
            question = say("clarify.ask_meaning", term=doubt.word)
            options = tuple(say(f"clarify.meanings_{doubt.word.lower()}").split(_MEANING_SEPARATOR))
            missing = "meaning"
        case "limits":
            question, missing = say("clarify.ask_limits"), "limits"
            options = tuple(say(f"clarify.option_limits_{key}") for key in ("none", "beginner", "cost", "time"))
        case "term" | "verify":
            question, options = say("clarify.ask_term", term=doubt.word), term_options(doubt.word, say)
            missing = "term"
        case "vague":
            question, missing = say("clarify.ask_vague", word=doubt.word), "goal"
            keys = ("overview", "causes", "comparison", "figures")
            options = tuple(say(f"clarify.option_goal_{key}") for key in keys)
        case _:
            question, options, missing = say("clarify.ask_topic"), document_options(say), "topic"
    return ClarificationQuestion(question=question, options=options, missing_info=say(f"clarify.missing_{missing}"))


def document_options(say: Words) -> tuple[str, ...]:
    """Return what can be researched without a subject: the asker's own documents."""
    return tuple(say(f"clarify.option_documents_{key}") for key in ("points", "news", "disagree"))


def reference_options(noun: str, say: Words) -> tuple[str, ...]:
    """Return what a pointer with a noun may mean where no context names it."""
    return say("clarify.option_in_documents", noun=noun), say("clarify.option_general", noun=noun)


def term_options(term: str, say: Words) -> tuple[str, ...]:
    """Return what can be done with a term that no source knows: keep it, or leave it out."""
    return say("clarify.option_term_as_written", term=term), say("clarify.option_term_left_out", term=term)


def reason_for(doubt: Doubt | None, say: Words, *, has_goal: bool, is_left_open: bool) -> str:
    """Return one plain sentence on why the question was judged as it was."""
    if doubt is None:
        return say("clarify.reason_asked") if has_goal else say("clarify.reason_inferred")
    if doubt.kind == "nothing":
        return say("clarify.reason_nothing")
    if doubt.kind == "verify":
        return say("clarify.reason_verify", term=doubt.word)
    if is_left_open:
        return say("clarify.reason_no_answer")
    match doubt.kind:
        case "reference":
            return say("clarify.reason_reference", phrase=doubt.word)
        case "aspect":
            return say("clarify.reason_broad", topic=doubt.word)
        case "meaning":
            return say("clarify.reason_meaning", term=doubt.word)
        case "limits":
            return say("clarify.reason_own_task")
        case "term":
            return say("clarify.reason_unknown", term=doubt.word)
        case "vague":
            return say("clarify.reason_strict")
        case _:
            return say("clarify.reason_no_topic")


def _ask_reference(doubt: Doubt, say: Words) -> ClarificationQuestion:
    missing = say("clarify.missing_reference")
    if doubt.choices:
        question = say("clarify.ask_candidates", phrase=doubt.word)
        return ClarificationQuestion(question=question, options=doubt.choices, missing_info=missing)
    options = reference_options(doubt.noun, say) if doubt.noun else document_options(say)
    question = say("clarify.ask_reference", phrase=doubt.word)
    return ClarificationQuestion(question=question, options=options, missing_info=missing)
