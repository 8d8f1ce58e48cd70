"""Reading prose that a model wrote: paragraphs of sentences, each with the marks of the sources it rests on.

A critical look has headings besides: perspectives with names, then what would change the conclusion.
"""

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from deep_research.reasoning.model.prompting import LABEL, TAGS
from deep_research.report.paragraph import Paragraph, Sentence
from deep_research.request import Language
from deep_research.text.cleaning import clean_text
from deep_research.text.script import detect_language, in_script
from deep_research.text.sentences import split_sentences
from deep_research.verify.particulars import dates_of, figures_of
from deep_research.verify.references import find_references

_LINK = re.compile(r"!?\[([^\]\n]{1,300})\]\([^)\n]{0,1000}\)")
_FENCE = re.compile(r"(?m)^\s*(?:`{3,}|~{3,}).*$")
# A model that does not stop may write white space to no end, which patterns here and elsewhere would go over again and
# again.
_BLANK_LINES = re.compile(r"\n\s*\n")
_WIDE_GAP = re.compile(r"[^\S\n]{2,}")


def without_markup(text: str, mark: re.Pattern[str] | None = None) -> str:
    """Return a text without fences, and links and images as their words; a `mark` stays as it is."""
    spaced = _WIDE_GAP.sub(" ", _BLANK_LINES.sub("\n\n", clean_text(text)))

    def words(link: re.Match[str]) -> str:
        is_mark = mark is not None and mark.fullmatch(f"[{link[1]}]") is not None
        return f"[{link[1]}]" if is_mark else link[1]

    return _LINK.sub(words, _FENCE.sub("", spaced))


# Each blank belongs to one part of the pattern only: a list that is never closed would match in too many ways.
_WORDS = r"(?:(?:sources?|passages?|来源|來源|资料|資料)\s*)?"
_NUMBER = rf"(?:{LABEL}\s*)?\d{{1,4}}"
_ONE = rf"{_WORDS}{_NUMBER}(?:\s*[-–—]\s*{_NUMBER})?"
_MARK = re.compile(rf"(?i)[\[【［]\s*((?=[^\]】］]{{0,400}}{LABEL}\s*\d){_ONE}(?:\s*[,;，、；&]\s*{_ONE})*)\s*[\]】］]")
# Round brackets hold much else: "(E10)" is a fuel where no E10 was given.
_ROUND_MARK = re.compile(rf"(?i)[(（]\s*({LABEL}\s*\d{{1,4}}(?:\s*[,;，、；&]\s*{LABEL}\s*\d{{1,4}})*)\s*[)）]")
_BARE_MARK = re.compile(r"\[\s*(\d{1,3}(?:\s*[,;，、]\s*\d{1,3})*)\s*\]")
_RANGE = re.compile(rf"(?i)(\d{{1,4}})(?:\s*[-–—]\s*(?:{LABEL}\s*)?(\d{{1,4}}))?")
# A range of more than this names nothing in particular.
_MAX_IN_RANGE = 12
_STOP = re.compile(r"[.!?。！？…]+[\"'”’』」)）]*$")
# Headings, list signs and emphasis are the report's own business.
_HEADING = re.compile(r"(?m)^\s{0,3}#{1,6}\s.*$")
_LIST_SIGN = re.compile(r"(?m)^\s*(?:[-*•+]|\d{1,2}[.)])\s+")
_EMPHASIS = re.compile(r"(\*\*|__|\*|`)(?=\S)(.{1,500}?)(?<=\S)\1")
_TABLE_LINE = re.compile(r"(?m)^\s*\|.*\|\s*$")
_ECHO = re.compile(rf"(?i)</?(?:{'|'.join(TAGS)})\b")
# Less text than this shows no language.
_MIN_CHARS = 40
# More sentences than this share without a mark are worth a second try.
_UNMARKED_SHARE = 0.34


class Prose(NamedTuple):
    """What a model wrote, what is wrong with it, if anything, and how many sentences rest on evidence that exists."""

    paragraphs: tuple[Paragraph, ...]
    problem: str
    cited: int

    def resting_on(self, headers: Mapping[str, str]) -> "Prose":
        """Return the same with each row's header beside the row: only both together say what a figure means."""

        def resting(sentence: Sentence) -> Sentence:
            ids = (each for id_ in sentence.evidence for each in (id_, headers.get(id_, "")) if each)
            return sentence.model_copy(update={"evidence": tuple(dict.fromkeys(ids))})

        return self._replace(
            paragraphs=tuple(
                paragraph.model_copy(update={"sentences": tuple(map(resting, paragraph.sentences))})
                for paragraph in self.paragraphs
            )
        )


def read_prose(
    text: str, labels: Mapping[str, str], *, section: str, language: Language, is_cut: bool = False
) -> Prose:
    """Return the paragraphs of a text; a mark that stands for no evidence is kept as it is, for the record.

    `labels` maps labels to evidence ids. `is_cut` says that the text ended at a limit: its last sentence is dropped
    where it has no end.
    """
    paragraphs = []
    bare = _TABLE_LINE.sub("", _HEADING.sub("", without_markup(text, _MARK)))
    tidied = _EMPHASIS.sub(r"\2", _LIST_SIGN.sub("", bare))
    plain = _square(in_script(tidied, language), labels)
    mark = _MARK if _MARK.search(plain) else _BARE_MARK
    for block in re.split(r"\n\s*\n", plain):
        sentences = _sentences(" ".join(block.split()), mark, labels)
        if sentences:
            paragraphs.append(Paragraph(section=section, sentences=tuple(sentences)))
    if is_cut and paragraphs:
        last = paragraphs.pop()
        kept = last.sentences if _STOP.search(last.sentences[-1].text) else last.sentences[:-1]
        paragraphs += [last.model_copy(update={"sentences": kept})] if kept else []
    known = set(labels.values())
    cited = sum(not known.isdisjoint(sentence.evidence) for paragraph in paragraphs for sentence in paragraph.sentences)
    return Prose(tuple(paragraphs), _problem(text, paragraphs, len(labels), cited, language), cited)


def is_in_language(text: str, language: Language) -> bool:
    """Return whether a text is written in a language, as far as its length shows; scripts of Chinese count as one."""
    return len(text) < _MIN_CHARS or detect_language(text)[:2] == language[:2]


def _square(text: str, labels: Mapping[str, str]) -> str:
    """Return a text whose marks in round brackets are square, where all of them name something that was given."""

    def squared(match: re.Match[str]) -> str:
        is_known = all(f"{LABEL}{number}" in labels for number in _numbers(match[1]))
        return f"[{match[1]}]" if is_known else match[0]

    return _ROUND_MARK.sub(squared, text)


def _numbers(mark: str) -> list[int]:
    """Return the numbers that a mark names, ranges spelled out."""
    found: list[int] = []
    for first, last in _RANGE.findall(mark):
        numbers = range(int(first), int(last or first) + 1)
        found += numbers if 0 < len(numbers) <= _MAX_IN_RANGE else [int(first)]
    return found


def _sentences(text: str, mark: re.Pattern[str], labels: Mapping[str, str]) -> list[Sentence]:
    """Return a paragraph's sentences; a mark belongs to the sentence it stands in or right after."""
    marks = [(match.start(), _numbers(match[1])) for match in mark.finditer(text)]
    # Marks become blanks, so that offsets stay and "[E1]." ends its sentence.
    bare = mark.sub(lambda match: " " * len(match[0]), text)
    spans = split_sentences(bare)
    found = []
    for number, (start, end) in enumerate(spans):
        until = spans[number + 1][0] if number + 1 < len(spans) else len(text)
        own = [number for at, numbers in marks if start <= at < until for number in numbers]
        sentence = re.sub(r"\s+(?=[.,;:!?。，；：！？、])", "", " ".join(bare[start:end].split()))
        if re.search(r"\w", sentence):
            ids = dict.fromkeys(labels.get(f"{LABEL}{number}", f"{LABEL}{number}") for number in own)
            found.append(Sentence(text=sentence, evidence=tuple(ids)))
    return found


def _problem(text: str, paragraphs: list[Paragraph], labels: int, cited: int, language: Language) -> str:
    """Return what is wrong with an answer in prose, in words that a model can mend it by; "" if nothing is."""
    sentences = [sentence for paragraph in paragraphs for sentence in paragraph.sentences]
    if not sentences:
        return "it holds no sentence"
    if _ECHO.search(text):
        return "it repeats the prompt's marks; write your own sentences"
    if not is_in_language(" ".join(sentence.text for sentence in sentences), language):
        return "it is in the wrong language"
    unmarked = [sentence for sentence in sentences if not sentence.evidence]
    if len(unmarked) > _UNMARKED_SHARE * len(sentences):
        return f"{len(unmarked)} of {len(sentences)} sentences carry no mark such as [{LABEL}1]; each needs its own"
    if not cited:
        return f"its marks name no source that was given; use {LABEL}1 to {LABEL}{labels}"
    return ""


# A heading as Markdown has it, or a short line that is all bold.
_PART_HEADING = re.compile(
    r"(?m)^[ \t]{0,3}(?:#{1,6}[ \t]+(?P<heading>.+?)[ \t#]*|\*\*(?P<bold>[^*\n]{2,60})\*\*[ \t]*[:：]?[ \t]*)$"
)
_NO_NAME = re.compile(r"[*_`\[\]【】]|^\d+[.)、]\s*")
_NAME_END = re.compile(r"[.。!！?？:：]+$")
_MAX_NAME_CHARS = 60


def read_critique(
    text: str, labels: Mapping[str, str], *, section: str, language: Language, closing: str, is_cut: bool = False
) -> Prose:
    """Return paragraphs under the names of their perspectives; what would change the conclusion may be a note.

    It stands under the name that is given as `closing`. A note is a sentence there that cites nothing.
    """
    parts = list(_parts(text))
    paragraphs, notes, judged = [], [], []
    for number, (name, body) in enumerate(parts, start=1):
        is_end, lead = _plain_letters(name) == _plain_letters(closing), _lead(name, language)
        own = read_prose(body, labels, section=section, language=language, is_cut=is_cut and number == len(parts))
        if not is_end:
            judged.append(body)
        for paragraph in own.paragraphs:
            marked = tuple(each for each in paragraph.sentences if each.evidence or not is_end)
            if marked:
                shown = {"lead": closing if is_end else lead, "sentences": marked}
                paragraphs.append(paragraph.model_copy(update=shown))
            notes += [each for each in paragraph.sentences if each not in marked]
    whole = read_prose("\n\n".join(judged), labels, section=section, language=language)
    last = [Paragraph(section=section, kind="note", lead=closing, sentences=tuple(notes))] if notes else []
    return Prose((*paragraphs, *last), whole.problem, whole.cited)


def _parts(text: str) -> Iterator[tuple[str, str]]:
    """Yield what stands under each heading, with the heading's words."""
    heads = list(_PART_HEADING.finditer(text))
    ends = [match.start() for match in heads[1:]] + [len(text)]
    if not heads or text[: heads[0].start()].strip():
        yield "", text[: heads[0].start()] if heads else text
    for head, end in zip(heads, ends, strict=False):
        yield head.group("heading") or head.group("bold"), text[head.end() : end]


def _lead(name: str, language: Language) -> str:
    """Return a perspective's name, or "" where it is no name: a whole sentence, or one with a figure or a date."""
    plain = _NAME_END.sub("", " ".join(_NO_NAME.sub("", without_markup(in_script(name, language))).split()))
    is_sentence = len(plain) > _MAX_NAME_CHARS or re.search(r"[.。!！?？]", plain)
    return "" if is_sentence or figures_of(plain) or dates_of(plain) or find_references(plain) else plain


def _plain_letters(text: str) -> str:
    return "".join(re.findall(r"\w", text)).lower()
