"""Documents, names and a question that hold markup and terminal signs: no renderer and no terminal obeys them."""

import json
from pathlib import Path

import pytest
from lxml import html
from markdown_it import MarkdownIt

from tests.e2e.harness import User

SCRIPT = "<scr<b>ipt>alert(1)</scr</b>ipt> ![x](//evil.example) [b](javascript:alert(2)) <img src=x onerror=alert(3)>"
TERMINAL = "\x1b[2J\x1b]0;owned\x07\x9b31m\u202e"
QUESTION = f"Assess what the harbour of Osby cost in 2024. {SCRIPT}{TERMINAL}"
OBEYED = set("\x1b\x07\x9b\u202e")
FILES = {
    "<img src=x onerror=alert(9)> \x1b[31m[a](javascript:b).txt": (
        f"The harbour of Osby cost 14 million euros in 2024. {TERMINAL}Its builders said {SCRIPT} "
        f"after it cost 3 million more in 2025.\n\n# The harbour {SCRIPT}\n\n- The harbour of Osby cost 17 million.\n"
    ),
    "table.csv": (
        f"harbour {SCRIPT},cost in 2024\nOsby,14 {SCRIPT}\nTarn,12 million euros\nHolm,9 million euros\nVik,8 million\n"
    ),
    "page.html": (
        "<title>Harbour of Osby &lt;script&gt;alert(4)&lt;/script&gt;</title><h1>Osby</h1><p>The harbour of Osby cost "
        "15 million euros in 2024, says &lt;script&gt;alert(5)&lt;/script&gt; the bank of the harbour.</p>"
    ),
}


@pytest.fixture(scope="module")
def user(tmp_path_factory: pytest.TempPathFactory) -> User:
    user = User(tmp_path_factory.mktemp("hostile"))
    folder = user.folder / "docs"
    folder.mkdir()
    for name, text in FILES.items():
        (folder / name.replace("/", "∕")).write_text(text, encoding="utf-8")
    return user


@pytest.fixture(scope="module")
def printed(user: User) -> str:
    ended = user.call(QUESTION, "--docs", "docs", "--offline", "--assume")
    assert ended.returncode == 0, ended.stderr
    return str(ended.stdout + ended.stderr)


def test_no_renderer_obeys_a_report_or_its_proof(user: User, printed: str) -> None:
    folder = Path(user.only_run().folder)
    assert json.loads((folder / "verify.json").read_text(encoding="utf-8"))["passed"]
    renderer = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
    for path in sorted(folder.glob("*.md")):
        text = path.read_text(encoding="utf-8")
        assert not set(text) & OBEYED, path.name
        page = html.fromstring(f"<div>{renderer.render(text)}</div>")
        assert not page.xpath("//script | //img | //a | //b | //*[@*[starts-with(name(), 'on')]]"), path.name
        assert "<scr<b>ipt>" in page.text_content(), path.name


def test_no_terminal_obeys_what_a_command_prints(user: User, printed: str) -> None:
    assert not set(printed) & OBEYED
    run = user.only_run().id
    name = next(path.name for path in (user.folder / "docs").iterdir() if path.suffix == ".txt")
    commands = (
        ("corpus", "list", "docs"),
        ("corpus", "search", "harbour", "--docs", "docs"),
        ("corpus", "show", name, "--docs", "docs"),
        ("corpus", "show", f"{name}x", "--docs", "docs"),
        ("runs", "list"),
        ("runs", "show", run),
        ("runs", "show", run, "--json"),
        ("runs", "plan", run),
        ("runs", "show", TERMINAL),
        ("config", "show", TERMINAL),
    )
    for command in commands:
        ended = user.call(*command)
        assert ended.stdout + ended.stderr, command
        assert not set(ended.stdout + ended.stderr) & OBEYED, command
