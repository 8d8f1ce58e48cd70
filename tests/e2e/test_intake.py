"""A question that cannot be researched as it stands, through the command line: looked up, asked about, or refused."""

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from deep_research.errors import NetworkError
from deep_research.llm.registry import PROVIDERS
from deep_research.request import IntakeRules
from deep_research.testing import StaticSearch
from tests.e2e.harness import Lab, User, assert_explained
from tests.e2e.terminal import CTRL_C, CTRL_D, Terminal
from tests.support.longer import first_of
from tests.support.reasoner import ScriptedReasoner
from tests.support.world import World


@pytest.fixture(scope="module")
def docs(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return a folder in which STATUS6 stands, far down in a long text, and XYZ123 does not."""
    folder = tmp_path_factory.mktemp("docs")
    filler = "The committee met in spring and heard reports on the laboratories of the region. " * 12
    genes = (
        f"# Genes\n\n{filler}\n\n{filler} The STATUS6 gene was first described in 2019. "
        "In a cohort of 214 patients the expression of the STATUS6 gene rose by 32%.\n\n"
        "STATUS6 基因位于第七号染色体，其表达与肝脏纤维化有关。\n\nKRAS G12C 靶点的抑制剂在 2021 年获批。\n"
    )
    (folder / "genes.md").write_text(genes, encoding="utf-8")
    (folder / "choir.txt").write_text("The choir sings in summer. 合唱团在夏天演出。\n", encoding="utf-8")
    return str(folder)


def clarified(user: User) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((Path(user.only_run().folder) / "clarify.json").read_text(encoding="utf-8"))
    return found


@pytest.mark.parametrize("question", ["STATUS6 基因", "The STATUS6 gene"])
def test_strange_name_that_stands_in_the_documents_starts(tmp_path: Path, docs: str, question: str) -> None:
    user = User(tmp_path)
    ended = user.call("ask", question, "--docs", docs)
    assert ended.returncode == 0, ended.stderr
    assert "214" in ended.stdout or "第七号染色体" in ended.stdout
    found = clarified(user)
    assert (found["next_action"], found["known_terms"], found["unknown_terms"]) == ("START_RESEARCH", ["STATUS6"], [])


def test_strange_name_that_no_document_has_is_asked_about_once(tmp_path: Path, docs: str) -> None:
    user = User(tmp_path)
    said = assert_explained(user.call("ask", "XYZ123 基因", "--docs", docs), 2)
    assert "没有找到关于“XYZ123”的资料" in said
    assert "  1. 按原样检索“XYZ123”（推荐）" in said
    ended = user.call("runs", "answer", user.only_run().id, "1")
    assert ended.returncode == 0, ended.stderr
    assert "“XYZ123”" in ended.stdout, "the assumption is stated"
    found = clarified(user)
    assert found["question"] == found["refined_question"] == "XYZ123 基因"
    assert [exchange["answer"] for exchange in found["exchanges"]] == ["按原样检索“XYZ123”"]
    assert found["assumptions"]
    assert sum(event.kind == "clarification" for event in user.events()) == 1


def test_search_that_fails_does_not_make_a_name_unknown(tmp_path: Path) -> None:
    lab = Lab(User(tmp_path), world=World(pages=8, reasoner=ScriptedReasoner()))
    down = [NetworkError("the engine does not answer")]
    lab.change = lambda adapters: _with_engine(adapters, down)
    assert lab.ask("What does XYZ123 do?").status == "done"


def _with_engine(adapters: Any, failures: list[Any]) -> Any:
    from dataclasses import replace

    engine = adapters.engines[0]
    assert isinstance(engine, StaticSearch)
    return replace(adapters, engines=(replace(engine, failures=list(failures)),))


@pytest.mark.parametrize("is_file", [False, True])
def test_context_says_what_that_target_is(tmp_path: Path, docs: str, is_file: bool) -> None:
    user, context = User(tmp_path), "我們剛才討論了 KRAS G12C 靶點的抑制劑。"
    if is_file:
        (tmp_path / "talk.txt").write_text(context, encoding="utf-8")
        context = "@talk.txt"
    ended = user.call("ask", "那個靶點", "--docs", docs, "--context", context)
    assert ended.returncode == 0, ended.stderr
    found = clarified(user)
    assert found["refined_question"] == "KRAS G12C 靶點"
    assert found["assumptions"][0] in ended.stdout


@pytest.mark.parametrize(("content", "said"), [(None, "cannot be read"), ("那个".encode("gbk"), "UTF-8")])
def test_context_that_cannot_be_read_is_named(tmp_path: Path, docs: str, content: bytes | None, said: str) -> None:
    user = User(tmp_path)
    if content is not None:
        (tmp_path / "talk.txt").write_bytes(content)
    assert said in assert_explained(user.call("ask", "那个靶点", "--docs", docs, "--context", "@talk.txt"), 65)


def test_text_without_a_question_cannot_be_done(tmp_path: Path, docs: str) -> None:
    user = User(tmp_path)
    assert "no question" in assert_explained(user.run("ask", "42 !?", "--docs", docs), 1)
    assert clarified(user)["next_action"] == "CANNOT_DO"


def test_nobody_to_answer_exits_with_two_and_assume_starts(tmp_path: Path, docs: str) -> None:
    user = User(tmp_path / "asked")
    assert "runs answer" in assert_explained(user.run("ask", "癌症", "--docs", docs), 2)
    other = User(tmp_path / "assumed")
    ended = other.call("ask", "癌症", "--docs", docs, "--assume")
    assert ended.returncode == 0, ended.stderr
    assert "“癌症”" in ended.stdout, "the assumption is stated"


@pytest.mark.parametrize("answer", ["", "随便", "9"])
def test_strict_fails_without_a_valid_answer(tmp_path: Path, docs: str, answer: str) -> None:
    user = User(tmp_path)
    assert_explained(user.call("ask", "热泵", "--docs", docs, "--clarify", "strict"), 2)
    command = user.run if not answer else user.call
    assert "strict" in assert_explained(command("runs", "answer", user.only_run().id, answer), 1)
    assert user.only_run().status == "failed"


def test_number_that_names_no_option_is_not_taken_for_an_answer(tmp_path: Path, docs: str) -> None:
    user = User(tmp_path)
    user.call("ask", "癌症", "--docs", docs)
    run = user.only_run().id
    assert "choose 1 to 4" in assert_explained(user.call("runs", "answer", run, "7"), 64)
    assert user.only_run().status == "waiting"
    assert user.call("runs", "answer", run, "2").returncode == 0
    assert clarified(user)["exchanges"][0]["answer"] == "背景"


def test_strict_asks_by_the_letter_also_with_a_model(tmp_path: Path) -> None:
    user = User(tmp_path)
    row = Lab(user).ask("heat pumps", clarify="strict")
    assert row.status == "waiting"
    assert not any(call.startswith("llm") for call in user.begun()), "rules need no model"


def test_own_vague_word_is_asked_about_also_with_a_model(tmp_path: Path) -> None:
    lab = Lab(User(tmp_path))
    row = lab.ask("What did our usual project cost and achieve?", rules=IntakeRules(vague_words=("our usual project",)))
    assert row.status == "waiting"
    assert lab.answer(row.id, "the Halden Bay retrofit").status == "done"


def test_refusal_is_stated_in_the_report_also_with_a_model_that_states_nothing(tmp_path: Path) -> None:
    user = User(tmp_path)
    lab = Lab(user, world=World(pages=8, reasoner=ScriptedReasoner(questions=9)))
    lab.answer(lab.ask("cancer").id, "start now")
    assert "an overview of “cancer”" in user.report()


def test_rules_of_ones_own_are_kept_with_the_run(tmp_path: Path, docs: str) -> None:
    user = User(tmp_path)
    rules = tmp_path / "rules.toml"
    rules.write_text('[questions]\naspect = "Which part of {topic}?"\n', encoding="utf-8")
    said = assert_explained(user.call("ask", "cancer", "--docs", docs, DEEP_RESEARCH_CLARIFY_RULES=str(rules)), 2)
    assert "Which part of cancer?" in said
    rules.write_text("[questions]\nasp = ''\n", encoding="utf-8")
    ended = user.call("ask", "cancer", "--docs", docs, DEEP_RESEARCH_CLARIFY_RULES=str(rules))
    assert "questions.asp" in assert_explained(ended, 64)
    assert user.call("runs", "answer", user.only_run().id, "Risks").returncode == 0


# What we offer, and questions about the material

EXAMPLES = Path(__file__).parents[2] / "examples" / "documents"


@pytest.fixture(scope="module")
def heat(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return a folder with some of the example documents, in both languages."""
    folder = tmp_path_factory.mktemp("heat")
    for name in ("tariff-sheet-2026.txt", "heat-pump-engineering-note.md", "halden-bay-visit-notes-zh.md"):
        shutil.copy(EXAMPLES / name, folder)
    shutil.copy(EXAMPLES / "青岚市调蓄池技术说明.md", folder)
    return str(folder)


def cited(report: str) -> int:
    return len(re.findall(r"\[\d+\]", re.split(r"\n## (?:References|参考文献|參考文獻)", report)[0]))


@pytest.mark.parametrize(
    ("question", "answers"),
    first_of(
        [
            ("What about this?", ("start now", "2", "differences between my documents")),
            ("这个怎么样", ("直接开始研究", "1", "我的資料中的最新進展")),
            ("這個怎麼樣", ("直接開始研究", "2", "3")),
        ]
    ),
)
def test_option_we_offer_leads_to_as_good_a_report_as_starting_now(
    tmp_path: Path, heat: str, question: str, answers: tuple[str, ...]
) -> None:
    counts: list[int] = []
    for answer in answers:
        user = User(tmp_path / str(len(counts)))
        user.call("ask", question, "--docs", heat)
        ended = user.call("runs", "answer", user.only_run().id, answer)
        assert ended.returncode == 0, ended.stderr
        counts.append(cited(ended.stdout))
        assert not re.search("No source says|没有资料提到|沒有資料提到", ended.stdout), answer
    # The abstract and the sections differ a little; a report that misses its subject has none of it.
    assert min(counts) >= 0.9 * counts[0] > 15


@pytest.mark.parametrize("question", ["heat", "热", "熱"])
def test_side_that_we_offer_is_no_word_to_be_found(tmp_path: Path, heat: str, question: str) -> None:
    user = User(tmp_path)
    user.call("ask", question, "--docs", heat)
    ended = user.call("runs", "answer", user.only_run().id, "1")
    assert cited(ended.stdout) > 5
    assert not re.search("No source says|没有资料提到|沒有資料提到", ended.stdout)


@pytest.mark.parametrize(
    ("question", "file"), [("heat", "tariff-sheet-2026.txt"), ("调蓄池", "青岚市调蓄池技术说明.md")]
)
def test_document_that_is_chosen_is_the_one_that_is_quoted(tmp_path: Path, heat: str, question: str, file: str) -> None:
    user = User(tmp_path)
    user.call("ask", question, "--docs", heat)
    ended = user.call("runs", "answer", user.only_run().id, "2")
    assert ended.returncode == 0, ended.stderr
    assert cited(ended.stdout) > 0
    quoted = set(re.findall(r"(?m)^\[\d+\] .* - (\S+) \(", ended.stdout))
    assert quoted == {file}


@pytest.mark.parametrize("question", ["Summarize my documents", "总结我的资料", "總結我的資料"])
def test_summary_of_the_material_is_an_overview_of_it(tmp_path: Path, heat: str, question: str) -> None:
    user = User(tmp_path)
    ended = user.call("ask", question, "--docs", heat)
    assert ended.returncode == 0, ended.stderr
    assert cited(ended.stdout) > 15
    assert clarified(user)["assumptions"] == []


@pytest.mark.parametrize(
    ("question", "file"),
    [
        ("What does the tariff sheet say?", "tariff-sheet-2026.txt"),
        ("Summarize tariff-sheet-2026.txt", "tariff-sheet-2026.txt"),
        ("《青岚市调蓄池技术说明》写了什么？", "青岚市调蓄池技术说明.md"),
        ("青嵐市調蓄池技術說明寫了什麼？", "青岚市调蓄池技术说明.md"),
    ],
)
def test_document_that_is_named_is_told(tmp_path: Path, heat: str, question: str, file: str) -> None:
    ended = User(tmp_path).call("ask", question, "--docs", heat)
    assert ended.returncode == 0, ended.stderr
    assert cited(ended.stdout) > 10
    used = [line for line in ended.stdout.splitlines() if line.startswith("[1] ")]
    assert file in used[0]
    assert not re.search("No source says|do not answer|没有资料提到|沒有資料提到", ended.stdout)


def test_words_that_only_command_are_not_missed(tmp_path: Path, heat: str) -> None:
    told = ("--context", "We talked about the Sandmoor heat pump.")
    user = User(tmp_path)
    ended = user.call("ask", "Research recent progress of that target", *told, "--docs", heat)
    assert ended.returncode == 0, ended.stderr
    assert "\n- No source says anything about: Sandmoor.\n" in ended.stdout


# Which model

HEAT = "How much did the heat pump retrofit cost?"


@pytest.mark.parametrize(
    ("question", "flags", "extra", "said"),
    [
        (HEAT, ("-p", "openai"), {}, "will be sent to api.openai.com; --provider none"),
        ("青岚市的改造花了多少钱", ("--model", "openai:m", "--task-model", "n"), {}, "将发送到 api.openai.com"),
        ("青嵐市的改造花了多少錢", ("-p", "openai:m"), {}, "將傳送到 api.openai.com"),
        (HEAT, ("-p", "none"), {}, None),
        (HEAT, ("-p", "openai"), {"DEEP_RESEARCH_OPENAI_ADDRESS": "http://127.0.0.1:9/v1"}, None),
    ],
)
def test_user_is_warned_before_documents_leave_the_machine(
    tmp_path: Path, docs: str, question: str, flags: tuple[str, ...], extra: dict[str, str], said: str | None
) -> None:
    user = User(tmp_path)
    wiring = ("--wiring", "worlds:quick", "--confirm-plan", "--quiet")
    ended = user.call("ask", question, "--docs", docs, *wiring, *flags, OPENAI_API_KEY="sk-secret", **extra)
    assert ended.returncode == 2, ended.stderr
    told = [line for line in ended.stderr.splitlines() if "--provider none" in line]
    assert len(told) == (0 if said is None else 1)
    assert said is None or said in told[0]
    assert "sk-secret" not in ended.stderr


def test_doctor_says_which_model_and_why(tmp_path: Path) -> None:
    user = User(tmp_path, env={provider.key_variable: "" for provider in PROVIDERS.values() if provider.key_variable})

    def line(**extra: str) -> str:
        return next(line for line in user.call("doctor", **extra).stdout.splitlines() if " model " in line)

    assert "OPENAI_API_KEY" in line()
    assert "none" in line()
    assert "OPENAI_API_KEY is set" in line(OPENAI_API_KEY="sk-secret")
    assert "sk-secret" not in line(OPENAI_API_KEY="sk-secret")
    assert "ollama:qwen3 for plans" in line(DEEP_RESEARCH_PROVIDER="ollama:qwen3")
    assert "set by environment" in line(DEEP_RESEARCH_PROVIDER="none")
    assert line(DEEP_RESEARCH_PROVIDER="acme").startswith("missing")


# At a terminal


def test_question_at_a_terminal_offers_its_options_and_takes_the_first_by_default(tmp_path: Path, docs: str) -> None:
    user = User(tmp_path)
    with Terminal(user, "ask", "cancer", "--docs", docs) as terminal:
        asked = terminal.until("\n> ")
        assert "“cancer” is broad" in asked
        assert "  1. Results and effects (recommended)\n  2. Background" in asked
        assert "“start now”" in asked
        terminal.type("9")
        assert "There is no option 9; choose 1 to 4" in terminal.until("\n> ")
        terminal.type("")
        assert terminal.end() == 0, terminal.shown
    assert clarified(user)["exchanges"][0]["answer"] == "Results and effects"


def test_free_text_in_chinese_is_an_answer(tmp_path: Path, docs: str) -> None:
    user = User(tmp_path)
    with Terminal(user, "ask", "那個靶點", "--docs", docs) as terminal:
        assert "（推薦）" in terminal.until("\n> ")
        terminal.type("KRAS G12C 靶點")
        assert terminal.end() == 0, terminal.shown
    assert clarified(user)["refined_question"] == "KRAS G12C 靶點"


@pytest.mark.parametrize(
    ("key", "flags", "code", "status"),
    [(CTRL_C, (), 130, "waiting"), (CTRL_D, (), 2, "waiting"), (CTRL_D, ("--clarify", "strict"), 1, "failed")],
)
def test_leaving_a_question_is_clean(
    tmp_path: Path, docs: str, key: str, flags: tuple[str, ...], code: int, status: str
) -> None:
    user = User(tmp_path)
    with Terminal(user, "ask", "癌症", "--docs", docs, *flags) as terminal:
        terminal.until("\n> ")
        terminal.type(key)
        assert terminal.end() == code, terminal.shown
        assert "Traceback" not in terminal.shown
    row = user.only_run()
    assert row.status == status
    if status == "waiting":
        assert f"runs {'resume' if key == CTRL_C else 'answer'} {row.id[:8]}" in terminal.shown
        assert user.call("runs", "answer", row.id, "直接开始研究").returncode == 0
