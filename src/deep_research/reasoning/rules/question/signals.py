"""What can be seen in a question without a model: its subject, names, gaps and goal. Decides nothing."""

import re
import unicodedata
from functools import cache
from typing import Literal, NamedTuple

from deep_research.reasoning.rules.lexicon import load_table
from deep_research.reasoning.rules.lexicon.question_words import (
    ABBREVIATIONS,
    ASKING_ZH,
    BROAD_FIELDS,
    COMMAND_ZH,
    COMPLEX,
    DIRECTIVES,
    EMPTY_QUESTION,
    ERRAND,
    FUNCTION_ZH,
    HAN_PER_WORD,
    HAN_RUN,
    INTERROGATIVES,
    LEADING_FRAME_ZH,
    MAKING_TASK,
    MATERIAL,
    MATERIAL_WORDS,
    NO_SUBJECT_WORDS,
    OPEN_CHOICE,
    OWN_DOCUMENTS,
    OWN_TASK,
    PLACE_ZH,
    POLITE,
    QUESTION_END,
    QUOTED,
    RARE_TERM,
    REQUEST_WORDS,
    RESEARCH_PRODUCT,
    VAGUE_WORDS,
    WORD,
)
from deep_research.reasoning.values import Strings
from deep_research.text.folding import to_simplified
from deep_research.text.messages.words import Words

ENOUGH_FOCUSES = 3
_MAX_FOCUSES = 5

# In the order in which they are offered; names are in the messages, `clarify.focus_<key>`.
CUES: dict[str, re.Pattern[str]] = {
    key: re.compile(pattern, re.IGNORECASE)
    for key, pattern in {
        "overview": r"是什么|定义|概念|概述|概况|综述|有哪些|种类"
        r"|\b(?:overview|definition|introduction|types? of|kinds? of)\b"
        r"|\bwhat (?:is|are) (?:a |an )?(?=\w+\W*$)",
        "progress": r"最新|进展|现状|近况|动态|近几年|近年"
        r"|\b(?:latest|recent(?:ly)?|progress|current(?:ly)?"
        r"|state of the art|developments?|news|updates?|advances?|so far)\b",
        "mechanism": r"机制|机理|原理|原因|成因|为什么|为何|怎么会"
        r"|\b(?:mechanisms?|causes?|caused|why|reasons?|principles?"
        r"|explain|how (?:do|does|did|is|are|was|were))\b",
        "effect": r"效果|影响|疗效|成效|作用|结果|收益|好处"
        r"|(?<!side )\b(?:effects?|impacts?|results?|outcomes?|benefits?|efficacy"
        r"|effectiveness|achieve[ds]?|affects?|influences?)\b",
        "cost": r"成本|费用|价格|花了?多少|花费|多少钱|造价|投资额"
        r"|\b(?:costs?|prices?|spend|spent|expenses?|budget|afford)\b",
        "figures": r"数据|多少(?!钱)|规模|数量|统计|占比|比例|人数|多大程度|准确率"
        r"|\b(?:how (?:many|much|large|big|long|often|far)"
        r"|figures?|statistics|numbers?|rates?|share|size|evidence|data(?!-))\b",
        "comparison": r"比较(?!想|好|多|大|高|低)|对比|区别|差异|异同|优缺点|优劣|哪[个种家](?:更|最)"
        r"|\b(?:compar(?:e|es|ed|ing|ison)"
        r"|versus|vs|differ(?:s|ences?)?|better|pros and cons|strengths and weaknesses)\b",
        "risk": r"风险|争议|挑战|困难|安全性|副作用|局限|缺点|危害"
        r"|\b(?:risks?|controvers(?:y|ies|ial)|challenges?|safety|unsafe"
        r"|side effects?|limitations?|dangers?|drawbacks?|criticisms?)\b",
        "methods": r"方法|策略|方案|措施|途径|路线|设计|(?:如何|怎样)(?!\W*$)|怎么(?!样|会)"
        r"|\b(?:methods?|strateg(?:y|ies)|approach(?:es)?"
        r"|designs?|solutions?|techniques?|best practices|ways to|how (?:can|could|should|to|might|we))\b",
        "actors": r"谁|哪些(?:公司|机构|团队|企业)|代表性公司|课题组|研究团队"
        r"|\b(?:who|which (?:companies|firms|teams|countries)"
        r"|key players|stakeholders)\b",
        "history": r"历史|历程|演变|起源|由来|发展史"
        r"|\b(?:history|evolution|origins?|timeline)\b",
        "outlook": r"未来|前景|预测|趋势|潜力"
        r"|\b(?:future|outlook|forecast|predict(?:ion|ions)?|trends?|potential)\b",
    }.items()
}
# What is taken up where the question says too little: for a bare name, and beside what was asked.
BARE_DEFAULTS = ("progress", "mechanism", "figures", "open")
ASKED_DEFAULTS = ("figures", "progress", "open", "effect")


def stated_focuses(text: str) -> Strings:
    """Return the keys of the aspects that the words of a text ask about, in the order of the text."""
    simple = to_simplified(text)
    found = ((match.start(), key) for key, cue in CUES.items() if (match := cue.search(simple)))
    return tuple(key for _, key in sorted(found))[:_MAX_FOCUSES]


def filled_up(stated: Strings, given: int) -> Strings:
    """Return the keys of the aspects to add, so that there are three with those stated and those given by the user."""
    defaults = ASKED_DEFAULTS if stated or given else BARE_DEFAULTS
    return tuple(key for key in defaults if key not in stated)[: max(0, ENOUGH_FOCUSES - len(stated) - given)]


def without_cues(text: str) -> str:
    """Return a simplified text without the words that name an aspect of its subject, offsets kept."""
    for cue in CUES.values():
        text = cue.sub(lambda match: " " * len(match[0]), text)
    return text


def focus_names(keys: Strings, words: Words) -> Strings:
    """Return the names of the aspects in the reader's language."""
    return tuple(words(f"clarify.focus_{key}") for key in keys)


# Strict mode: a shorter topic needs a question back.
MIN_TOPIC_CHARS = 20
# More than this tells nothing new, and some of the patterns take time in the square of the length.
READ_CHARS = 2_000
# "Cancer?" is no question yet, "coffee harmful?" is.
_QUESTION_WORDS = 1.3
# A task of this many words has named its limits too.
_DETAILED_TASK_WORDS = 25
_MAX_ACRONYM = 6
_OF = re.compile(r"(?i)\b(?:of|in|for) (?:the |a |an )?[a-z]")
_WITHIN = re.compile(r"(?i)\w (?:in|for|among|during|under) (?:the |a |an )?\w")
_EDGE = " \t\n?？.。!！,，:：;；、-—"


Capitals = Literal["name", "some", "nothing"]


class TopicReading(NamedTuple):
    """The signals of one question."""

    subject: str
    words: float
    has_subject: bool
    is_named: bool
    is_narrowed: bool
    is_question: bool
    stated: Strings
    is_own_task: bool
    abbreviation: str
    rare_terms: Strings

    @property
    def has_goal(self) -> bool:
        """Return whether the question says what it wants to know."""
        return self.is_question or bool(self.stated)


def read_topic(text: str) -> TopicReading:
    """Return the signals of a cleaned question; of a long one, its beginning and end are read."""
    if len(text) > READ_CHARS:
        text = f"{text[: READ_CHARS // 2]} {text[-READ_CHARS // 2 :]}"
    core = subject_of(text)
    simple = to_simplified(core)
    bare = without_cues(simple)
    words = content_words(simple)
    is_whole = is_whole_material(text)
    is_named = is_whole or bool(named_things(core)) or bool(OWN_DOCUMENTS.search(to_simplified(text)))
    return TopicReading(
        subject=core,
        words=words,
        has_subject=content_words(bare) > 0 or is_named or (words > 1 and bool(_OF.search(simple))),
        is_named=is_named,
        is_narrowed=words > 1 and bool(_WITHIN.search(simple)),
        is_question=is_whole or _is_question(text, core, words),
        stated=stated_focuses(core),
        is_own_task=not is_whole and _is_own_task(text, words),
        abbreviation=_lone_abbreviation(bare),
        rare_terms=rare_terms(text),
    )


def subject_of(text: str) -> str:
    """Return a text without the request around its subject: "帮我研究一下癌症" is about 癌症."""
    text = EMPTY_QUESTION.sub("", text).strip(_EDGE)
    if lead := LEADING_FRAME_ZH.match(to_simplified(text)):
        text = text[lead.end() :]
    while first := WORD.match(text.lstrip(_EDGE)):
        if first[0].lower().replace("’", "'") not in REQUEST_WORDS:
            break
        text = text.lstrip(_EDGE)[first.end() :]
    return text.strip(_EDGE)


def without_politeness(text: str) -> str:
    """Return a question without the words that only ask politely, if something is left."""
    polite = POLITE.match(to_simplified(text))
    rest = text[polite.end() :].strip() if polite else text
    return rest if content_words(to_simplified(rest)) else text


def content_words(text: str) -> float:
    """Measure a simplified text in words that carry meaning; a CJK character counts for a third of one."""
    count = sum(map(len, HAN_RUN.findall(FUNCTION_ZH.sub(" ", text)))) / HAN_PER_WORD
    for found in WORD.findall(text):
        word = found.lower().replace("’", "'").removesuffix("'s")
        if word not in NO_SUBJECT_WORDS:
            count += max(1, sum(len(part) > 2 and part.isalpha() for part in word.split("-")))
    return count


def named_things(text: str) -> Strings:
    """Return what looks like a specific name: quoted, capitalised, letters with digits, or Latin amid Chinese."""
    simple = to_simplified(text)
    names = QUOTED.findall(text) + [text[slice(*match.span())] for match in PLACE_ZH.finditer(simple)]
    has_han, capitals = bool(HAN_RUN.search(text)), _capitals(WORD.findall(text))
    for at, match in enumerate(WORD.finditer(text)):
        word = match[0]
        if word.lower() in ABBREVIATIONS or word.lower() in VAGUE_WORDS:
            continue
        opens = at == 0 or bool(re.search(r"[.!?:：。！？]\s*$", text[: match.start()]))
        if _looks_named(word, opens=opens, has_han=has_han, capitals=capitals):
            names.append(word)
    return tuple(dict.fromkeys(names))


def _looks_named(word: str, *, opens: bool, has_han: bool, capitals: Capitals) -> bool:
    letters = [letter for letter in word if letter.isalpha()]
    if not letters or not word[0].isalpha():
        return False
    if any(letter.isdigit() for letter in word):
        return True
    if has_han:
        return len(letters) > 1
    inner = [letter for letter in word[1:] if letter.isalpha()]
    if inner and all(letter.isupper() for letter in letters):
        is_shouted = capitals != "some" and len(letters) > _MAX_ACRONYM
        return word.lower() not in BROAD_FIELDS and not is_shouted
    if any(letter.isupper() for letter in inner) and "-" not in word:
        return True
    is_capital = word[0].isupper() and word.lower() not in NO_SUBJECT_WORDS
    return is_capital and (capitals == "name" or (capitals == "some" and not opens))


def _capitals(words: list[str]) -> Capitals:
    """Return what capital letters mean here: in "Marie Curie" a name, in "Cancer Treatment" and "CANCER" nothing."""
    content = [word for word in words if word.lower() not in NO_SUBJECT_WORDS]
    if not all(word[0].isupper() for word in content):
        return "some"
    is_broad = len(content) == 1 or any(word.lower() in BROAD_FIELDS for word in content)
    return "nothing" if is_broad and len(content) == len(words) else "name" if not is_broad else "some"


def is_whole_material(text: str) -> bool:
    """Return whether a question is about the user's documents and names no subject in them."""
    simple = to_simplified(text)
    if not MATERIAL.search(simple):
        return False
    left = COMMAND_ZH.sub(" ", without_cues(MATERIAL.sub(" ", simple)))
    return not HAN_RUN.search(left) and all(map(is_command, WORD.findall(left)))


def is_command(word: str) -> bool:
    """Return whether a word only says what is to be done, or names the user's material."""
    plain = word.lower().replace("’", "'")
    return plain in NO_SUBJECT_WORDS or plain in DIRECTIVES or plain in MATERIAL_WORDS


def rare_terms(text: str) -> Strings:
    """Return the tokens that look like names nobody may know, as in "STATUS6 基因"."""
    return tuple(dict.fromkeys(RARE_TERM.findall(text)))


def is_complex(text: str) -> bool:
    """Return whether a question uses a word that marks a complex one."""
    # "Why" and "criticism" ask for judgement too, but make no question complex.
    return bool(COMPLEX.search(to_simplified(text)) or cues_of(text) & {"analyse", "assess", "compare"})


def is_no_question(text: str) -> bool:
    """Return whether a text holds nothing to research: no letters at all."""
    return not any(unicodedata.category(letter).startswith("L") for letter in text)


def is_errand(text: str) -> bool:
    """Return whether a text wants something done or made up, which no research can do."""
    simple = to_simplified(text)
    return bool(ERRAND.search(simple)) and not RESEARCH_PRODUCT.search(simple)


def _is_question(text: str, core: str, words: float) -> bool:
    if EMPTY_QUESTION.match(text):
        return False
    if ASKING_ZH.search(to_simplified(core)) or _opening(core).replace("’", "'") in INTERROGATIVES:
        return True
    if any(word.lower() in DIRECTIVES for word in WORD.findall(text)[:4]):
        return words > 1
    return bool(QUESTION_END.search(to_simplified(text))) and words > _QUESTION_WORDS


def _is_own_task(text: str, words: float) -> bool:
    simple = to_simplified(text)
    if words >= _DETAILED_TASK_WORDS or RESEARCH_PRODUCT.search(simple):
        return False
    opening = _opening(simple.lstrip())
    is_request = not opening or opening in REQUEST_WORDS or opening in DIRECTIVES
    is_choice = is_request and not ASKING_ZH.search(simple) and OPEN_CHOICE.search(simple)
    if MAKING_TASK.search(simple) or is_choice:
        return True
    return opening not in INTERROGATIVES and bool(OWN_TASK.search(simple))


def _opening(text: str) -> str:
    """Return the word that a text begins with in small letters, or ""."""
    word = WORD.match(text)
    return word[0].lower() if word else ""


def _lone_abbreviation(bare: str) -> str:
    """Return the listed abbreviation that is all there is of a subject, or ""."""
    content = [word for word in map(str.lower, WORD.findall(bare)) if word not in NO_SUBJECT_WORDS]
    is_alone = len(content) == 1 and not HAN_RUN.search(FUNCTION_ZH.sub("", bare))
    return content[0] if is_alone and content[0] in ABBREVIATIONS else ""


# A capital inside a sentence is a title's: "Who wrote Why Nations Fail?" asks no why.
_TITLED = re.compile(r"(?<=[\w,] )(?:Why|Critique)\b")


def cues_of(question: str) -> frozenset[str]:
    """Return the kinds of judgement that the words of a question ask for: `compare`, `why`, `market_view` and so on."""
    plain = _TITLED.sub(" ", to_simplified(QUOTED.sub(" ", question)))
    return frozenset(kind for kind, cue in _cues().items() if cue.search(plain))


@cache
def _cues() -> dict[str, re.Pattern[str]]:
    tables = load_table("judgement").items()
    return {kind: re.compile(rf"(?i)\b(?:{'|'.join(own['en'])})\b|{'|'.join(own['zh'])}") for kind, own in tables}


# A question of so much content has several aspects: 50 Chinese characters, about 17 English words that carry meaning.
_LONG_WORDS = 50 / HAN_PER_WORD


def asks_for_judgement(question: str) -> bool:
    """Return whether a question asks for more than what is known: by its words, or by its length."""
    read = question[:READ_CHARS]
    return bool(cues_of(read)) or content_words(to_simplified(read)) >= _LONG_WORDS
