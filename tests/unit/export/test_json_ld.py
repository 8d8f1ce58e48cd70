"""The report as JSON: nothing of it is lost, and every reference inside it leads somewhere."""

import base64
import json
from collections.abc import Iterator
from typing import Any

import pytest

from deep_research.export.json_ld import to_json
from deep_research.request import Language
from tests.support.editions import TEXTS, contents, png


def _nodes(data: Any) -> Iterator[dict[str, Any]]:
    if isinstance(data, dict):
        yield data
        data = list(data.values())
    for each in data if isinstance(data, list) else []:
        yield from _nodes(each)


@pytest.mark.parametrize("language", ["en", "zh-Hans", "zh-Hant"])
def test_claims_have_kind_verdict_and_passages(language: Language) -> None:
    made = contents(language)
    data = json.loads(to_json(made))
    nodes = list(_nodes(data))
    claims = [node for node in nodes if node.get("@type") == "Claim"]
    said = [sentence for paragraph in made.edition.report.paragraphs for sentence in paragraph.sentences]
    figures = len(made.edition.captions)
    assert len(claims) == len(said) - figures
    assert {claim["kind"] for claim in claims} == {"finding", "conclusion", "calculation"}
    assert claims[0]["verdict"]["kind"] == "supported"
    defined = {node["@id"] for node in nodes if "@id" in node and len(node) > 1}
    meant = {node["@id"] for node in nodes if set(node) == {"@id"}}
    assert meant
    assert meant <= defined
    [passage] = [node for node in nodes if node.get("@id") == claims[0]["isBasedOn"][0]["@id"] and len(node) > 1]
    assert passage["@type"] == "Quotation"
    assert passage["text"] == TEXTS[language].quote


def test_the_whole_report_is_in_it() -> None:
    made = contents(extra='"quoted" \\ <b>')
    data = json.loads(to_json(made))
    assert data["@type"] == "Report"
    assert data["@context"][0] == "https://schema.org"
    assert data["name"] == made.edition.report.title
    assert data["text"] == made.markdown
    assert data["isVerified"] is True
    assert [source["position"] for source in data["citation"]] == [1, 2, 3, 4]
    assert data["citation"][0]["url"] == "https://example.org/reports/1"
    assert data["citation"][1]["identifier"] == "folder/report-2.pdf"
    [figure] = [node for node in _nodes(data) if node.get("@type") == "ImageObject"]
    assert base64.b64decode(figure["contentUrl"].partition(",")[2]) == png()
    assert [row["value"] for row in figure["data"]] == [1234.5, 2469.0, 3703.5, 4938.0]
    assert to_json(made) == to_json(made)
