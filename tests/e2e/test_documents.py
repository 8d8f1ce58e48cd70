"""A question, a folder, a cited and verified answer: the whole command line over the example documents."""

import json
import re
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from deep_research.text.folding import fold_typography
from tests.e2e.harness import User
from tests.support.examples import EXAMPLES, copy_index

ENGLISH = "How much did the Halden Bay heat pump retrofit cost and what did it achieve?"
CHINESE = "青岚市的海绵城市改造花了多少钱，效果如何？"
FIXED_PARTS = {
    *("Abstract", "Conclusion", "Where the sources disagree", "What the sources do not answer", "About this report"),
    *(
        "关于本报告",
        "References",
        "摘要",
        "结论",
        "资料之间的分歧",
        "现有资料未能回答的问题",
        "参考文献",
    ),
}


class Asked:
    """One finished run of the command line, and its folder."""

    def __init__(self, user: User, *arguments: str, is_indexed: bool = True) -> None:
        self.user = user
        # One is a process with an empty home; the others begin where it has come to.
        if is_indexed:
            copy_index(user.home)
        ask = user.call if is_indexed else user.run
        self.finished: subprocess.CompletedProcess[str] = ask(*arguments, "--docs", str(EXAMPLES))
        assert self.finished.returncode == 0, self.finished.stderr
        self.report = self.finished.stdout
        self.folder = Path(user.only_run().folder)

    def lines(self, name: str) -> list[dict[str, Any]]:
        text = (self.folder / name).read_text(encoding="utf-8")
        return [json.loads(line) for line in text.splitlines()]

    @property
    def sections(self) -> list[str]:
        return [title for title in re.findall(r"^## (.+)$", self.report, re.MULTILINE) if title not in FIXED_PARTS]


@pytest.fixture(scope="module")
def english(tmp_path_factory: pytest.TempPathFactory) -> Asked:
    return Asked(User(tmp_path_factory.mktemp("english")), ENGLISH, is_indexed=False)


@pytest.fixture(scope="module")
def chinese(tmp_path_factory: pytest.TempPathFactory) -> Asked:
    return Asked(User(tmp_path_factory.mktemp("chinese")), CHINESE)


@pytest.fixture(params=["english", "chinese"])
def asked(request: pytest.FixtureRequest) -> Asked:
    found: Asked = request.getfixturevalue(request.param)
    return found


def test_report_has_a_section_for_each_side_that_was_asked_for(asked: Asked) -> None:
    assert len(set(asked.sections)) == len(asked.sections) == 2


def test_verification_passed(asked: Asked) -> None:
    check = json.loads((asked.folder / "verify.json").read_text(encoding="utf-8"))
    assert check["passed"]
    assert check["report_passed"]
    assert check["paragraphs_jsonl_cite_ids_passed"]
    assert check["paragraph_end_citation_passed"]
    assert check["paragraph_without_citation_count"] == 0
    assert set(check["paragraphs"]["verdicts"]) == {"supported"}


def test_references_name_author_and_year_where_a_document_says_them(asked: Asked) -> None:
    lines = dict(re.findall(r"^\[\d+\] (.+?) - (\S+)", asked.report, re.MULTILINE))
    bylines = {file: line for line, file in lines.items()}
    written = {
        "halden-courier-article.html": "(Mirela Stokes, 2026)",
        "qinglan-opinion.md": "(邵闻笛, 2026)",
        "qinglan-evening-news.html": "(乔知远, 2025)",
    }
    assert written.keys() & bylines.keys()
    for file in written.keys() & bylines.keys():
        assert bylines[file].endswith(written[file])
    # Nobody is named in it, and the day of the file is not its year.
    assert "(" not in bylines.get("council-closing-report.pdf", "")


def test_every_checked_paragraph_ends_in_a_citation(asked: Asked) -> None:
    body = asked.report.split("## References")[0].split("## 参考文献")[0]
    claims = [line for line in asked.lines("paragraphs.jsonl") if line["kind"] == "claim"]
    for claim in claims:
        opening = claim["sentences"][0]["text"]
        blocks = [block for block in body.split("\n\n") if opening in block and not block.startswith("|")]
        assert blocks, opening
        assert all(re.search(r"\[\d+\]$", block) for block in blocks), opening


def test_stored_text_at_the_recorded_offsets_holds_each_sentence(asked: Asked) -> None:
    evidence = {line["id"]: line for line in asked.lines("evidence.jsonl")}
    checked = 0
    for paragraph in asked.lines("paragraphs.jsonl"):
        # What introduces or names a figure says nothing that a source could.
        for sentence in paragraph["sentences"] if paragraph["kind"] not in ("note", "caption") else ():
            verdict = sentence["verdict"]
            document = evidence[verdict["evidence"]]["document"]
            stored = asked.user.with_store(lambda store, id_=document: store.get_document(id_))  # type: ignore[misc]
            passage = fold_typography(stored.text[verdict["start"] : verdict["end"]]).text
            for told in [value for _, value in sentence.get("cells", [])] or [sentence["text"]]:
                assert fold_typography(told).text in passage, sentence["text"]
            checked += 1
    assert checked >= 15


def test_evidence_names_its_source_and_place(asked: Asked) -> None:
    for line in asked.lines("evidence.jsonl"):
        assert (EXAMPLES / line["source"]).is_file()
        assert line["place"], line["source"]


def test_no_sentence_stands_in_two_sections(asked: Asked) -> None:
    body = [line for line in asked.lines("paragraphs.jsonl") if line["section"] in asked.sections]
    assert body
    told = Counter(sentence["text"] for line in body for sentence in line["sentences"])
    assert max(told.values()) == 1


def test_several_sources_are_cited_and_the_irrelevant_one_is_not(asked: Asked) -> None:
    cited = {line["source"] for line in asked.lines("evidence.jsonl")}
    assert len(cited) >= 4
    assert "choir-summer-programme.txt" not in cited


def test_hidden_text_does_not_reach_the_report(asked: Asked) -> None:
    for leaked in ("Hidden keyword", "€9 million", "隐藏关键词", "花了3亿元"):
        assert leaked not in asked.report


def test_broken_file_is_named_and_the_rest_is_used(asked: Asked) -> None:
    assert "audit-letter-truncated.pdf" in asked.report


def test_run_folder_is_complete(asked: Asked) -> None:
    names = {path.name for path in asked.folder.iterdir()}
    assert names >= {
        *("report.md", "verification.md", "verify.json", "paragraphs.jsonl", "evidence.jsonl", "citations.json"),
        *("clarify.json", "search_results.json", "stats.json", "rounds.jsonl"),
    }
    copy = asked.folder.parent.parent / "reports" / f"{asked.folder.name}.md"
    figures = re.compile(r"\]\([^()\s]*/figures/")
    assert figures.sub("](", copy.read_text(encoding="utf-8")) == figures.sub("](", asked.report)
    assert not [name for name in names if name.endswith(".tmp")]


def test_both_figures_of_the_disagreement_are_told(english: Asked, chinese: Asked) -> None:
    assert "€146.2 million" in english.report
    assert "€163.8 million" in english.report
    assert "48.6亿元" in chinese.report
    assert "53.9亿元" in chinese.report


def test_disagreeing_figures_stand_side_by_side_in_a_table(english: Asked, chinese: Asked) -> None:
    for report, title, figures in (
        (english.report, "## Where the sources disagree", ("€146.2 million", "€163.8 million")),
        (chinese.report, "## 资料之间的分歧", ("48.6亿元", "53.9亿元")),
    ):
        rows = [line for line in report.split(title)[1].split("\n## ")[0].split("\n") if line.startswith("| ")][2:]
        assert [row.split(" | ")[0].removeprefix("| ") for row in rows[:2]] == list(figures)
        assert all(re.search(r"\| \[\d+\] \|$", row) for row in rows)


def test_chinese_report_is_chinese(chinese: Asked) -> None:
    assert "## 摘要" in chinese.report
    assert "### 正文引用的资料" in chinese.report
    for title in chinese.sections:
        assert re.fullmatch(r"[\u4e00-\u9fff]+", title), title
    first = chinese.report.split("## 摘要\n\n")[1].split("\n## ")[0]
    assert re.search(r"。\[\d+\]", first)
    assert not re.search(r"[。，] ", first)


def test_abstract_has_the_documented_length(english: Asked, chinese: Asked) -> None:
    words = english.report.split("## Abstract\n\n")[1].split("\n\n## ")[0].split()
    blocks = chinese.report.split("## 摘要\n\n")[1].split("\n\n## ")[0].split("\n\n")
    # Who says it comes on top of what is said.
    characters = "".join(re.sub("^据《.*?》.*?：", "", block) for block in blocks)
    assert 100 <= len(words) <= 200
    assert 100 <= len(characters) <= 250


def test_unanswered_question_says_so_first_and_exits_0(tmp_path: Path) -> None:
    asked = Asked(User(tmp_path), "How much did the Halden Bay heat pumps cost in 1998?")
    answer = asked.report.split("## Answer\n\n")[1]
    assert answer.startswith("The sources at hand do not answer this question. What follows is the nearest")
    assert "Verification passed" not in asked.finished.stderr
    assert "The question is not answered. What the report quotes was checked." in asked.finished.stderr
    verification = (asked.folder / "verification.md").read_text(encoding="utf-8")
    assert verification.startswith("# The question is not answered;")


def test_an_open_question_is_answered_with_what_there_is_and_says_what_is_missing(tmp_path: Path) -> None:
    asked = Asked(User(tmp_path), "What are the health effects of the Halden Bay heat pumps?")
    assert "do not answer this question" not in asked.report
    assert "No source says anything about: health." in asked.report


def test_one_fact_is_the_first_line_with_its_source(tmp_path: Path) -> None:
    asked = Asked(
        User(tmp_path), "What was the budget of the Halden Bay retrofit that the council approved in June 2021?"
    )
    first = asked.report.split("## Answer\n\n")[1].split("\n")[0]
    assert "€118.0 million" in first
    assert first.endswith("[1]")


def test_question_about_nothing_in_the_folder_finds_nothing(tmp_path: Path) -> None:
    asked = Asked(User(tmp_path), "How do volcanoes on Io erupt sulphur?", "--quiet")
    assert asked.report.split("## Answer\n\n")[1].startswith("No source was found that answers this question.")
    assert asked.finished.stderr == ""


@pytest.mark.long
def test_question_from_standard_input_and_report_to_a_file(tmp_path: Path) -> None:
    user = User(tmp_path)
    process = subprocess.run(
        [*_command(), "--docs", str(EXAMPLES), "--output", "out/report.md", "--length", "short"],
        cwd=tmp_path,
        env=user.environment(),
        input=ENGLISH,
        capture_output=True,
        text=True,
        check=False,
    )
    assert process.returncode == 0, process.stderr
    assert process.stdout == ""
    assert (tmp_path / "out" / "report.md").read_text(encoding="utf-8").startswith(f"# {ENGLISH}")


def test_sources_outside_the_period_are_left_out(tmp_path: Path) -> None:
    asked = Asked(User(tmp_path), ENGLISH, "--since", "2026-02-20")
    dated = [line["source"] for line in asked.lines("evidence.jsonl")]
    assert "council-closing-report.pdf" not in dated
    assert "before 2026-02-20" in asked.report


def test_own_focuses_become_the_sections(tmp_path: Path) -> None:
    asked = Asked(User(tmp_path), ENGLISH, "--focus", "Coal", "--focus", "Noise complaints")
    assert set(asked.sections) <= {"Coal", "Noise complaints"}
    assert asked.sections


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["   "], 65, "empty"),
        (["\x00\x07\u200b"], 65, "empty"),
        (["why " * 25_000], 65, "at most"),
        ([ENGLISH, "--docs", "nowhere"], 65, "nowhere"),
        ([ENGLISH, "--docs", "a-file"], 65, "a-file"),
        ([ENGLISH, "--docs", "empty"], 65, "empty"),
        ([ENGLISH], 64, "--docs"),
        ([ENGLISH, "-p", "acme"], 64, "acme"),
        ([ENGLISH, "--language", "klingon"], 64, "language"),
        (["???", "--docs", str(EXAMPLES)], 1, ""),
    ],
)
def test_bad_input_gets_one_sentence_and_its_code(tmp_path: Path, arguments: list[str], code: int, said: str) -> None:
    user = User(tmp_path)
    (tmp_path / "empty").mkdir()
    (tmp_path / "a-file").write_text("text")
    finished = user.call(*[argument.replace("\x00", "") for argument in arguments], "--quiet")
    assert finished.returncode == code, finished.stderr
    assert said in finished.stderr
    assert finished.stderr.count("\n") == 1
    assert "Traceback" not in finished.stderr


def _command() -> list[str]:
    import sys

    return [sys.executable, "-m", "deep_research"]
