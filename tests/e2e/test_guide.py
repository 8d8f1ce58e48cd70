"""The modules of docs/extending.md, taken from the page as they stand, each in a run of its own process."""

import asyncio
import json
import re
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path

import pytest

from deep_research.llm.port import ModelRequest
from deep_research.llm.tokens import tokens_at_most
from tests.e2e.harness import User
from tests.support.analyst import act_of, answer_in_form
from tests.support.longer import first_of
from tests.support.loopback import LoopbackServer, Request, head_of

PAGE = Path(__file__).parents[2] / "docs" / "extending.md"
CODE = re.compile(r"^```python\n(# (\w+)\.py.*?)^```$", re.MULTILINE | re.DOTALL)
MODULES = {found[2]: found[1] for found in CODE.finditer(PAGE.read_text("utf-8"))}
ENGLISH = "What did the harbour retrofit of Halden cost?"
CHINESE = "青岚市的海港改造花了多少钱？"
FACTS = {
    "en": (
        ENGLISH,
        "The harbour retrofit of Halden cost €146.2 million in total by the end of 2025.",
        "€146.2 million",
    ),
    "zh": (CHINESE, "青岚市的海港改造总共花费了48.6亿元，比预算高出12%。", "48.6亿元"),
}


@pytest.fixture
def user(tmp_path: Path) -> User:
    user = User(tmp_path / "user")
    for name, code in MODULES.items():
        (user.folder / f"{name}.py").write_text(code, encoding="utf-8")
    return user


def _ask(user: User, module: str, question: str, *arguments: str, **extra: str) -> "subprocess.CompletedProcess[str]":
    return user.run("ask", question, "--wiring", f"{module}:build", *arguments, **extra)


def _passed(user: User) -> bool:
    check = json.loads((Path(user.only_run().folder) / "verify.json").read_text("utf-8"))
    return bool(check["passed"])


def test_every_module_of_the_page_is_tried_here() -> None:
    assert list(MODULES) == ["notes", "inhouse", "subtitles"]
    assert PAGE.read_text("utf-8").count("```python") == len(MODULES)


@pytest.mark.parametrize("language", first_of(FACTS))
def test_the_source_of_the_guide_is_searched_and_cited(user: User, language: str) -> None:
    question, fact, figure = FACTS[language]
    with closing(sqlite3.connect(user.folder / "notes.db")) as database, database:
        database.execute("CREATE TABLE notes (id INTEGER PRIMARY KEY, title TEXT, text TEXT)")
        notes = [("Harbour / 海港", fact), ("Bread", "Sourdough needs a warm night and a good flour.")]
        database.executemany("INSERT INTO notes (title, text) VALUES (?, ?)", notes)
    ended = _ask(user, "notes", question, "-p", "none")
    assert ended.returncode == 0, ended.stderr
    assert figure in ended.stdout
    assert "notes:1" in ended.stdout
    assert "Sourdough" not in ended.stdout
    assert _passed(user)


def test_a_source_of_ones_own_that_fails_is_named(user: User) -> None:
    ended = _ask(user, "notes", ENGLISH, "-p", "none")
    assert ended.returncode == 69, ended.stderr
    assert "The notes cannot be read" in ended.stdout


class InhouseServer(LoopbackServer):
    """Speaks the protocol of the guide's model."""

    def __init__(self, status: int = 200) -> None:
        super().__init__()
        self.status, self.acts = status, list[str]()

    async def answer(self, request: Request, writer: asyncio.StreamWriter) -> None:
        asked = json.loads(request.body)
        act = act_of(asked["prompt"])
        self.acts.append(act)
        wanted = ModelRequest(act=act, role="task", prompt=asked["prompt"], max_tokens=asked["limit"])
        text = answer_in_form(wanted)
        used = {"read": tokens_at_most(asked["prompt"]), "written": tokens_at_most(text)}
        body = json.dumps({"text": text, "is_cut": False, **used}).encode()
        headers = {"content-type": "application/json", "content-length": str(len(body))}
        writer.write(head_of(self.status, headers) + body)


@pytest.mark.parametrize("language", first_of(FACTS))
def test_the_model_of_the_guide_writes_a_report(user: User, language: str) -> None:
    question, fact, figure = FACTS[language]
    (user.folder / "docs").mkdir()
    (user.folder / "docs" / "a.txt").write_text(fact, encoding="utf-8")
    with InhouseServer() as server:
        ended = _ask(user, "inhouse", question, "--docs", "docs", INHOUSE_ADDRESS=f"http://127.0.0.1:{server.port}/")
    assert ended.returncode == 0, ended.stderr
    assert {"assess", "plan", "draft", "judge", "edit"} <= set(server.acts)
    assert figure in ended.stdout
    stats = json.loads((Path(user.only_run().folder) / "stats.json").read_text("utf-8"))
    assert stats["model"]["calls_by_model"] == {"inhouse:writer": len(server.acts)}
    assert _passed(user)


def test_a_refusal_of_the_guides_model_stops_the_run(user: User) -> None:
    (user.folder / "docs").mkdir()
    (user.folder / "docs" / "a.txt").write_text(FACTS["en"][1], encoding="utf-8")
    with InhouseServer(status=401) as server:
        ended = _ask(user, "inhouse", ENGLISH, "--docs", "docs", INHOUSE_ADDRESS=f"http://127.0.0.1:{server.port}/")
    assert ended.returncode == 64, ended.stderr
    assert "status 401" in ended.stderr


@pytest.mark.parametrize("language", first_of(FACTS))
def test_the_format_of_the_guide_is_read_and_cited_by_its_times(user: User, language: str) -> None:
    question, fact, figure = FACTS[language]
    (user.folder / "docs").mkdir()
    cues = ["Welcome. / 欢迎。", fact]
    times = [f"{number}\n00:00:0{number},000 --> 00:00:0{number},900\n{cue}\n" for number, cue in enumerate(cues, 1)]
    (user.folder / "docs" / "talk.srt").write_text("\n".join(times), encoding="utf-8")
    (user.folder / "docs" / "empty.srt").write_text("nothing here\n", encoding="utf-8")
    ended = _ask(user, "subtitles", question, "--docs", "docs", "-p", "none")
    assert ended.returncode == 0, ended.stderr
    assert figure in ended.stdout
    assert "00:00:02" in ended.stdout.partition("talk.srt (")[2].partition("\n")[0]
    assert "holds no cue" in ended.stdout
    assert _passed(user)
