"""The answers a model gives as data: flat, few fields each, and read as tolerantly as can be done safely."""

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache, partial
from itertools import chain, repeat
from typing import Annotated, Any, TypeVar, get_origin

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

from deep_research.reasoning.model.prose import without_markup
from deep_research.text.cleaning import clean_text
from deep_research.value import JsonObject

_FENCE = re.compile(r"(?m)^[^\S\n]*```[\w-]*[^\S\n]*$")
_OPENING = re.compile(r"[\[{]")
# Answers are flat. What has more brackets is none, and mending it could take minutes.
_MAX_MENDED_OPENINGS = 300
_LISTED = re.compile(r"[\n;；]")
_BULLET = re.compile(r"^\s*(?:[-*•]|\d{1,2}[.)、])\s+")
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
_LABEL_NUMBER = re.compile(r"\d+")
# More than any answer needs: what is longer is a model that did not stop.
_MAX_CHARS, _MAX_ITEM_CHARS, _MAX_ITEMS, _MAX_ENTRIES = 8_000, 400, 40, 120
# A small model may wrap its answer in a name of its own; deeper than this nobody nests by accident.
_WRAPPINGS = 3
SomeAnswer = TypeVar("SomeAnswer", bound="ModelAnswer")
Item = TypeVar("Item")


def _texts(value: object, most: int = _MAX_ITEMS) -> object:
    """Return a list of texts from what models give for one: a list of objects, one text, or nothing."""
    if value is None:
        return []
    if isinstance(value, str):
        value = [_BULLET.sub("", line) for line in _LISTED.split(value)]
    if not isinstance(value, list):
        return value
    return [text for text in map(_text, value) if text][:most]


def _column(value: object, most: int = _MAX_ITEM_CHARS) -> object:
    """Return the texts that go with the items of another list: an empty one keeps its place."""
    return [_text(item, most) for item in value] if isinstance(value, list) else _texts(value)


def _text(value: object, most: int = _MAX_ITEM_CHARS) -> str:
    if isinstance(value, dict):
        value = next((text for text in value.values() if isinstance(text, str) and text.strip()), "")
    return "" if value is None else " ".join(without_markup(str(value)).split())[:most]


def _plain(value: object) -> object:
    verbatim = _verbatim(value)
    return without_markup(verbatim)[:_MAX_CHARS] if isinstance(verbatim, str) else verbatim


def _verbatim(value: object) -> object:
    if isinstance(value, list):
        value = "\n".join(map(str, value))
    return clean_text(value) if isinstance(value, str) else "" if value is None else value


def _program(value: object) -> object:
    verbatim = _verbatim(value)
    return _FENCE.sub("", verbatim).strip() if isinstance(verbatim, str) else verbatim


def _programs(value: object) -> object:
    return [_program(item) for item in value] if isinstance(value, list) else [_program(value)]


def _numbers(value: object) -> object:
    """Return whole numbers from labels: 3, "3", "E3", "passage 3"."""
    if isinstance(value, str | int):
        value = _LABEL_NUMBER.findall(str(value))
    if not isinstance(value, list):
        return value
    found = [_LABEL_NUMBER.search(str(item)) for item in value]
    # What is no number keeps its place: another list may go with this one.
    return [int(match[0]) if match else 0 for match in found]


def _number(value: object, wanted: str) -> float:
    match = _NUMBER.search(str(value))
    if not match:
        raise ValueError(f"a number from {wanted} is wanted")
    return float(match[0])


def _share(value: object) -> float:
    """Return a share of 1 from "0.8", "80 %" and 8.5 out of 10 alike."""
    number = _number(value, "0 to 1")
    return number if number <= 1 else number / (10 if number <= 10 and "%" not in str(value) else 100)


def _score(value: object) -> int:
    return round(min(10.0, max(1.0, _number(value, "1 to 10"))))


def _word(value: object) -> str:
    return re.sub(r"[\s/-]+", "_", str(value or "").strip().lower())


def _flag(value: object) -> bool:
    """Return what a yes or no means; what is neither is no objection."""
    return str(value).strip().lower() not in ("false", "no", "0", "否", "不", "不是")


Texts = Annotated[list[str], BeforeValidator(_texts)]
LongList = Annotated[list[str], BeforeValidator(partial(_texts, most=_MAX_ENTRIES))]
Column = Annotated[list[str], BeforeValidator(_column)]
LongColumn = Annotated[list[str], BeforeValidator(partial(_column, most=_MAX_CHARS))]
Numbers = Annotated[list[int], BeforeValidator(_numbers)]
Plain = Annotated[str, BeforeValidator(_plain)]
Program = Annotated[str, BeforeValidator(_program)]
Programs = Annotated[list[str], BeforeValidator(_programs)]
Share = Annotated[float, BeforeValidator(_share), Field(ge=0, le=1)]
Score = Annotated[int, BeforeValidator(_score), Field(ge=1, le=10)]
Word = Annotated[str, BeforeValidator(_word)]
Flag = Annotated[bool, BeforeValidator(_flag)]


def _described(description: str, default: Any = ..., min_length: int | None = None) -> Any:
    """Return a field with what a prompt says about it; a model may leave out one that has a default."""
    return Field(default, description=description, min_length=min_length)


class ModelAnswer(BaseModel):
    """An answer's fields; what a model adds beside them is ignored."""

    model_config = ConfigDict(extra="ignore")

    @classmethod
    @cache
    def schema_for_model(cls) -> JsonObject:
        """Return the JSON schema that providers are given: flat, every field required, no other allowed.

        What each field is for stands in the prompt, once.
        """
        fields: JsonObject = {
            name: {key: part for key, part in field.items() if key in ("type", "items", "enum")}
            for name, field in cls.model_json_schema()["properties"].items()
        }
        return {"type": "object", "properties": fields, "required": list(fields), "additionalProperties": False}

    @classmethod
    @cache
    def in_words(cls) -> str:
        """Return what the prompt says about the answer's form, for models that know no schema."""
        kinds = {"array": "list", "number": "number", "integer": "whole number", "boolean": "true or false"}
        lines = ["Answer with one JSON object and nothing else, in double quotes, with exactly these fields:"]
        for name, field in cls.model_json_schema()["properties"].items():
            kind = "one of " + ", ".join(field["enum"]) if "enum" in field else kinds.get(field["type"], "text")
            lines.append(f'- "{name}" ({kind}): {field["description"]}')
        return "\n".join(lines)


class AssessAnswer(ModelAnswer):
    """Whether the question can be researched, the one thing to ask if not, and what it asks for."""

    topic_explicit: Flag = _described("does the question say what it is about?", True)
    scope_inferable: Flag = _described("can it be inferred which sides of the topic matter?", True)
    goal_clear: Flag = _described("is it clear what the asker wants to find out?", True)
    confidence: Share = _described("0 to 1: how sure you are what is to be researched")
    goal: Plain = _described("what the asker wants to find out, one sentence; empty if it cannot be told", "")
    focuses: Texts = _described("2 to 5 sides of the topic to look at", [])
    unknown_terms: Texts = _described("names in the question that you do not know and that may not exist", [])
    refined_question: Plain = _described("the question as it should be researched, complete in itself", "")
    question: Plain = _described("the one question to put to the asker, if something decisive is missing", "")
    options: Texts = _described("2 to 4 likely answers to that question, the best first", [])
    impossible: Plain = _described("why no research can answer this at all; empty if it can be researched", "")
    kind: Word = _described(
        "the kind of answer that is wanted, one of: fact (one figure or thing), yes_no (whether something is so, as a"
        " source may state it), who_when_where, list (all that meet a condition), extreme (the most, the first), trend"
        " (over a period), comparison (of named things), reason, procedure (how something is done), overview (of a"
        " named document or meeting), advice (what to do, whether or how something can be done or reached), open (a"
        " topic)",
        "",
    )
    parts: Texts = _described("the questions that it asks, each in the asker's words; empty if it is one", [])
    excluded: Texts = _described("what the asker wants left out, in the asker's words; empty if nothing", [])
    anchors: Texts = _described(
        "names, years, dates and numbered things that an answer must be about, copied from the question", []
    )
    asks_for: Word = _described(
        "what a short answer would be, one of: money, share, duration, count, date, person, place, other", ""
    )
    breadth: Word = _described(
        "how wide the question is, one of: fact (one thing), comparison (a few things or one topic), field (rare: a"
        " subject with its history, its alternatives and a decision that needs all of them)",
        "",
    )


class PlanAnswer(ModelAnswer):
    """A report's plan; descriptions follow the order of the sections."""

    title: Plain = _described("the report's title", "")
    goal: Plain = _described("what the report answers, one sentence", "")
    scope: Plain = _described("what is in and out of scope, one sentence", "")
    domains: Texts = _described("fields of knowledge that the question touches", [])
    sections: Column = _described("2 to 5 section titles", min_length=1)
    descriptions: Column = _described("for each section, in order: the question that it answers", [])
    entries: LongList = _described("what a complete answer names, the most important first: name: what it is", [])
    entry_sections: Numbers = _described("for each entry, in order: the number of its section, from 1", [])
    queries: Texts = _described("search queries, one to three for each section", [])
    query_sections: Numbers = _described("for each query, in order: the number of its section, from 1", [])
    goals: Column = _described("for each query, in order: what it should find", [])
    priorities: Column = _described("for each query, in order: high, medium or low", [])

    @model_validator(mode="before")
    @classmethod
    def _from_records(cls, data: Any) -> Any:
        """Take sections that come as records of title, description and queries apart into lists."""
        sections = data.get("sections") if isinstance(data, dict) else None
        if not isinstance(sections, list) or not all(isinstance(section, dict) for section in sections):
            return data
        queries: list[str] = []
        numbers: list[int] = []
        for number, section in enumerate(sections, start=1):
            own = _texts(section.get("search_queries") or section.get("queries"))
            queries += own if isinstance(own, list) else []
            numbers += [number] * (len(queries) - len(numbers))
        parts = {
            "sections": [str(section.get("title") or _text(section)) for section in sections],
            "descriptions": [str(section.get("description") or "") for section in sections],
        }
        return data | parts | ({"queries": queries, "query_sections": numbers} if queries else {})


class QueriesAnswer(ModelAnswer):
    """Search queries with what each is for."""

    queries: Texts = _described("search queries, the best first", min_length=1)
    goals: Column = _described("for each query, in order: what it should find", [])
    priorities: Column = _described("for each query, in order: high, medium or low", [])


class ExtractAnswer(ModelAnswer):
    """Which passages help, by number."""

    passages: Numbers = _described("numbers of the passages that help, the best first")
    sections: Numbers = _described("for each of them, in order: its section's number", [])
    relevance: Numbers = _described("for each of them, in order: 1 to 10", [])


class ReflectAnswer(ModelAnswer):
    """What a round adds to what is known, and how good the evidence is: five dimensions, each from 1 to 10."""

    added: Plain = _described("what is new, in three to eight sentences; empty if nothing", "")
    settled: Numbers = _described("numbers of the entries that the passages settle", [])
    set_aside: Numbers = _described("numbers of the entries that need no looking for", [])
    reasons: Column = _described("for each of those set aside, in order: why, in a few words", [])
    new_entries: LongList = _described("further entries: name: what it is", [])
    entry_sections: Numbers = _described("for each of these, in order: its section's number", [])
    pages: Numbers = _described("numbers of the pages to read next, the best first", [])
    coverage: Score = _described("1 to 10: is every part of the section's question supported?")
    depth: Score = _described("1 to 10: are there details and figures, not only overviews?")
    diversity: Score = _described("1 to 10: do the sources differ?")
    consistency: Score = _described("1 to 10: do the sources agree?")
    recency: Score = _described("1 to 10: is it as recent as the question needs?")
    gaps: Texts = _described("what is still missing, most important first; empty if nothing", [])
    next_queries: Texts = _described("search queries that would close the gaps; empty if none", [])
    reasoning: Plain = _described("why, one sentence", "")


class OutlineAnswer(ModelAnswer):
    """The chapters of a long report."""

    titles: Column = _described("the chapters' titles, short and plain", min_length=1)
    settles: Column = _described("for each of them, in order: what it settles, one or two sentences")
    columns: Column = _described('for each of them, in order: the columns of its table, "a | b | c", or ""', [])
    documents: Column = _described('for each of them, in order: the numbers of its documents, "4, 17, 2"')
    entries: Column = _described('for each of them, in order: the numbers of what it names, "1, 8, 30", or ""', [])
    words: Column = _described("for each of them, in order: ten to twenty words that passages on it would use", [])


class ChartsAnswer(ModelAnswer):
    """Which series are worth a chart, by number."""

    charts: Numbers = _described("numbers of the series worth a chart, the best first")
    titles: Column = _described("for each of them, in order: the chart's title", [])
    joined: Column = _described('for each of them, in order: numbers of series for the same chart, "2, 3", or ""', [])


class ProgramsAnswer(ChartsAnswer):
    """The same, with the form of each chart and the program that draws it."""

    forms: Column = _described("for each of them, in order: line, bar, stacked, area, scatter or pie", [])
    programs: Programs = _described("for each of them, in order: the whole Python program that draws it", [])


class CodeAnswer(ModelAnswer):
    """Mended chart code."""

    python_code: Program = _described("the whole mended program", min_length=1)


class JudgeAnswer(ModelAnswer):
    """A judge's verdicts, one for each sentence that was asked for."""

    sentences: Numbers = _described("the numbers of the sentences", min_length=1)
    verdicts: Column = _described("for each of them, in order: your verdict")
    spans: LongColumn = _described(
        "for each of them, in order: the words of a passage that decide it, copied exactly; empty for a conclusion", []
    )
    passages: Column = _described("for each of them, in order: the passages it really rests on, such as E2, E5", [])
    reasons: Column = _described(
        "for each of them, in order: what is wrong with it, in a few words; empty if nothing is", []
    )


class HeldAnswer(ModelAnswer):
    """Statements of absence that a stretch refutes."""

    statements: Numbers = _described("the numbers of the statements that a stretch refutes; empty if none is", [])
    stretches: Numbers = _described("for each of them, in order: the number of the stretch", [])
    spans: LongColumn = _described("for each of them, in order: the words of the stretch that do, copied exactly", [])


class EditAnswer(ModelAnswer):
    """Sentences that change."""

    sentences: Numbers = _described("the numbers of the sentences that change", [])
    texts: LongColumn = _described("for each of them, in order: the new text with its marks; empty to delete it", [])


class RecallAnswer(ModelAnswer):
    """What a model knows by itself."""

    text: Plain = _described("what you know, or nothing", "")


def item_at(items: Sequence[Item], index: int, default: Item) -> Item:
    """Return an item of a list that goes with another one; a model may have given too few."""
    return items[index] if index < len(items) else default


def padded(column: Iterable[str]) -> Iterator[str]:
    """Yield the texts that go with another list, and then "": a model may have given too few."""
    return chain(column, repeat(""))


def read_answer(kind: type[SomeAnswer], text: str) -> tuple[SomeAnswer | None, str]:
    """Return the answer that a text holds, or None and what is wrong, in words that a model can mend it by."""
    problem = "there is no JSON object in it"
    candidates = (_unwrapped(data, kind) for data in reversed(_objects(text)))
    for candidate in filter(None, candidates):
        try:
            return kind.model_validate(candidate), ""
        except ValidationError as exc:
            first = exc.errors(include_url=False, include_input=False)[0]
            index = ".".join(map(str, first["loc"]))
            problem = f'the field "{index}" does not fit: {first["msg"].lower()}'
    return None, problem


def _objects(text: str) -> list[object]:
    """Return what JSON a text holds, strictly read where possible, mended where not."""
    bare = _FENCE.sub("", text)
    found: list[object] = []
    decoder, at = json.JSONDecoder(), 0
    while opening := _OPENING.search(bare, at):
        try:
            data, at = decoder.raw_decode(bare, opening.start())
        except (ValueError, RecursionError):
            break
        found.append(data)
    if not opening or len(_OPENING.findall(bare, at)) > _MAX_MENDED_OPENINGS:
        return found
    # Single quotes, comments, missing brackets: from here on strict reading ends.
    from json_repair import repair_json

    try:
        return [*found, repair_json(bare[opening.start() :], return_objects=True)]
    except (ValueError, RecursionError):  # Brackets in each other, deeper than it reads.
        return found


def _unwrapped(data: object, kind: type[ModelAnswer]) -> dict[str, object] | None:
    """Return the object that may be meant: the data, what it wraps, or a bare list as the field it must be."""
    lists = [name for name, field in kind.model_fields.items() if get_origin(field.annotation) is list]
    for _ in range(_WRAPPINGS):
        if isinstance(data, list):
            objects = [item for item in data if isinstance(item, dict)]
            if not objects:
                return {lists[0]: data} if lists and data else None
            data = objects[0] if len(objects) == 1 or _fits(objects[0], kind) else _columns(objects, lists)
        if not isinstance(data, dict):
            return None
        if _fits(data, kind):
            return {str(name): value for name, value in data.items()}
        inner = [value for value in data.values() if isinstance(value, dict | list)]
        if len(inner) != 1:
            return None
        data = inner[0]
    return None


def _columns(objects: list[dict[str, object]], names: list[str]) -> dict[str, object]:
    """Return a list of objects as an object of lists, where a model gave records instead of columns."""
    columns: dict[str, object] = {}
    for name in names:
        singular = name[:-3] + "y" if name.endswith("ies") else name.removesuffix("s")
        values = [item.get(name, item.get(singular)) for item in objects]
        if any(value is not None for value in values):
            columns[name] = values
    return columns


def _fits(data: dict[str, object], kind: type[ModelAnswer]) -> bool:
    """Return whether an object has fields of the answer, and is not the schema sent back."""
    is_schema = isinstance(data.get("properties"), dict) and "type" in data
    return not is_schema and any(name in kind.model_fields for name in data)
