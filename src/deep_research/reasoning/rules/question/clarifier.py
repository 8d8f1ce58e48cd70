"""The intake gate without a model: is a question good enough to research, what to ask if not, and what answers change.

A question and the answers given to ours become one question again: "癌症" and "机制" become "癌症：机制".
"""

import re
import unicodedata
from collections.abc import Collection
from typing import Literal, NamedTuple

from deep_research.errors import InputError
from deep_research.reasoning.rules.lexicon.question_words import (
    ABBREVIATIONS,
    AMBIGUOUS_ABBREVIATIONS,
    NO_PREFERENCE,
    START_NOW,
    VAGUE_WORDS,
    WORD,
)
from deep_research.reasoning.rules.question.analysis import analyze_question
from deep_research.reasoning.rules.question.intake_rules import NO_RULES, find_vague_word, spelled_out, worded
from deep_research.reasoning.rules.question.material import is_document_option, is_own_option, own_options, plain_answer
from deep_research.reasoning.rules.question.pointers import Pointer, candidates, find_pointer, names_with
from deep_research.reasoning.rules.question.sections import aspect_title
from deep_research.reasoning.rules.question.signals import (
    MIN_TOPIC_CHARS,
    READ_CHARS,
    TopicReading,
    filled_up,
    focus_names,
    is_complex,
    is_errand,
    is_no_question,
    rare_terms,
    read_topic,
    subject_of,
    without_politeness,
)
from deep_research.reasoning.values import Assessment, ClarificationQuestion, Inquiry, NextAction, Strings, TaskBrief
from deep_research.request import ClarifyMode, IntakeRules
from deep_research.text.analyzer import content_terms
from deep_research.text.messages.language import report_language
from deep_research.text.messages.words import Words, placeholders, words_in

DoubtKind = Literal["nothing", "errand", "topic", "reference", "aspect", "meaning", "limits", "verify", "term", "vague"]


class Doubt(NamedTuple):
    """What is missing before research can start, the word it hangs on, and what may be meant by it.

    Beside names from the conversation `choices` are what the user's documents, where there are any, hold on the word.
    """

    kind: DoubtKind
    word: str = ""
    noun: str = ""
    choices: Strings = ()
    has_documents: bool = False


class FoldedQuestion(NamedTuple):
    """The question with its answers in it, and what they settled."""

    text: str
    settled_terms: Strings = ()
    is_answered: bool = False
    is_reference_settled: bool = False
    is_named: bool = False
    assumptions: Strings = ()


MAX_QUESTION_CHARS = 20_000
# From this confidence on research may start, with three focuses; where there are two, a third is inferred.
START_CONFIDENCE = 0.7
START_FOCUSES = 3
MIN_FOCUSES = 2
# Without a goal or a name, more words than this make a subject specific: 癌症治疗 (1.3) is broad, 钙钛矿太阳能电池
# (2.7) is not.
_BROAD_WORDS = 2.0
# What a user names in an answer is meant: only a single word stays broad.
_BROAD_ANSWER_WORDS = 1.0
# A follow-up with more words than this is complete in itself.
_ELLIPTIC_WORDS = 3.0
# With what a follow-up leads over: "那成本呢", but not "那个项目".
_CONNECTIVE = re.compile(r"(?i)^(?:and|but|so)\b[\s,]*|^那[么麼]?(?![个個些里裡儿兒边邊样樣时時年天次])[，,]?")
# In a longer question, what is known of the rest carries a term that is not.
_UNKNOWN_TERM_WORDS = 20
_TOPIC_CHARS_SHOWN = 60

# For each kind of doubt, how sure it leaves us (below .5 something is missing, up to .7 it depends on the user), and
# the messages for the question, for what is missing, and for why it was asked.
_DOUBTS: dict[DoubtKind, tuple[float, str, str, str]] = {
    "nothing": (0.0, "ask_topic", "missing_topic", "reason_nothing"),
    "errand": (0.0, "ask_topic", "missing_topic", "reason_errand"),
    "topic": (0.2, "ask_topic", "missing_topic", "reason_no_topic"),
    "reference": (0.3, "ask_reference", "missing_reference", "reason_reference"),
    "aspect": (0.4, "ask_aspect", "missing_focus", "reason_broad"),
    "meaning": (0.4, "ask_meaning", "missing_meaning", "reason_meaning"),
    "limits": (0.6, "ask_limits", "missing_limits", "reason_own_task"),
    "verify": (0.6, "ask_term", "missing_term", "reason_verify"),
    "term": (0.4, "ask_term", "missing_term", "reason_unknown"),
    "vague": (0.4, "ask_vague", "missing_goal", "reason_strict"),
}
# What no answer can mend.
_IMPOSSIBLE = ("nothing", "errand")
# What is assumed where nobody answers.
_ASSUMPTIONS = {"term": "assume_term", "limits": "assume_limits", "meaning": "assume_as_written"}
_MAX_TITLES, _MAX_OPTIONS = 3, 4
# The sides that sections are made of.
_ASPECT_OPTIONS = ("results", "background", "cost", "problems")
_INFERRED, _ASKED, _ASKED_OF_NAME = 0.75, 0.85, 0.95
_ARTICLES = frozenset("a an the at in on for".split())


class Clarifier:
    """The gate before research. `strict` asks by length and word lists alone, `auto` judges more, `off` never asks."""

    def __init__(self, mode: ClarifyMode = "auto") -> None:
        self._mode = mode

    def needs_clarification(self, topic: str) -> bool:
        """Return whether the user should be asked before research starts."""
        return self._assess(topic).next_action in ("NEED_CLARIFICATION", "CANNOT_DO")

    def generate_questions(self, topic: str) -> list[ClarificationQuestion]:
        """Return the questions to put, one after the other; none where research can start."""
        if self._mode == "strict":
            return [ask(doubt, words_in(report_language(topic))) for doubt in _strict_doubts(clean_question(topic))]
        assessment = self._assess(topic)
        if assessment.next_action == "CANNOT_DO":
            return [ask(Doubt("topic"), words_in(report_language(topic)))]
        return [assessment.clarification] if assessment.clarification else []

    def _assess(self, topic: str) -> Assessment:
        return assess(Inquiry(question=topic, clarify=self._mode, language=report_language(topic)))


class _Judged(NamedTuple):
    """A question after answers and context were folded in, and what is still in doubt about it."""

    text: str
    doubt: Doubt | None
    assumptions: Strings
    has_goal: bool


def assess(inquiry: Inquiry, *, infers_focus: bool = True) -> Assessment:
    """Judge from signals alone whether a question can be researched as it stands.

    Where the next action is to ask, `task` and `assumptions` say what research starts from if nobody answers.
    `infers_focus` is False for a reasoner that takes its sections from the documents instead of inferred focuses.
    """
    words = words_in(inquiry.language)
    judged = _judge(inquiry, words)
    reading = read_topic(judged.text)
    doubt, kind = judged.doubt, judged.doubt and judged.doubt.kind
    inferred = filled_up(reading.stated, len(inquiry.focus))
    stated = focus_names(inferred, words) if infers_focus else ()
    focuses = (*inquiry.focus, *focus_names((*reading.stated, *inferred), words))
    topic = _shortened(reading.subject or judged.text)
    goal = judged.text if judged.has_goal else words("clarify.goal_overview", topic=topic)
    certain = _INFERRED if not judged.has_goal else _ASKED_OF_NAME if reading.is_named else _ASKED
    confidence = _DOUBTS[doubt.kind][0] if doubt else certain
    unknown = (doubt.choices or (doubt.word,)) if doubt and kind in ("verify", "term") else ()
    action = decide(
        confidence=confidence,
        goal=goal,
        focuses=len(focuses),
        unknown_terms=unknown,
        looked_up=inquiry.unknown_terms,
        is_complex=is_complex(judged.text),
        is_possible=kind not in _IMPOSSIBLE,
    )
    action = _allowed(action, inquiry)
    asks = action == "NEED_CLARIFICATION"
    return Assessment(
        next_action=action,
        confidence=confidence,
        topic_clear=kind in (None, "aspect", "limits"),
        scope_inferable=kind in (None, "verify", "term"),
        goal_clear=judged.has_goal,
        unknown_terms=unknown,
        task=TaskBrief() if action == "CANNOT_DO" else TaskBrief(goal=goal, research_focus=focuses),
        clarification=ask(doubt, words, inquiry.rules) if asks and doubt else None,
        reasoning=_reason(judged, words, asks=asks),
        refined_query=judged.text,
        assumptions=(*judged.assumptions, *_assumed(judged, topic, stated, words)),
    )


def decide(
    *,
    confidence: float,
    goal: str,
    focuses: int,
    unknown_terms: Collection[str] = (),
    looked_up: Collection[str] = (),
    is_complex: bool = False,
    is_possible: bool = True,
) -> NextAction:
    """Return the next action by its thresholds; `looked_up` are the unknown terms that no search found."""
    if not is_possible:
        return "CANNOT_DO"
    if any(term not in looked_up for term in unknown_terms):
        return "VERIFY_TOPIC"
    if unknown_terms or confidence < START_CONFIDENCE or not goal.strip() or focuses < MIN_FOCUSES:
        return "NEED_CLARIFICATION"
    return "CONFIRM_PLAN" if is_complex else "START_RESEARCH"


def clean_question(text: str) -> str:
    """Return a text as one line of visible characters, composed (NFC)."""
    spaced = "".join(" " if letter.isspace() else letter for letter in text)
    visible = (letter for letter in spaced if unicodedata.category(letter) not in ("Cc", "Cf", "Cs"))
    return unicodedata.normalize("NFC", " ".join("".join(visible).split()))


def usable_question(text: str) -> str:
    """Return the cleaned question, or refuse an empty or oversize one."""
    question = clean_question(text)
    if not question:
        raise InputError("The question is empty: write in words what you want to know.")
    if len(question) > MAX_QUESTION_CHARS:
        raise InputError(
            f"The question has {len(question):,} characters, at most {MAX_QUESTION_CHARS:,} are allowed: "
            "put long material into a file, name its folder with --docs, and ask about it."
        )
    return question


def _judge(inquiry: Inquiry, words: Words) -> _Judged:
    question, rules = clean_question(inquiry.question), inquiry.rules
    folded = _fold_answers(question, inquiry, words)
    spelled = spelled_out(without_politeness(folded.text), rules, words)
    text, assumptions = spelled.text, folded.assumptions + spelled.assumptions
    if is_no_question(question) and not folded.is_answered:
        return _Judged(text, Doubt("nothing"), assumptions, has_goal=False)
    if is_errand(question):
        return _Judged(text, Doubt("errand"), assumptions, has_goal=False)
    if inquiry.clarify == "strict":
        doubts = _strict_doubts(question, rules)[len(inquiry.exchanges) :]
        return _Judged(text, next(iter(doubts), None), assumptions, read_topic(text).has_goal)
    choices: Strings = ()
    subject = inquiry.subject
    follows = bool(subject) and _is_elliptic(text)
    text = _CONNECTIVE.sub("", text) if follows else text
    pointer = None if folded.is_reference_settled else find_pointer(text, rules, follows=follows)
    if follows and not pointer:
        text = f"{subject}{words('report.colon')}{text}"
        assumptions += (words("clarify.assume_earlier", name=subject),)
    if pointer:
        choices = (subject,) if subject else candidates(pointer, clean_question(inquiry.context[-READ_CHARS:]))
        if len(choices) == 1:
            text = pointer.replaced_in(text, choices[0])
            assumptions += (words("clarify.assume_reference", phrase=pointer.phrase, name=choices[0]),)
            pointer = None
    whole = read_topic(" ".join((text, *inquiry.focus)))
    # What documents name is not what was talked about: it is offered, not assumed.
    if pointer and pointer.noun and not choices:
        choices = names_with(pointer.noun, "\n".join(one.text for one in inquiry.held))
    doubt = Doubt("reference", pointer.phrase, pointer.noun, choices) if pointer else None
    doubt = doubt or _doubt(whole, inquiry, folded, is_known=spelled.is_known)
    if doubt and inquiry.held:
        titles = (
            doubt.choices if doubt.kind not in ("topic", "aspect", "meaning") else _held_titles(doubt.word, inquiry)
        )
        doubt = doubt._replace(choices=titles, has_documents=True)
    return _Judged(text, doubt, assumptions, whole.has_goal or bool(inquiry.focus))


def _is_elliptic(question: str) -> bool:
    """Say whether a follow-up names no subject of its own."""
    reading = read_topic(question)
    return not reading.is_named and reading.words <= _ELLIPTIC_WORDS


def _held_titles(word: str, inquiry: Inquiry) -> Strings:
    """Return the titles of the user's documents that hold a word, the best first."""
    terms = set(content_terms(word))
    held = (one.title for one in inquiry.held if terms <= set(content_terms(f"{one.title} {one.text}")))
    return tuple(held)[:_MAX_TITLES]


def _doubt(reading: TopicReading, inquiry: Inquiry, folded: FoldedQuestion, *, is_known: bool) -> Doubt | None:
    """Return what is missing, the most important first; `is_known` says that the rules know a term of the question."""
    if not reading.has_subject and not is_known:
        return Doubt("topic")
    known = {term.casefold() for term in (*inquiry.known_terms, *folded.settled_terms, *inquiry.rules.terms)}
    strange = [term for term in reading.rare_terms if term.casefold() not in known]
    if strange and reading.words <= _UNKNOWN_TERM_WORDS:
        unseen = [term for term in strange if term not in inquiry.unknown_terms]
        return Doubt("verify", unseen[0], choices=tuple(unseen)) if unseen else Doubt("term", strange[0])
    if reading.is_own_task and not (folded.is_answered or inquiry.held):
        return Doubt("limits")
    is_open = reading.abbreviation and not (is_known or folded.is_answered)
    if is_open and not (reading.stated and reading.words > 1):
        return _abbreviation_doubt(reading.abbreviation)
    is_specific = reading.is_named or reading.is_narrowed or folded.is_named or is_known
    is_long = reading.words > (_BROAD_ANSWER_WORDS if folded.is_answered else _BROAD_WORDS)
    if reading.has_goal or is_specific or is_long or len(inquiry.focus) >= MIN_FOCUSES:
        return None
    return Doubt("aspect", _shortened(reading.subject))


def _strict_doubts(topic: str, rules: IntakeRules = NO_RULES) -> list[Doubt]:
    """Return what strict mode asks: about a short topic, a vague word, and an abbreviation that nobody knows."""
    if not topic:
        return [Doubt("topic")]
    found = [word.lower() for word in re.findall(r"[A-Za-z]+", topic)]
    doubts = [Doubt("aspect", _shortened(topic))] if len(topic) < MIN_TOPIC_CHARS else []
    own = find_vague_word(rules, topic)
    if vague := next((word for word in found if word in VAGUE_WORDS), topic[slice(*own)] if own else ""):
        doubts.append(Doubt("vague", vague))
    known = {term.lower() for term in rules.terms}
    abbreviations = [word for word in found if word in ABBREVIATIONS and word not in known]
    return [*doubts, *map(_abbreviation_doubt, abbreviations[:1])]


def _abbreviation_doubt(abbreviation: str) -> Doubt:
    return Doubt("meaning" if abbreviation in AMBIGUOUS_ABBREVIATIONS else "aspect", abbreviation.upper())


def _allowed(action: NextAction, inquiry: Inquiry) -> NextAction:
    """Bring an action in line with the mode, and with a refusal to answer."""
    if inquiry.clarify == "off" and action in ("NEED_CLARIFICATION", "VERIFY_TOPIC"):
        return "START_RESEARCH"
    if action == "NEED_CLARIFICATION" and inquiry.clarify == "auto" and inquiry.exchanges:
        return "START_RESEARCH" if is_no_preference(inquiry.exchanges[-1].answer) else action
    return action


def _assumed(judged: _Judged, topic: str, inferred: Strings, words: Words) -> Strings:
    """Return what was inferred, so that the user may correct it."""
    doubt = judged.doubt
    if doubt and doubt.kind in _IMPOSSIBLE:
        return ()
    lines = []
    if doubt and doubt.kind in ("topic", "reference"):
        lines.append(words("clarify.assume_subject", topic=_shortened(doubt.word or judged.text)))
    elif doubt and doubt.kind in _ASSUMPTIONS:
        lines.append(_message(_ASSUMPTIONS[doubt.kind], doubt, words))
    elif not judged.has_goal and analyze_question(judged.text).kind == "open":
        lines.append(words("clarify.assume_goal", topic=topic))
    if inferred:
        lines.append(words("clarify.assume_focus", focus=words.listed(inferred)))
    return tuple(lines)


def _shortened(text: str) -> str:
    return text if len(text) <= _TOPIC_CHARS_SHOWN else text[:_TOPIC_CHARS_SHOWN].rstrip() + "…"


def ask(doubt: Doubt, words: Words, rules: IntakeRules = NO_RULES) -> ClarificationQuestion:
    """Return the question for a doubt, in the user's own words where the rules give them."""
    _, key, missing, _ = _DOUBTS[doubt.kind]
    is_named = doubt.kind == "reference" and doubt.choices
    key = "ask_candidates" if is_named else key
    question = worded(rules.questions, doubt.kind, words.language)
    options = None if is_named else worded(rules.options, doubt.kind, words.language)
    question = question.replace("{topic}", doubt.word) if question else _message(key, doubt, words)
    options = tuple(one.replace("{topic}", doubt.word) for one in options) if options else _options(doubt, words)
    return ClarificationQuestion(question=question, options=options, missing_info=words(f"clarify.{missing}"))


def _message(key: str, doubt: Doubt, words: Words) -> str:
    """Return a message about a doubt; what it leaves open is always the word in doubt."""
    key = f"clarify.{key}"
    return words(key, **dict.fromkeys(placeholders(words.templates[key]), doubt.word))


def _options(doubt: Doubt, words: Words) -> Strings:
    match doubt.kind:
        case "reference" if doubt.choices:
            return doubt.choices
        case "reference" if doubt.noun:
            return _reference_options(doubt.noun, words)[0 if doubt.has_documents else 1 :]
        case "aspect" if doubt.choices:
            return (words("clarify.goal_overview", topic=doubt.word), *doubt.choices)
        case "aspect":
            return tuple(aspect_title(key, words.language) for key in _ASPECT_OPTIONS)
        case "meaning":
            return (*words(f"clarify.meanings_{doubt.word.lower()}").split(" / "), *doubt.choices)[:_MAX_OPTIONS]
        case "term" | "verify":
            return _term_options(doubt.word, words)
        case "limits":
            return own_options("limits", words)
        case "vague":
            return own_options("goal", words)
    own = own_options("documents", words) if doubt.has_documents else ()
    return (*own[:1], *doubt.choices, *own[1:])[:_MAX_OPTIONS]


def _reference_options(noun: str, words: Words) -> Strings:
    """Return what a pointer with a noun may mean where no context names it."""
    return words("clarify.option_in_documents", noun=noun), words("clarify.option_general", noun=noun)


def _term_options(term: str, words: Words) -> Strings:
    """Return what can be done with a term that no source knows: keep it, or leave it out."""
    return words("clarify.option_term_as_written", term=term), words("clarify.option_term_left_out", term=term)


def _reason(judged: _Judged, words: Words, *, asks: bool) -> str:
    if not judged.doubt:
        return words("clarify.reason_asked" if judged.has_goal else "clarify.reason_inferred")
    if not asks and judged.doubt.kind not in (*_IMPOSSIBLE, "verify"):
        return words("clarify.reason_no_answer")
    return _message(_DOUBTS[judged.doubt.kind][3], judged.doubt, words)


def is_no_preference(answer: str) -> bool:
    """Return whether an answer leaves the choice to us, or only wants the research to begin."""
    return plain_answer(answer) in NO_PREFERENCE | START_NOW


def _fold_answers(question: str, inquiry: Inquiry, words: Words) -> FoldedQuestion:
    folded = FoldedQuestion(question)
    titles = [one.title for one in inquiry.held]
    for exchange in inquiry.exchanges:
        answer = exchange.answer.strip()
        subject = _shortened(read_topic(folded.text).subject)
        if answer in titles:
            text = words("clarify.of_document", title=answer, topic=subject) if subject else answer
            folded = folded._replace(text=text, is_answered=True, is_reference_settled=True, is_named=True)
        elif answer == words("clarify.goal_overview", topic=subject):
            folded = folded._replace(is_answered=True, is_named=True)
        elif not is_no_preference(answer):
            folded = _fold(folded, exchange.question, answer, words, inquiry.rules)._replace(is_answered=True)
    return folded


def _fold(folded: FoldedQuestion, asked: str, answer: str, words: Words, rules: IntakeRules) -> FoldedQuestion:
    for term in rare_terms(folded.text):
        if asked == ask(Doubt("term", term), words, rules).question:
            return _fold_term(folded, term, answer, words)
    if is_document_option(answer):
        return folded._replace(text=answer, is_reference_settled=True)
    pointer = find_pointer(folded.text, rules)
    if is_own_option(answer) and not _asks_subject(asked, pointer, words, rules):
        return folded._replace(text=_beside(folded.text, answer, words))
    if pointer and not folded.is_reference_settled:
        return _fold_reference(folded, pointer, answer, words, rules)
    meant, has_subject = _meant_by(answer), read_topic(folded.text).has_subject
    return folded._replace(text=_beside(folded.text, meant, words) if has_subject else meant)


def _beside(text: str, aspect: str, words: Words) -> str:
    return text.rstrip("?？ ") + words("report.colon") + aspect


def _asks_subject(asked: str, pointer: Pointer | None, words: Words, rules: IntakeRules) -> bool:
    """Return whether we asked for the subject itself: then "History" names it, and is no aspect to look at."""
    doubts = [Doubt("topic")]
    if pointer:
        doubts += [Doubt("reference", pointer.phrase, pointer.noun, choices) for choices in ((), ("",))]
    return any(asked == ask(doubt, words, rules).question for doubt in doubts)


def _fold_term(folded: FoldedQuestion, term: str, answer: str, words: Words) -> FoldedQuestion:
    as_written, left_out = _term_options(term, words)
    settled = (*folded.settled_terms, term)
    if answer == as_written:
        note = (*folded.assumptions, words("clarify.assume_term", term=term))
        return folded._replace(settled_terms=settled, assumptions=note)
    meaning = "" if answer == left_out else _meant_by(answer)
    text = " ".join(folded.text.replace(term, meaning).split())
    return folded._replace(text=text, settled_terms=settled)


def _fold_reference(
    folded: FoldedQuestion, pointer: Pointer, answer: str, words: Words, rules: IntakeRules
) -> FoldedQuestion:
    in_documents, general = _reference_options(pointer.noun, words)
    meaning = {in_documents: answer, general: pointer.noun}.get(answer) or _meant_by(answer)
    text = pointer.replaced_in(folded.text, meaning)
    is_settled = find_pointer(meaning, rules) is None
    return folded._replace(text=text, is_reference_settled=is_settled, is_named=is_settled and answer != general)


def _meant_by(answer: str) -> str:
    """Return what an answer names: "我想了解肺癌" says 肺癌, while "a heat pump" is kept as it is."""
    opening = WORD.match(answer)
    if len(answer) > READ_CHARS or (opening and opening[0].lower() in _ARTICLES):
        return answer
    return subject_of(answer) or answer
