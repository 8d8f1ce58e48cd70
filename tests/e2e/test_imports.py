"""What a command loads, and whom it talks to: quick commands load little, and no run calls home."""

import json
import socket
import subprocess
import sys
import threading
from contextlib import closing
from pathlib import Path

import pytest

from tests.e2e.harness import QUESTION, Lab, User
from tests.support.waiting import HANG_S

LOADED = """
import json, sys
from deep_research.cli.main import main
try:
    main(sys.argv[1:])
except SystemExit as exit:
    code = exit.code
sys.stdout.flush()
print()
print(json.dumps({"code": code, "modules": sorted({name.partition(".")[0] for name in sys.modules})}))
"""


def _loaded_by(user: User, *arguments: str) -> set[str]:
    ended = subprocess.run(
        [sys.executable, "-c", LOADED, *arguments],
        cwd=user.folder,
        env=user.environment(),
        capture_output=True,
        text=True,
        timeout=HANG_S,
        check=True,
    )
    shown = json.loads(ended.stdout.splitlines()[-1])
    assert shown["code"] in (0, None), ended.stderr
    return set(shown["modules"])


HEAVY = {"langgraph", "langchain", "langchain_core", "langsmith", "trafilatura", "httpx", "matplotlib", "numpy"}


def test_help_loads_not_even_pydantic(tmp_path: Path) -> None:
    loaded = _loaded_by(User(tmp_path), "--help")
    assert loaded & (HEAVY | {"pydantic", "pydantic_settings"}) == set()


@pytest.mark.parametrize("arguments", [("ask", "--help"), ("runs", "--help"), ("--version",)])
def test_help_of_a_command_loads_no_machinery(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    assert _loaded_by(User(tmp_path), *arguments) & HEAVY == set()


@pytest.mark.long
def test_history_is_read_without_the_machinery_of_runs(tmp_path: Path) -> None:
    user = User(tmp_path)
    run = Lab(user).ask().id
    for arguments in (
        ("runs", "list"),
        ("runs", "list", "--json"),
        ("runs", "show", run),
        ("runs", "cancel", run),
        ("runs", "delete", "--yes", run),
    ):
        assert _loaded_by(user, *arguments) & HEAVY == set(), arguments


def test_importing_the_package_loads_nothing(tmp_path: Path) -> None:
    code = "import sys, deep_research; print(sorted({name.partition('.')[0] for name in sys.modules}))"
    shown = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=HANG_S, check=True
    ).stdout
    assert not any(name in shown for name in (*HEAVY, "pydantic"))


def test_a_run_sends_no_trace_whatever_the_environment_says(tmp_path: Path) -> None:
    user, callers = User(tmp_path), 0

    def count() -> None:
        nonlocal callers
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            callers += 1
            connection.close()

    with closing(socket.create_server(("127.0.0.1", 0))) as listener:
        endpoint = f"http://127.0.0.1:{listener.getsockname()[1]}"
        thread = threading.Thread(target=count, daemon=True)
        thread.start()
        names = ("LANGSMITH", "LANGCHAIN")
        tracing = {"LANGSMITH_TRACING": "true"} | {f"{name}_TRACING_V2": "true" for name in names}
        places = {f"{name}_ENDPOINT": endpoint for name in names} | {f"{name}_API_KEY": "k" for name in names}
        ended = user.run("ask", QUESTION, "--wiring", "worlds:quick", **tracing, **places)
        assert ended.returncode == 0, ended.stderr
        listener.shutdown(socket.SHUT_RDWR)
    thread.join(HANG_S)
    assert callers == 0
