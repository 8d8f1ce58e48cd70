"""The head of a document: who wrote it and when, and whether it still holds, as the lines above its text say it."""

import re
from typing import NamedTuple

from deep_research.report.sources.dating import dateline_of
from deep_research.report.sources.document import Document
from deep_research.text.dates import find_dates
from deep_research.text.folding import to_simplified
from deep_research.text.messages.words import Words
from deep_research.text.prompt_injection import find_prompt_injection

HEAD_CHARS = 1_200
_KINDS = ("author", "published", "created")
# In simplified characters; a blank stands for an underscore or a hyphen too.
_LABEL = r"""(?P<author>authors?(?:\(s\))?|written by|作者|撰稿人?|起草人?)
|(?P<published>(?:date )?(?:published|issued|posted)(?: on)?|(?:publication|release) date
|(?:发布|发表|出版|印发)(?:日期|时间)?)
|(?P<created>created(?: on)?|(?:start )?date|(?:创建|编写)(?:日期|时间)?|日期)
|status|(?:feature )?state|stage|version|type|category|(?:last )?(?:updated|modified|reviewed|revised)
|valid (?:from|until)|effective(?: date)?|expires|superse(?:des|ded by)|repla(?:ces|ced by)|obsolete[sd](?: by)?
|updates|amend(?:s|ed by)|requires|depends on|resolution|(?:withdrawn|deprecated)(?=\s*[:：])
|(?:当前|特性|功能)?状态|版本|类型|类别|(?:更新|修订|生效|废止|失效)(?:日期|时间)?
|(?:已?被)?(?:取代|替代|代替)(?:者|了|为)?|依赖|需要|前置条件|决议""".replace("\n", "").replace(" ", "[ _-]")
# `Status: Final`, also behind another fact; a line `Status` above a line `Final`; the row `| Status | Final |`.
_FACT = re.compile(
    r"(?:^(?:(?P<row>\| )|(?P<mark>[^\w\n|]{0,4}))|(?P<behind>(?<=[.;。；·|　])[ \t]*))"
    rf"(?P<label>{_LABEL})[ \t]{{0,4}}"
    r"(?(row)\|[ ](?P<cell>[^\n|]+)[ ]\|$|(?:[:：][ \t]*(?P<inline>[^\s|;]"
    r"(?:(?!\s·\s|[.;。；]\s*[^\W\d][^\d.;\n:：]{0,28}[:：])[^\n|　]|(?<=,)\n[ \t]+)*)"
    r"|(?(behind)(?!))(?P<colon>[:：]?)[ \t]*\n(?=\s*(?:[-*][ ])?(?P<below>[^\s#|][^\n|]*)$)))",
    re.IGNORECASE | re.MULTILINE,
)
_ONLY_LABEL = re.compile(rf"(?:{_LABEL})\s*(?:[:：].*)?", re.IGNORECASE)
# How somebody is reached, and what is no part of a name: "By", a degree, the form of a company.
_BESIDE_NAME = re.compile(
    r"^by\s+|\s*(?:<[^<>]*>|[(（][^()（）]*[)）]|\[[^\[\]]*\]|\S+@\S+)"
    r"|,\s*(?:jr|sr|ph\.?\s?d|m\.?d|inc|ltd|llc|gmbh)\b\.?(?=\s*(?:[,;]|$))|\s+(?=,)",
    re.IGNORECASE,
)
_BETWEEN_AUTHORS = re.compile(r"\s*[;；、，]\s*")
_NOBODY = re.compile(
    r"(?i)admin(?:istrator)?|root|user|owner|author|unknown|anonymous|n/?a|https?|佚名|匿名|未知|管理员|"
)
# "Ministry of Food, Water and Air" is one author, and so is "Jane Doe, Institute of Physics".
_OFFICE = re.compile(
    r"(?i)\b(?:of|for|the|department|engineering|university|institute|council|committee|agency|authority|office|team"
    r"|group|company|bank|association|society|centre|center|laborator(?:y|ies))\b|(?:大学|学院|研究[所院]|公司|委员会|[局部厅])$"
)
_MAX_NAME_CHARS = 60
# Formats in whose files programs write who uses them.
_BY_PROGRAMS = ("docx/", "pdf/", "pptx/", "xlsx/")


class HeadFact(NamedTuple):
    """What a line of a head says: `text` with its label, `value` without; `kind` says who wrote it, or when."""

    kind: str
    text: str
    value: str
    start: int
    end: int


def head_facts(text: str) -> list[HeadFact]:
    """Return what a document's head says; labels without a colon count where there are several."""
    head = text[:HEAD_CHARS]
    facts: list[HeadFact] = []
    bare: list[HeadFact] = []
    for match in _FACT.finditer(to_simplified(head)):
        form = str(match.lastgroup)
        if form == "inline" or not _ONLY_LABEL.fullmatch(match[form]):
            label, value = (" ".join(head[slice(*match.span(part))].split()) for part in ("label", form))
            told = head[match.start("label") : match.end(form)] if form == "inline" else f"{label}: {value}"
            kind = next((kind for kind in _KINDS if match[kind]), "")
            start = head.rfind("\n", 0, match.start("label")) + 1
            facts.append(HeadFact(kind, " ".join(told.split()), value, start, match.end(form)))
            if form == "cell" or (form == "below" and not match["colon"] and "#" not in match["mark"]):
                bare.append(facts[-1])
    return facts if len(bare) > 1 else [fact for fact in facts if fact not in bare]


def head_of(text: str) -> tuple[int, int] | None:
    """Return where the lines of a document's head stand that say who wrote it, when, and whether it holds."""
    facts = head_facts(text)
    if not facts:
        return None
    line_end = text.find("\n", facts[-1].end, HEAD_CHARS)
    return facts[0].start, line_end if line_end >= 0 else min(len(text), HEAD_CHARS)


def written_in(text: str) -> tuple[str, str]:
    """Return the authors that a document's head names, and the day (month, year) when it came out or was begun."""
    told = {fact.kind: fact.value for fact in reversed(head_facts(text))}
    authors = _BESIDE_NAME.sub("", told.get("author", "")).strip(" ,*")
    dates = find_dates(told.get("published") or told.get("created", ""))
    return "" if "://" in authors else authors, next((date.iso for date in dates if "Q" not in date.iso), "")


def byline_of(document: Document, words: Words, *, is_page: bool) -> str:
    """Return who wrote a document and in which year, for a list of references; "" where nobody is named.

    Whom a program put into a file's properties the text must name too. A file's own date may be that of a copy.
    """
    first, *others = _BETWEEN_AUTHORS.split(_BESIDE_NAME.sub("", document.author).strip(" ,"))
    name, *rest = re.split(r",\s*", first)
    if _OFFICE.search(name) or (len(rest) == 1 and " " not in name):
        # One author: an office, or "Smith, John".
        name, rest = first, []
    has_others = bool(others) or not all(map(_OFFICE.search, rest))
    text, is_by_program = document.text, document.extractor.startswith(_BY_PROGRAMS)
    is_named = not is_by_program or name.casefold() in text[:HEAD_CHARS].casefold()
    if _NOBODY.fullmatch(name) or not is_named or len(name) > _MAX_NAME_CHARS or find_prompt_injection(name):
        return ""
    day = "" if is_page else dateline_of(text) or written_in(text)[1]
    day = day or ("" if is_by_program and not is_page else document.published)
    author = words("report.and_others", author=name) if has_others else name
    return f"{author}, {day[:4]}" if day[:4].isdigit() else author
