"""Words that point at something said before: finding them in a question, and what they mean in a given context."""

import re
from typing import NamedTuple

from deep_research.reasoning.rules.lexicon.question_words import (
    EXPLETIVE,
    GENERIC_NOUN,
    OWN_DOCUMENTS,
    POINTER_EN,
    POINTER_NO_NOUN,
    POINTER_TIME,
    POINTER_TIME_ZH,
    POINTER_WORD_ZH,
    POINTER_ZH,
    UNNAMED,
    WORD,
)
from deep_research.reasoning.rules.question.intake_rules import find_vague_word
from deep_research.reasoning.rules.question.signals import content_words, named_things, subject_of, without_cues
from deep_research.request import IntakeRules
from deep_research.text.analyzer import CJK
from deep_research.text.folding import to_simplified
from deep_research.text.stop_words import ENGLISH

# In a longer text the words around a pointer say what it means.
_MAX_POINTING_WORDS = 12
_MAX_NOUN_WORDS = 3
# "这个鲤鱼门天后庙" says which one.
_TELLING_NOUN_HAN = 6
_DESCRIBED = re.compile(r"(?i)\s+(?:of|who|whose|which|that|in|from|with|between|for)\b")
# A context this short is what is being talked about.
_MAX_SUBJECT_WORDS = 8
_MAX_CANDIDATES = 4
_TALK = re.compile(r"^(?:我们|刚才|之前|上文|前面|上次|正在|在|我|讨论|说|聊|提到|研究|谈|过|了|的|是|[\s，,：:])+")
_TALK_EN = re.compile(
    r"(?i)^\W*(?:(?:we|i|you) )?(?:(?:just|were|have|had|are|was|been|earlier) )*"
    r"(?:talk(?:ed|ing)? about|discuss(?:ed|ing)?|mention(?:ed)?|spoke about|asked about)\s+"
)
_NAME_SIGN = f"(?![的是在和与对有及或等了被把将也中这那该])[{CJK}]"
_NAME_TAIL = re.compile(rf"\s?(?:{_NAME_SIGN}){{1,6}}")


class Pointer(NamedTuple):
    """A stretch of a question that only says something to who knows what was said before."""

    start: int
    phrase: str
    noun: str

    def replaced_in(self, text: str, meaning: str) -> str:
        return f"{text[: self.start]}{meaning}{text[self.start + len(self.phrase) :]}".strip()


def find_pointer(text: str, rules: IntakeRules, *, follows: bool = False) -> Pointer | None:
    """Return the pointer that stands in for the topic, if there is one; a user's own vague words always do.

    In a question that `follows` another, "it" points back whatever stands before it: "Who built it?"
    """
    if own := find_vague_word(rules, text):
        return Pointer(own[0], text[slice(*own)], noun="")
    simple = to_simplified(text)
    if content_words(simple) > _MAX_POINTING_WORDS:
        return None
    if unnamed := UNNAMED.search(simple):
        noun = slice(*unnamed.span("noun" if unnamed["noun"] else "zh"))
        return Pointer(unnamed.start(), text[slice(*unnamed.span())], text[noun])
    return _pointer_zh(text, simple, follows=follows) or _pointer_en(text, follows=follows)


def candidates(pointer: Pointer, context: str) -> tuple[str, ...]:
    """Return what the context may have meant, latest last; one means that it is clear."""
    runs = _named_runs(context)
    if pointer.noun:
        ends = ((run, to_simplified(run).find(to_simplified(pointer.noun))) for run in runs)
        alike = tuple(run[: at + len(pointer.noun)] for run, at in ends if at > 0)
        runs = alike or tuple(name for name in names_with(pointer.noun, context) if named_things(f"a {name}")) or runs
    if not runs and context.strip():
        talk = _TALK.match(to_simplified(context))
        subject = subject_of(_TALK_EN.sub("", context[talk.end() if talk else 0 :]))
        if 0 < content_words(to_simplified(subject)) <= _MAX_SUBJECT_WORDS:
            runs = (subject,)
    return tuple(dict.fromkeys(runs))[-_MAX_CANDIDATES:]


def names_with(noun: str, text: str) -> tuple[str, ...]:
    """Return the names in a text that end with a noun: "Harbour Lights project", "海湾新城项目"."""
    simple, last = to_simplified(text), re.escape(to_simplified(noun.split()[-1]))
    found = re.finditer(rf"(?:[A-Z][\w-]*\s){{1,4}}{last}\b|(?:{_NAME_SIGN}){{2,8}}?{last}", simple)
    return tuple(dict.fromkeys(text[slice(*match.span())] for match in found))[:_MAX_CANDIDATES]


def _named_runs(context: str) -> tuple[str, ...]:
    """Return the names in a context, neighbouring ones as one, with the Chinese noun that follows."""
    names = map(re.escape, named_things(context))
    runs = {match.span() for name in names for match in re.finditer(name, context)}
    joined: list[tuple[int, int]] = []
    for start, end in sorted(runs):
        if joined and start <= joined[-1][1] + 1 and "\n" not in context[joined[-1][1] : start]:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        else:
            joined.append((start, end))
    found = []
    for start, end in joined:
        tail = _NAME_TAIL.match(to_simplified(context), end) if context[end - 1].isascii() else None
        found.append(context[start : tail.end() if tail else end].strip('《》「」『』“”"‘’ '))
    return tuple(dict.fromkeys(found))


def _pointer_zh(text: str, simple: str, *, follows: bool) -> Pointer | None:
    for match in POINTER_ZH.finditer(simple):
        phrase = text[match.start() : match.end()].rstrip()
        if POINTER_TIME_ZH.match(match[0]) or OWN_DOCUMENTS.search(match[0]) or named_things(phrase):
            continue
        word = POINTER_WORD_ZH.match(match[0])
        noun = phrase[word.end() :].strip() if word else ""
        if len(noun) >= _TELLING_NOUN_HAN or (not follows and _has_antecedent(simple[: match.start()])):
            continue
        return Pointer(match.start(), phrase, "" if GENERIC_NOUN.match(noun) else noun)
    return None


def _pointer_en(text: str, *, follows: bool) -> Pointer | None:
    expletives = [match.span() for match in EXPLETIVE.finditer(text)]
    for match in POINTER_EN.finditer(text):
        if any(start <= match.start() < end for start, end in expletives):
            continue
        if not follows and _has_antecedent(text[: match.start()]):
            continue
        following = [] if match[0].lower() in POINTER_NO_NOUN else _nouns_after(text, match.end())
        if following and following[0][0].lower().removesuffix("'s") in POINTER_TIME:
            continue
        end = following[-1].end() if following else match.end()
        phrase = text[match.start() : end]
        is_described = bool(following) and bool(_DESCRIBED.match(text, end))
        if is_described or named_things(f"a {phrase}") or OWN_DOCUMENTS.search(phrase):
            continue
        noun = phrase[len(match[0]) :].strip()
        return Pointer(match.start(), phrase, "" if GENERIC_NOUN.match(noun) else noun)
    return None


def _nouns_after(text: str, start: int) -> list[re.Match[str]]:
    nouns: list[re.Match[str]] = []
    for match in WORD.finditer(text, start):
        gap = text[nouns[-1].end() if nouns else start : match.start()]
        if gap.strip() or match[0].lower() in ENGLISH or len(nouns) == _MAX_NOUN_WORDS:
            break
        nouns.append(match)
    return nouns


def _has_antecedent(before: str) -> bool:
    """Return whether something was named before the pointer; the aspect that is asked about does not count."""
    return content_words(without_cues(subject_of(before))) > 0
