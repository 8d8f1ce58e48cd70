"""The stored text behind each verdict is opened, and what does not stand there is named."""

import json
from pathlib import Path

import pytest

from deep_research.report.evidence.passage import Evidence
from deep_research.report.paragraph import Sentence
from deep_research.text.sentences import split_sentences
from deep_research.verify.quote import check_quote
from deep_research.verify.recheck import check_offsets

TEXT = "Costs rose. However, the plant (see Table 1) cost 5 million. It is not safe. 该厂投资5亿元。此外，该厂已投产。"
STORE = {"d1": TEXT}


def ship(folder: Path, sentences: list[str], **changes: object) -> Path:
    """Write what the pipeline would for sentences quoted from the text; `changes` go into each verdict."""
    lines, evidence = [], []
    for number, span in enumerate(split_sentences(TEXT)):
        quote = TEXT[span.start : span.end]
        evidence.append(
            Evidence(
                id=f"e{number}", document="d1", start=span.start, end=span.end, quote=quote, finding="", section=""
            )
        )
    for number, text in enumerate(sentences, start=1):
        verdict = check_quote(Sentence(text=text), evidence)
        assert verdict is not None
        said = verdict.model_copy(update=changes).to_json()
        sentence = {"text": text, "evidence": [verdict.evidence], "verdict": said}
        lines.append(
            {
                "id": f"p{number}",
                "section": "s",
                "kind": "claim",
                "text": text,
                "cite_ids": [verdict.evidence],
                "sentences": [sentence],
            }
        )
    path = folder / "paragraphs.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    proofs = "".join(json.dumps(piece.to_json()) + "\n" for piece in evidence)
    (folder / "evidence.jsonl").write_text(proofs, encoding="utf-8")
    return path


def test_quoted_and_trimmed_sentences_stand_where_their_verdicts_say(tmp_path):
    path = ship(tmp_path, ["Costs rose.", "The plant cost 5 million.", "该厂投资5亿元。", "该厂已投产。"])
    assert check_offsets(path, STORE.__getitem__) == []


@pytest.mark.parametrize(
    ("said", "forged"),
    [("The plant cost 5 million.", "The plant cost 7 million."), ("该厂投资5亿元。", "该厂投资6亿元。")],
)
def test_a_forged_figure_is_found_in_a_sentence_that_a_judge_let_pass(tmp_path, said, forged):
    path = ship(tmp_path, [said], reason="judged")
    assert check_offsets(path, STORE.__getitem__) == []
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    lines[0]["sentences"][0]["text"] = lines[0]["text"] = forged
    path.write_text(json.dumps(lines[0]), encoding="utf-8")
    [problem] = check_offsets(path, STORE.__getitem__)
    assert "the passages do not carry the sentence (number" in problem


NAMED = "## Why phase 3 failed\n\nInstallers merge the indexes that they were given.\n"
QUOTED = "Installers merge the indexes that they were given."


@pytest.mark.parametrize(
    ("said", "is_carried"),
    [
        ("PEP 708 says that installers merge the indexes they were given.", True),
        ("PEP 708 says of phase 3 that installers merge the indexes they were given.", True),
        ("PEP 718 says that installers merge the indexes they were given.", False),
        ("PEP 592 says that installers merge the indexes they were given.", False),
        ("PEP 708规定安装程序合并所给的索引。", True),
        ("PEP 718规定安装程序合并所给的索引。", False),
        ("In 2023 it said that installers merge the indexes they were given.", True),
        ("In 2015 it said that installers merge the indexes they were given.", False),
    ],
)
def test_number_of_a_cited_documents_title_heading_or_day_is_carried_and_another_is_not(tmp_path, said, is_carried):
    place = {"start": NAMED.index(QUOTED), "end": NAMED.index(QUOTED) + len(QUOTED)}
    piece = {"id": "e1", "document": "d1", "quote": QUOTED, **place}
    verdict = {"kind": "supported", "reason": "judged", "evidence": "e1", **place}
    sentence = {"text": said, "evidence": ["e1"], "verdict": verdict}
    line = {"id": "p1", "section": "s", "kind": "claim", "text": said, "cite_ids": ["e1"], "sentences": [sentence]}
    # The other document is listed too, and not cited by the sentence.
    listed = {
        "1": {"document": "d1", "title": "PEP 708", "published": "2023-02-20"},
        "2": {"document": "d2", "title": "PEP 592", "published": "2015-05-07"},
    }
    path = tmp_path / "paragraphs.jsonl"
    for name, content in (("paragraphs.jsonl", line), ("evidence.jsonl", piece), ("citations.json", listed)):
        (tmp_path / name).write_text(json.dumps(content), encoding="utf-8")
    found = check_offsets(path, {"d1": NAMED}.__getitem__)
    assert [problem.partition("(")[2].partition(":")[0] in ("number", "date") for problem in found] == [True] * (
        not is_carried
    )


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"start": 0}, "outside the passage"),
        ({"end": 10_000}, "outside the passage"),
        ({"start": -1, "end": -1}, "outside the passage"),
        ({"end": TEXT.index(" safe.")}, "does not hold the sentence"),
        ({"evidence": "e99"}, "names no evidence"),
        ({"evidence": "e0"}, "names no evidence"),
        ({"reason": "trimmed"}, "does not hold the sentence"),
    ],
)
def test_wrong_offsets_are_named(tmp_path, changes, problem):
    path = ship(tmp_path, ["It is not safe."], **changes)
    found = check_offsets(path, STORE.__getitem__)
    assert len(found) == 1
    assert problem in found[0]
    assert found[0].startswith("p1: ")


def test_passage_that_was_cut_out_of_a_sentence_is_named(tmp_path):
    start = TEXT.index("safe.")
    piece = Evidence(id="e0", document="d1", start=start, end=start + 5, quote="safe.", finding="", section="")
    sentence = Sentence(text="safe.", evidence=("e0",))
    verdict = check_quote(sentence, (piece,))
    path = ship(tmp_path, ["Costs rose."])
    (tmp_path / "evidence.jsonl").write_text(json.dumps(piece.to_json()) + "\n", encoding="utf-8")
    line = json.loads(path.read_text(encoding="utf-8"))
    line["sentences"] = [sentence.model_copy(update={"verdict": verdict}).to_json()]
    path.write_text(json.dumps(line), encoding="utf-8")
    assert "only as part of a sentence" in check_offsets(path, STORE.__getitem__)[0]


def test_changed_or_missing_documents_are_named(tmp_path):
    path = ship(tmp_path, ["Costs rose."])
    assert "does not hold the passage" in check_offsets(path, lambda _: TEXT.replace("rose", "fell"))[0]
    nothing: dict[str, str] = {}
    assert "not in the store" in check_offsets(path, nothing.__getitem__)[0]
    assert check_offsets(tmp_path / "elsewhere" / "paragraphs.jsonl", STORE.__getitem__) != []


def test_judged_sentences_need_a_real_span_and_others_none(tmp_path):
    assert check_offsets(ship(tmp_path, ["Costs rose."], reason="judged"), STORE.__getitem__) == []
    assert check_offsets(ship(tmp_path, ["Costs rose."], kind="not_checked", start=-1), STORE.__getitem__) == []


TABLE = (
    "# Costs\n\n| Part | Cost | Year |\n| --- | --- | --- |\n| Tank | 5 | 2024 |\n| Pump | 6 | 2025 |\n\n"
    "| Part | Share |\n| --- | --- |\n| Tank | 8 % |\n"
)


def ship_row(folder: Path, cells: list[list[str]], line: str, header: str = "| Part | Cost | Year |") -> Path:
    """Write a table of one row as the pipeline does, with the verdict that it stands where `line` does."""
    start = TABLE.index(line)
    span = {"start": start, "end": start + len(line)}
    pieces = [
        {"id": "r", "document": "d1", "quote": line, **span},
        {"id": "h", "document": "d1", "quote": header, "start": TABLE.index(header), "end": TABLE.index("\n| ---")},
    ]
    verdict = {"kind": "supported", "reason": "verbatim", "evidence": "r", **span}
    sentence = {"text": "x", "evidence": ["r", "h"], "cells": cells, "verdict": verdict}
    table = {"id": "p1", "section": "s", "kind": "table", "text": "x", "cite_ids": ["r", "h"], "sentences": [sentence]}
    (folder / "evidence.jsonl").write_text("".join(json.dumps(piece) + "\n" for piece in pieces), encoding="utf-8")
    path = folder / "paragraphs.jsonl"
    path.write_text(json.dumps(table) + "\n", encoding="utf-8")
    return path


def test_row_stands_in_its_own_table_under_its_own_header(tmp_path):
    path = ship_row(tmp_path, [["Part", "Tank"], ["Year", "2024"]], "| Tank | 5 | 2024 |")
    assert check_offsets(path, {"d1": TABLE}.__getitem__) == []


@pytest.mark.parametrize(
    ("cells", "line", "problem"),
    [
        ([["Part", "Tank"], ["Cost", "6"]], "| Tank | 5 | 2024 |", "does not hold the row"),
        ([["Part", "Tank"], ["Cost", "2024"]], "| Tank | 5 | 2024 |", "does not hold the row"),
        ([["Part", "Pump"], ["Cost", "6"]], "| Tank | 5 | 2024 |", "does not hold the row"),
        # The first table's header does not name what the second one holds.
        ([["Part", "Tank"], ["Cost", "8 %"]], "| Tank | 8 % |", "does not hold the row"),
        ([["Part", "Part"], ["Cost", "Cost"]], "| Part | Cost | Year |", "no row of a table"),
        ([["Part", "Tank"]], "# Costs", "no row of a table"),
    ],
)
def test_row_that_stands_elsewhere_or_says_something_else_is_named(tmp_path, cells, line, problem):
    path = ship_row(tmp_path, cells, line)
    assert problem in check_offsets(path, {"d1": TABLE}.__getitem__)[0]
