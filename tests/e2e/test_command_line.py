"""What people type first: a file, words without quotes, a slip, an old report; and what they see last."""

import json
from pathlib import Path

import pytest

from tests.e2e.harness import User, assert_explained
from tests.e2e.terminal import Terminal

DOCUMENTS = Path(__file__).parents[2] / "examples" / "documents"
REPORT = DOCUMENTS / "council-closing-report.pdf"
COST = ("How", "much", "did", "the", "Harbour", "Heat", "retrofit", "cost", "in", "total")


@pytest.fixture
def user(tmp_path: Path) -> User:
    return User(tmp_path)


def test_one_file_is_researched_and_its_neighbours_are_not(user: User) -> None:
    ended = user.call(*COST, "--docs", str(REPORT), "--json")
    assert ended.returncode == 0, ended.stderr
    shown = json.loads(ended.stdout)
    assert shown["title"] == " ".join(COST)
    assert "€146.2 million" in shown["finalReport"]
    assert [source["address"] for source in shown["sources"]] == [REPORT.name]
    assert user.call("runs", "resume", user.only_run().id, "--quiet").returncode == 0


def test_a_chinese_file_is_read_through_a_link_too(user: User, tmp_path: Path) -> None:
    link = tmp_path / "青岚.md"
    link.symlink_to(DOCUMENTS / "qinglan-faq.md")
    ended = user.call("青岚市的海绵城市改造花了多少钱？", "--docs", str(link), "--quiet")
    assert ended.returncode == 0, ended.stderr
    assert "亿元" in ended.stdout
    assert "qinglan-faq.md" in ended.stdout


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("notes.foo", "x", "no reader knows"),
        ("empty.md", "", "is empty"),
        ("gone.md", None, "There is no folder or file"),
    ],
)
def test_a_file_that_cannot_be_read_is_explained(user: User, name: str, content: str | None, words: str) -> None:
    if content is not None:
        (user.folder / name).write_text(content)
    assert words in assert_explained(user.call(*COST, "--docs", name), 65)


def test_what_would_be_left_out_in_silence_is_refused(user: User) -> None:
    assert "one folder or one file" in assert_explained(user.call(*COST, "--docs", "a", "--docs", "b"), 64)
    (user.folder / "b.md").write_text("x")
    assert "b.md is a file" in assert_explained(user.call("--docs", "a.md", "b.md", "What?"), 64)


@pytest.mark.parametrize("typed", [["dcotor"], ["run", "list"], ["help"], ["aks", "What did it cost?"]])
def test_a_slip_in_a_command_starts_no_run(user: User, typed: list[str]) -> None:
    said = assert_explained(user.call(*typed, "--docs", str(DOCUMENTS)), 64)
    assert said.startswith("Did you mean: deep-research ")
    assert not user.home.exists()


def test_an_old_report_is_printed_again(user: User) -> None:
    first = user.call(*COST, "--docs", str(REPORT))
    run = user.only_run()
    assert user.call("runs", "report", run.id[:8]).stdout == first.stdout
    assert user.call("runs", "report", run.id, "--output", "kept/report.md").returncode == 0
    assert (user.folder / "kept" / "report.md").read_text(encoding="utf-8") == first.stdout
    assert json.loads(user.call("runs", "report", run.id, "--json").stdout)["finalReport"] == first.stdout


def test_a_run_without_a_report_says_where_it_stands(user: User) -> None:
    assert user.call("那个项目", "--docs", str(DOCUMENTS)).returncode == 2
    said = assert_explained(user.call("runs", "report", user.only_run().id), 64)
    assert "has no report; it is waiting" in said


def test_an_answer_may_be_typed_without_quotes_too(user: User) -> None:
    assert user.call("that project", "--docs", str(DOCUMENTS)).returncode == 2
    ended = user.call("runs", "answer", user.only_run().id, "Harbour", "Heat", "--quiet")
    assert ended.returncode == 0, ended.stderr
    assert "Harbour Heat" in ended.stdout.splitlines()[0]


@pytest.mark.parametrize(
    ("question", "answer", "place"),
    [
        (COST, "€146.2 million in total by 31 December 2025. [1]", "The whole report is in"),
        (("青岚市的海绵城市改造花了多少钱？",), "亿元", "完整报告已保存至"),
    ],
)
def test_the_last_screen_at_a_terminal_is_the_answer(
    user: User, question: tuple[str, ...], answer: str, place: str
) -> None:
    docs = REPORT if question == COST else DOCUMENTS / "qinglan-faq.md"
    with Terminal(user, *question, "--docs", str(docs), has_output=True) as terminal:
        assert terminal.end() == 0
    _, _, last = terminal.shown.rpartition("## ")
    assert answer in last
    assert "[1] " in last.partition("[1]")[2], "the source of the answer"
    assert place in last
    assert f"runs report {user.only_run().id[:8]}" in last.replace("\n", "")
    for statistics in ("Verification", "核查通过", "tokens", "词元", "References", "参考文献"):
        assert statistics not in last


def test_the_whole_report_still_goes_into_a_pipe_and_the_answer_to_the_terminal(user: User) -> None:
    with Terminal(user, *COST, "--docs", str(REPORT)) as terminal:
        assert terminal.end() == 0
    assert "## Answer" in terminal.shown
    assert "€146.2 million" in terminal.shown.rpartition("## Answer")[2]
    assert "## References" not in terminal.shown


def test_verbose_shows_queries_sources_and_what_it_came_to(user: User) -> None:
    brief = user.call(*COST, "--docs", str(REPORT)).stderr
    full = user.call(*COST, "--docs", str(REPORT), "-v").stderr
    source = "+ Harbour Heat Programme: closing report to the Halden Bay City Council - council-closing-report.pdf"
    assert source in full
    assert "? Findings: " in full
    assert source not in brief
    with Terminal(user, *COST, "--docs", str(REPORT), "--verbose", has_output=True) as terminal:
        assert terminal.end() == 0
    assert "Verification passed." in terminal.shown


@pytest.fixture
def dated(tmp_path: Path) -> Path:
    """Two minutes whose own lines give their dates, written today as all files are."""
    docs = tmp_path / "docs"
    docs.mkdir()
    for year, cost in ((2023, 410), (2025, 520)):
        text = f"# Minutes of the council\n\nDate: {year}-03-14\n\nThe Alder bridge repair cost {cost} euros.\n"
        (docs / f"minutes {year}.md").write_text(text)
    return docs


@pytest.mark.parametrize(
    ("option", "value", "kept"),
    [
        ("--since", "2024", {"minutes 2025.md"}),
        ("--since", "2025-03", {"minutes 2025.md"}),
        ("--since", "2025-03-15", set()),
        ("--since", "2024年1月", {"minutes 2025.md"}),
        ("--until", "2023-03", {"minutes 2023.md"}),
        ("--until", "2025", {"minutes 2023.md", "minutes 2025.md"}),
    ],
)
def test_a_period_goes_by_the_dates_that_documents_bear(
    user: User, dated: Path, option: str, value: str, kept: set[str]
) -> None:
    ended = user.call("What did the Alder bridge repair cost?", "--docs", str(dated), option, value, "--json")
    assert ended.returncode == 0, ended.stderr
    assert {source["address"] for source in json.loads(ended.stdout)["sources"]} == kept


def test_what_is_no_date_is_explained(user: User) -> None:
    said = assert_explained(user.call(*COST, "--docs", str(REPORT), "--since", "soon"), 64)
    assert "2025-01-31" in said


@pytest.mark.parametrize(
    ("name", "heading"), [("zh", "## 参考文献"), ("zh-TW", "## 參考文獻"), ("en", "## References")]
)
def test_the_short_name_of_a_language_is_enough(user: User, name: str, heading: str) -> None:
    assert heading in user.call(*COST, "--docs", str(REPORT), "--language", name, "--quiet").stdout
