"""Reading a critical look that a model wrote: perspectives with names, then what would change the conclusion."""

import re
from collections.abc import Iterator, Mapping

from deep_research.reasoning.model.prose import Prose, read_prose
from deep_research.reasoning.model.tidying import without_markup
from deep_research.report.paragraph import Paragraph
from deep_research.request import Language
from deep_research.text.script import in_script
from deep_research.verify.particulars import dates_of, figures_of
from deep_research.verify.references import find_references

# A heading as Markdown has it, or a short line that is all bold.
_HEADING = re.compile(
    r"^[ \t]{0,3}(?:#{1,6}[ \t]+(?P<heading>.+?)[ \t#]*|\*\*(?P<bold>[^*\n]{2,60})\*\*[ \t]*[:：]?[ \t]*)$",
    re.MULTILINE,
)
_NO_NAME = re.compile(r"[*_`\[\]【】]|^\d+[.)、]\s*")
_STOP = re.compile(r"[.。!！?？:：]+$")
_LONGEST_NAME = 60


def read_critique(
    text: str, labels: Mapping[str, str], *, section: str, language: Language, closing: str, is_cut: bool = False
) -> Prose:
    """Return paragraphs under the names of their perspectives; what would change the conclusion may be a note.

    It stands under the name that is given as `closing`. A note is a sentence there that cites nothing.
    """
    parts = list(_parts(text))
    told, notes, judged = [], [], []
    for number, (name, body) in enumerate(parts, start=1):
        is_end, lead = _letters(name) == _letters(closing), _lead(name, language)
        own = read_prose(body, labels, section=section, language=language, is_cut=is_cut and number == len(parts))
        if not is_end:
            judged.append(body)
        for paragraph in own.paragraphs:
            marked = tuple(each for each in paragraph.sentences if each.evidence or not is_end)
            if marked:
                told.append(paragraph.model_copy(update={"lead": closing if is_end else lead, "sentences": marked}))
            notes += [each for each in paragraph.sentences if each not in marked]
    whole = read_prose("\n\n".join(judged), labels, section=section, language=language)
    last = [Paragraph(section=section, kind="note", lead=closing, sentences=tuple(notes))] if notes else []
    return Prose((*told, *last), whole.problem, whole.cited)


def _parts(text: str) -> Iterator[tuple[str, str]]:
    """Yield what stands under each heading, with the heading's words."""
    heads = list(_HEADING.finditer(text))
    ends = [match.start() for match in heads[1:]] + [len(text)]
    if not heads or text[: heads[0].start()].strip():
        yield "", text[: heads[0].start()] if heads else text
    for head, end in zip(heads, ends, strict=False):
        yield head.group("heading") or head.group("bold"), text[head.end() : end]


def _lead(name: str, language: Language) -> str:
    """Return a perspective's name, or "" where it is no name: a whole sentence, or one with a figure or a date."""
    plain = _STOP.sub("", " ".join(_NO_NAME.sub("", without_markup(in_script(name, language))).split()))
    is_sentence = len(plain) > _LONGEST_NAME or re.search(r"[.。!！?？]", plain)
    return "" if is_sentence or figures_of(plain) or dates_of(plain) or find_references(plain) else plain


def _letters(text: str) -> str:
    return "".join(re.findall(r"\w", text)).lower()
