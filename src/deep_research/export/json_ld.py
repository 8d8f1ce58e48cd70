"""A report as JSON that is JSON-LD too: a schema.org Report with its claims, the passages they rest on, its sources."""

import json
from base64 import b64encode
from itertools import count

from deep_research.export.bibliography import entries, known_only
from deep_research.export.contents import Contents
from deep_research.export.markup import is_web
from deep_research.report.citation import Source
from deep_research.report.edition import CitedPassage, Edition
from deep_research.report.figure import Caption
from deep_research.report.paragraph import Paragraph, Sentence
from deep_research.text.messages.words import words_in
from deep_research.value import Json, JsonObject

# What schema.org has no word for is in a vocabulary of our own.
_CONTEXT: list[Json] = ["https://schema.org", {"@vocab": "urn:deep-research:"}]


def to_json(contents: Contents) -> bytes:
    """Return the whole report as JSON: its text, its claims with verdicts and passages, its sources and figures."""
    edition, report = contents.edition, contents.edition.report
    words, numbers = words_in(edition.language), count(1)
    chapters = [
        (report.abstract_title or words("report.abstract"), report.abstract),
        *((chapter.title, chapter.paragraphs) for chapter in report.chapters),
        (words("report.disagreements"), report.disagreements),
    ]
    parts: list[Json] = [
        {
            "@type": "Chapter",
            "name": title,
            "hasPart": [_part(each, contents, numbers) for each in paragraphs],
        }
        for title, paragraphs in chapters
        if paragraphs
    ]
    data: JsonObject = {
        "@context": _CONTEXT,
        "@type": "Report",
        "@id": f"urn:deep-research:run:{edition.run}",
        "name": report.title,
        "question": edition.question,
        "inLanguage": edition.language,
        "dateCreated": edition.created_at.isoformat(),
        "creator": {
            "@type": "SoftwareApplication",
            "name": "Deep Research",
            "softwareVersion": edition.code_version,
        },
        "run": edition.run,
        "isVerified": contents.is_verified,
        "notice": list(report.notice),
        "hasPart": parts,
        "knowledge": report.knowledge,
        "gaps": list(report.gaps),
        "notes": list(report.about),
        "citation": _cited(contents),
        "additionalSources": [_source(source) for source in edition.citations.additional],
        "text": contents.markdown,
    }
    return (json.dumps(data, ensure_ascii=False, indent=2) + "\n").encode()


def _part(paragraph: Paragraph, contents: Contents, numbers: "count[int]") -> JsonObject:
    if isinstance(paragraph, Caption):
        return _figure(paragraph, contents)
    claims: list[Json] = [_claim(each, paragraph, contents.edition, next(numbers)) for each in paragraph.sentences]
    return {
        "@type": "CreativeWork",
        "kind": paragraph.kind,
        "lead": paragraph.lead,
        "listMark": paragraph.mark,
        "hasPart": claims,
    }


def _claim(sentence: Sentence, paragraph: Paragraph, edition: Edition, number: int) -> JsonObject:
    """Return a sentence; one that leads over or tells of the research itself claims nothing."""
    is_claim = sentence.kind != "link" and paragraph.kind != "note"
    own = sentence.to_json()
    cells: list[Json] = [{"column": label, "value": value} for label, value in sentence.cells]
    return {
        "@type": "Claim" if is_claim else "CreativeWork",
        "@id": f"#sentence-{number}",
        "text": sentence.text,
        **known_only(
            {
                "kind": sentence.kind,
                "verdict": own["verdict"],
                "isBasedOn": [{"@id": f"#passage-{id_}"} for id_ in sentence.evidence],
                "citation": [{"@id": f"#source-{at}"} for at in sorted({*map(edition.number_of, sentence.evidence)})],
                "basis": sentence.basis,
                "lead": sentence.lead,
                "cells": cells,
                "backing": own["backing"],
            }
        ),
    }


def _figure(caption: Caption, contents: Contents) -> JsonObject:
    figure = caption.figure
    rows: list[Json] = [
        {
            "label": row.label,
            "series": row.series,
            "value": row.value,
            "isBasedOn": {"@id": f"#passage-{row.evidence}"},
        }
        for row in figure.rows
    ]
    return {
        "@type": "ImageObject",
        "@id": f"#figure-{caption.number}",
        "name": figure.title,
        "caption": caption.text,
        "chart": figure.chart_type,
        "unit": figure.unit,
        "data": rows,
        "encodingFormat": "image/png",
        "contentUrl": f"data:image/png;base64,{b64encode(contents.pictures.get(figure.png, b'')).decode()}",
    }


def _cited(contents: Contents) -> list[Json]:
    edition = contents.edition
    cited: list[Json] = []
    for number, (source, entry) in enumerate(zip(edition.citations.cited, entries(contents), strict=True), start=1):
        quotations: list[Json] = [_quotation(each) for each in edition.passages if each.document == source.document]
        cited.append(
            {
                "@id": f"#source-{number}",
                "position": number,
                **_source(source),
                "@type": "ScholarlyArticle" if entry.kind in ("article", "preprint") else "CreativeWork",
                **({"sameAs": f"https://doi.org/{entry.doi}"} if entry.doi else {}),
                "hasPart": quotations,
            }
        )
    return cited


def _source(source: Source) -> JsonObject:
    address = {"url": source.address} if is_web(source.address) else {"identifier": source.address}
    return known_only(
        {
            "@type": "CreativeWork",
            "name": source.title,
            **address,
            "author": source.author,
            "datePublished": source.published,
            "inLanguage": source.language,
            "document": source.document,
            "places": list(source.places),
            "delivered": source.delivered,
            "warnings": list(source.warnings),
        }
    )


def _quotation(passage: CitedPassage) -> JsonObject:
    return known_only(
        {
            "@type": "Quotation",
            "@id": f"#passage-{passage.id}",
            "text": passage.quote,
            "place": passage.place,
            "start": passage.start,
            "end": passage.end,
            "before": passage.before,
            "after": passage.after,
            "header": passage.header,
        }
    )
