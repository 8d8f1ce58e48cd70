"""The blocks of our pages as a newcomer types them: in an empty home, one after the other, in one shell.

A block that asks a model says that it needs a key or a model, one that goes to the web that it needs the network: in
a comment, or in the paragraph right before it. Such blocks talk to servers on this machine. What needs Docker or
other hosts is skipped by that name. `# answers 404` says that a line is meant to be refused.
"""

import os
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing, suppress
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.support.examples import EXAMPLES, some_documents
from tests.support.model_server import ModelServer
from tests.support.programs import has, lacking
from tests.support.server import free_port
from tests.support.waiting import HANG_S, wait_until
from tests.support.web_server import LocalWeb

ROOT = Path(__file__).parents[2]
QUESTION = "How much did the Harbour Heat retrofit of Halden Bay cost in total?"
SKIPPED = ("Docker", "PostgreSQL", "other hosts")
# What a reader puts for a word of the page.
FILLED_IN = {
    '"…"': f'"{QUESTION}"',
    "=…": "=sk-test",
    "FOLDER": "./folder",
}
_FENCED = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_INDENTED = re.compile(r"(?:^|\n)\n((?: {4}.*\n|\n(?= {4}))+)")
_SHELL = ("", "sh", "bash", "console", "shell")
_NEEDS = re.compile(r"\bneeds? (?:an? |the )?(key|model|network|Docker|PostgreSQL|other hosts)\b")
_REFUSED = re.compile(r"# answers 4\d\d\b")
_DOCS = re.compile(r"--docs (?:\./)?([\w./-]+)|files=@([\w.-]+)")
_WORD = re.compile(r"[\w-]+")
_RUN = re.compile(r"\bRUN\b")
# Servers and workers never end: they go on beside the shell, until another takes their place or the page ends.
_COMMAND = """#!/bin/sh
case "$1" in serve|worker|mcp)
  if [ -f "$WORLD/$1.pid" ]; then
    kill "$(cat "$WORLD/$1.pid")"
    while kill -0 "$(cat "$WORLD/$1.pid")" 2>&-; do sleep 0.05; done
  fi
  at=; [ "$1" != serve ] || at="--port $PORT"
  "$PYTHON" -m deep_research "$@" $at </dev/null >>"$WORLD/$1.log" 2>&1 &
  echo $! >"$WORLD/$1.pid"
  [ "$1" = serve ] || exit 0
  until "$PYTHON" -c "import socket; socket.create_connection(('127.0.0.1', $PORT))" 2>&-; do
    kill -0 "$(cat "$WORLD/serve.pid")" 2>&- || { cat "$WORLD/serve.log" >&2; exit 1; }; sleep 0.05; done
  exit 0;;
esac
# Who is asked something types the question, or takes it for a password.
[ -p /dev/stdin ] || exec <"$WORLD/typed"
exec "$PYTHON" -m deep_research "$@"
"""
_STAND_INS = {
    "deep-research": _COMMAND,
    # Each answer that is no success ends the line.
    "curl": '#!/bin/sh\nexec "$CURL" --fail-with-body "$@"\n',
    # The targets are there; what they do, `.ci/run` does.
    "make": f'#!/bin/sh\nexec "$MAKE" --silent --dry-run -C {ROOT} "$@" >/dev/null\n',
    "git": '#!/bin/sh\n[ "$1" = clone ] && for last; do :; done && mkdir -p "$(basename "$last" .git)"\n',
    "pip": '#!/bin/sh\nexec "$PYTHON" "$WORLD/extras.py" "$@"\n',
    "python": '#!/bin/sh\nexec "$PYTHON" "$@"\n',
}
_EXTRAS = f"""
import re, sys, tomllib
known = tomllib.load(open({str(ROOT / "pyproject.toml")!r}, "rb"))["project"]["optional-dependencies"]
named = {{each for given in sys.argv for part in re.findall(r"\\[(.*?)\\]", given) for each in part.split(",")}}
sys.exit(sorted(named - known.keys()) or 0)
"""
_SETUP = """
set -o pipefail
trap 'echo "$BASH_COMMAND" >>"$WORLD/failed"' ERR
# A reader takes their time: what was begun has come to rest before the next line is typed.
trap '"$PYTHON" "$WORLD/settle.py"' DEBUG
"""
_SETTLE = """
import os, sqlite3
from time import sleep
from contextlib import closing
path = os.path.join(os.environ["HOME"], ".local/share/deep-research/store.db")
for _ in range(12_000):
    if not os.path.exists(path):
        break
    with closing(sqlite3.connect(path)) as store:
        # A server that has just begun may not have made its tables yet.
        if store.execute("SELECT 1 FROM sqlite_master WHERE name = 'runs'").fetchone():
            open_run = "SELECT 1 FROM runs WHERE status IN ('created', 'running', 'interrupted')"
            if not store.execute(open_run).fetchone():
                break
    sleep(0.05)
"""
# As `python -m asyncio` takes what is typed.
_AWAIT = """
import ast, asyncio, inspect, os
path = os.path.join(os.environ["WORLD"], "block.py")
made = eval(compile(open(path, encoding="utf-8").read(), path, "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT))
if inspect.iscoroutine(made):
    asyncio.run(made)
"""
_FILES = {"typed": f"{QUESTION}\n", "extras.py": _EXTRAS, "settle.py": _SETTLE, "await.py": _AWAIT}


class Block(NamedTuple):
    """A block of a page, by its line; `needs` is what it, or the paragraph before, says that it needs."""

    line: int
    language: str
    text: str
    needs: frozenset[str]

    @property
    def is_typed(self) -> bool:
        """Say whether it is meant to be typed: configuration and drawings are not."""
        return self.language in ("python", "asyncio", *_SHELL)

    @property
    def cannot_be_tried(self) -> str:
        """Return why nobody can try it on one machine with nothing but Python, "" where they can."""
        return next((f"it needs {name}" for name in SKIPPED if name in self.needs), "")


def blocks_of(page: str) -> list[Block]:
    """Return the blocks of a page in order: fenced ones, and those that are set in by four blanks, which are shell."""
    fenced = [(match.start(), match[1], match[2]) for match in _FENCED.finditer(page)]
    # What stands inside a fence is no block of its own.
    prose = _FENCED.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), page)
    set_in = [(match.start(1), "", re.sub(r"(?m)^ {4}", "", match[1])) for match in _INDENTED.finditer(prose)]
    found: list[Block] = []
    is_awaiting = "python -m asyncio" in page
    for start, language, text in sorted([*fenced, *(each for each in set_in if each[2].strip())]):
        before = page[:start].rstrip("\n").rpartition("\n\n")[2]
        comments = "\n".join(line.partition("#")[2] for line in text.splitlines())
        needs = frozenset(_NEEDS.findall(f"{before}\n{comments}"))
        language = "asyncio" if language == "python" and is_awaiting else language
        known = next((at for at, each in enumerate(found) if language == "asyncio" == each.language), None)
        if known is None:
            found.append(Block(page.count("\n", 0, start) + 1, language, text, needs))
        else:
            # What is typed there stays, so that the page is one program.
            found[known] = found[known]._replace(text=f"{found[known].text}\n{text}", needs=found[known].needs | needs)
    return found


class Newcomer:
    """Somebody in an empty home, with a few documents in a folder beside them, who types what a page says."""

    def __init__(self, folder: Path, web: LocalWeb, models: ModelServer) -> None:
        self.folder, self.home, self._world = folder / "work", folder / "home", folder / "world"
        self._web, self._models, self._port = web, models, free_port()
        bin_ = self._world / "bin"
        for each in (self.folder, self.home, bin_):
            each.mkdir(parents=True)
        for name, text in _STAND_INS.items():
            (bin_ / name).write_text(text, encoding="utf-8")
            (bin_ / name).chmod(0o755)
        # `make` puts the command there.
        (self.folder / ".venv").mkdir()
        (self.folder / ".venv" / "bin").symlink_to(bin_)
        some_documents(self.folder / "folder")
        (self.folder / "examples").symlink_to(ROOT / "examples")
        for name, text in _FILES.items():
            (self._world / name).write_text(text, encoding="utf-8")
        with (self._world / "shown").open("ab") as shown:
            self._shell = subprocess.Popen(
                ["bash", "--norc", "--noprofile"],
                cwd=self.folder,
                env=self._environment(bin_),
                stdin=subprocess.PIPE,
                stdout=shown,
                stderr=subprocess.STDOUT,
                text=True,
            )
        self._tell(_SETUP)

    def _environment(self, bin_: Path) -> dict[str, str]:
        """Return what is set: nothing of ours, but for where a server listens and who stands in for the world."""
        services = {
            f"DEEP_RESEARCH_{name.upper().replace('-', '_')}_ADDRESS": self._models.address_of(name)
            for name in ("openai", "anthropic", "deepseek", "gemini", "qwen", "openrouter", "ollama")
        }
        return {
            **{name: os.environ[name] for name in ("LANG", "TMPDIR", "LD_LIBRARY_PATH") if name in os.environ},
            **services,
            "DEEP_RESEARCH_ENGINES": "searxng",
            "DEEP_RESEARCH_SEARXNG_ADDRESS": self._web.engine_address("searxng"),
            "DEEP_RESEARCH_ALLOWED_HOSTS": ",".join(self._web.allowed),
            "PATH": f"{bin_}{os.pathsep}{os.environ['PATH']}",
            "HOME": str(self.home),
            "WORLD": str(self._world),
            "PORT": str(self._port),
            "PYTHON": sys.executable,
            "CURL": str(shutil.which("curl")),
            "MAKE": str(shutil.which("make")),
        }

    def type(self, block: Block) -> str:
        """Type a block, and return what is wrong with it: "" where every line did what it says."""
        text = self._filled_in(block.text)
        if lacked := next((name for name in ("curl", "jq") if name in _WORD.findall(text) and not has(name)), ""):
            pytest.skip(lacking(lacked))
        before = self._asked()
        shown = self._shown()
        failed = self._run(block.language, text)
        told = self._shown()[len(shown) :]
        wrong = [f"failed: {line}" for line in failed[len(_REFUSED.findall(block.text)) :]]
        for which, names in (("model", {"key", "model"}), ("network", {"network"})):
            if self._asked()[which] > before[which] and not names & block.needs:
                wrong.append(f"it asks the {which}, and does not say that it needs one")
        return "\n".join([*wrong, told]) if wrong else ""

    def _filled_in(self, text: str) -> str:
        for word, value in {**FILLED_IN, ":8700": f":{self._port}"}.items():
            text = text.replace(word, value)
        for match in _DOCS.finditer(text):
            wanted = self.folder / (match[1] or match[2])
            if not wanted.exists() and wanted.suffix:
                shutil.copy(next(EXAMPLES.glob(f"*{wanted.suffix}")), wanted)
        if _RUN.search(text):
            if not (runs := self._runs()):
                self._run_shell(f'deep-research "{QUESTION}" --docs ./folder --offline')
                runs = self._runs()
            text = _RUN.sub(runs[0][0], text).replace("path/to", runs[0][1])
        return text

    def _runs(self) -> list[tuple[str, str]]:
        """Return id and folder of the runs that are done, the newest first."""
        path = self.home / ".local/share/deep-research/store.db"
        if not path.exists():
            return []
        with closing(sqlite3.connect(path)) as store:
            return store.execute("SELECT id, folder FROM runs WHERE status = 'done' ORDER BY id DESC").fetchall()

    def _run_shell(self, text: str) -> list[str]:
        (self._world / "block").write_text(text, encoding="utf-8")
        (self._world / "failed").write_text("", encoding="utf-8")
        ended = self._world / "ended"
        self._tell(f'eval "$(cat "$WORLD/block")" </dev/null; : >{ended}\n')
        wait_until(lambda: ended.exists() or self._shell.poll() is not None, complaint=self._shown)
        ended.unlink(missing_ok=True)
        lines = (self._world / "failed").read_text("utf-8").splitlines()
        # The block as a whole is named too; alone it is where the shell could not read it.
        return [line for line in lines if not line.startswith("eval ")] or lines[:1]

    def _run(self, language: str, text: str) -> list[str]:
        if language in _SHELL:
            return self._run_shell(text)
        return self._run_python(text, is_awaiting=language == "asyncio")

    def _run_python(self, text: str, *, is_awaiting: bool) -> list[str]:
        if module := re.match(r"# (\w+\.py)\b", text):
            (self.folder / module[1]).write_text(text, encoding="utf-8")
            return []
        script = self._world / "block.py"
        script.write_text(text, encoding="utf-8")
        return self._run_shell(f'python "$WORLD/{"await" if is_awaiting else "block"}.py"')

    def _asked(self) -> dict[str, int]:
        return {"model": len(self._models.requests), "network": len(self._web.log)}

    def _shown(self) -> str:
        return (self._world / "shown").read_text("utf-8", errors="replace")

    def _tell(self, text: str) -> None:
        assert self._shell.stdin is not None
        self._shell.stdin.write(text)
        self._shell.stdin.flush()

    def leave(self) -> None:
        """Close the shell, and end what goes on beside it."""
        assert self._shell.stdin is not None
        with suppress(BrokenPipeError):
            self._shell.stdin.close()
        self._shell.wait(HANG_S)
        for pid in self._world.glob("*.pid"):
            with suppress(ProcessLookupError):
                os.kill(int(pid.read_text()), signal.SIGKILL)
