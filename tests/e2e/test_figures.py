"""Figures in a report: a folder holds series, charts of them are drawn, and everything about them can be checked."""

import asyncio
import base64
import csv
import json
import re
import shutil
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from deep_research.pipeline.machine import StateMachine
from deep_research.pipeline.outcome import findings_from
from deep_research.pipeline.runtime import DeepResearchProcessor
from deep_research.pipeline.state import RunState, Update
from deep_research.report.figure import DataRow, Figure
from deep_research.request import Language, ResearchRequest
from deep_research.settings import Settings
from deep_research.storage.store.port import RunRow
from deep_research.verify.report import Verifier
from deep_research.wiring import build
from tests.support.charts import draw
from tests.support.longer import first_of

pytest.importorskip("matplotlib", reason="the extra `charts` is not installed")


@dataclass(frozen=True)
class Case:
    question: str
    text: str
    title: str
    unit: str
    mention: str
    caption: str
    sources: str


CASES: dict[Language, Case] = {
    "en": Case(
        "How did the electricity output of the Lund plant develop from 2019 to 2022?",
        "# The Lund plant\n\nThe electricity output of the Lund plant was 412 GWh in 2019.\n\n"
        "The electricity output of the Lund plant fell to 388 GWh in 2020.\n\n"
        "The electricity output of the Lund plant rose to 455 GWh in 2021.\n\n"
        "The electricity output of the Lund plant reached 1,501 GWh in 2022.\n",
        "Output of the Lund plant, 2019–2022 (GWh)",
        "GWh",
        "Figure 1 shows",
        "**Figure 1: Output",
        "Sources:",
    ),
    "zh-Hans": Case(
        "隆德电厂2019年至2022年的发电量如何变化？",
        "# 隆德电厂\n\n2019年隆德电厂的发电量为412亿千瓦时。\n\n2020年隆德电厂的发电量降至388亿千瓦时。\n\n"
        "2021年隆德电厂的发电量升至455亿千瓦时。\n\n2022年隆德电厂的发电量达到501亿千瓦时。\n",
        "隆德电厂发电量，2019–2022年（千瓦时）",
        "千瓦时",
        "图1按来源",
        "**图1：隆德",
        "来源：",
    ),
    "zh-Hant": Case(
        "隆德電廠2019年至2022年的發電量如何變化？",
        "# 隆德電廠\n\n2019年隆德電廠的發電量為412億度電。\n\n2020年隆德電廠的發電量降至388億度電。\n\n"
        "2021年隆德電廠的發電量升至455億度電。\n\n2022年隆德電廠的發電量達到501億度電。\n",
        "隆德電廠發電量，2019–2022年（度電）",
        "度電",
        "圖1按來源",
        "**圖1：隆德",
        "來源：",
    ),
}


class Drawing(StateMachine):
    """Draws the values that the sentences of the documents give, by year."""

    def __init__(self, case: Case, language: Language) -> None:
        super().__init__()
        self.case, self.language = case, language

    async def _stage_chart(self, state: RunState) -> Update | bool:
        records = state.context.records
        rows: dict[str, DataRow] = {}
        for piece in (await findings_from(state.input, records)).evidence:
            year = re.search(r"20\d\d", piece.quote)
            value = re.search(r"([\d,]+) ?(GWh|亿|億)", piece.quote)
            if year and value:
                size = float(value[1].replace(",", "")) * (1 if value[2] == "GWh" else 1e8)
                rows[year[0]] = DataRow(label=year[0], value=size, evidence=piece.id)
        chart: dict[str, Any] = {"title": self.case.title, "chart_type": "line", "unit": self.case.unit}
        chart["rows"] = tuple(rows[year] for year in sorted(rows))
        drawn = await draw(**chart, language=self.language)
        store, lease = state.context.run.store, state.context.run.lease
        png = await store.put_blob(lease, base64.b64decode(drawn.figures[0]))
        figure = Figure(**chart, png=png, svg=await store.put_blob(lease, drawn.svgs[0].encode()))
        return {"figures": [await records.keep(figure)]}


@cache  # one run a language, looked at from several sides
def run_of(language: Language, place: Path) -> tuple[RunRow, dict[str, Any]]:
    case = CASES[language]
    (place / "documents").mkdir(parents=True)
    (place / "documents" / "plant.md").write_text(case.text, encoding="utf-8")
    settings = Settings(home=place / "home", logs=place / "logs", docs=place / "documents", strategy="local")
    processor = DeepResearchProcessor(build(settings), machine=Drawing(case, language))

    async def process() -> tuple[RunRow, dict[str, Any]]:
        row = await processor.process(ResearchRequest(question=case.question, clarify="off"))
        return row, (await processor.result(row)).to_json()

    return asyncio.run(process())


@pytest.fixture(params=first_of(CASES), scope="module")
def language(request: pytest.FixtureRequest) -> Language:
    return request.param


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory, language: Language) -> Path:
    return tmp_path_factory.mktemp("user") / language


def lines_of(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "paragraphs.jsonl").read_text(encoding="utf-8").splitlines()]


def test_a_figure_stands_in_the_report_with_its_sources_and_its_files(language: Language, place: Path) -> None:
    row, result = run_of(language, place)
    case, folder = CASES[language], Path(row.folder)
    assert row.status == "done", row.error
    assert result["is_verified"], (folder / "verification.md").read_text(encoding="utf-8")
    report = (folder / "report.md").read_text(encoding="utf-8")
    introduced, picture, caption = (report.index(text) for text in (case.mention, "![", case.caption))
    assert introduced < picture < caption
    below = report[caption:].partition("\n\n")[0]
    assert f"{case.sources} [1]" in below or f"{case.sources}[1]" in below
    alt = re.search(r"!\[(.*)\]\(figures/figure-1\.png\)  \n", report)
    assert alt, "the picture and its caption are one block"
    assert "2019" in alt[1]
    assert "2022" in alt[1]
    assert [Path(image["address"]) for image in result["images"]] == [folder / "figures" / "figure-1.png"]
    assert (folder / "figures/figure-1.png").read_bytes().startswith(b"\x89PNG")
    for name in ("figure-1.svg", "figure-1-dark.svg"):
        assert "<svg" in (folder / "figures" / name).read_text(encoding="utf-8")


def test_each_value_of_the_data_names_the_passage_that_gives_it(language: Language, place: Path) -> None:
    folder = Path(run_of(language, place)[0].folder)
    raw = (folder / "figures/figure-1.csv").read_bytes()
    assert raw.startswith(b"\xef\xbb\xbf"), "spreadsheets take it for another encoding without the mark"
    table = list(csv.DictReader(raw.decode("utf-8-sig").splitlines()))
    assert [line["label"] for line in table] == ["2019", "2020", "2021", "2022"]
    assert all(line["label"] in line["passage"] and "plant.md" in line["source"] for line in table)
    (record,) = [line for line in lines_of(folder) if line["kind"] == "caption"]
    assert [each["value"] for each in record["figure"]["rows"]] == [float(line["value"]) for line in table]
    assert set(record["cite_ids"]) == {line["evidence"] for line in table}
    check = json.loads((folder / "verify.json").read_text(encoding="utf-8"))["paragraphs"]
    assert (check["figures"], check["figure_rows"], check["unstated_rows"]) == (1, 4, [])


def test_the_copy_of_the_report_finds_its_pictures(language: Language, place: Path) -> None:
    folder = Path(run_of(language, place)[0].folder)
    (copy,) = (place / "logs" / "reports").glob("*.md")
    links = re.findall(r"(?<!\\)\]\((\S*figures/\S+)\)", copy.read_text(encoding="utf-8"))
    assert {(copy.parent / link).resolve() for link in links} == {
        (folder / "figures" / name).resolve() for name in ("figure-1.png", "figure-1.csv")
    }


@pytest.mark.parametrize("fault", ["value", "evidence", "file"])
def test_a_figure_that_was_tampered_with_does_not_pass(
    tmp_path: Path, language: Language, place: Path, fault: str
) -> None:
    folder = tmp_path / "run"
    shutil.copytree(run_of(language, place)[0].folder, folder)
    if fault == "file":
        (folder / "figures/figure-1.csv").unlink()
    else:
        records = lines_of(folder)
        row = next(record for record in records if record["kind"] == "caption")["figure"]["rows"][1]
        row[fault] = 389.0 if fault == "value" else "feedfacefeedface"
        text = "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records)
        (folder / "paragraphs.jsonl").write_text(text, encoding="utf-8")
    outcome = Verifier().verify(folder / "report.md", folder / "paragraphs.jsonl")
    assert not outcome.passed
    assert ("figure-1.csv" if fault == "file" else "2020") in outcome.in_words()
