"""The rules for single files hold, and each checker notices a file that breaks its rule."""

from pathlib import Path

import pytest

from tests.architecture import rules

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "deep_research"
TESTS = ROOT / "tests"

# The second picks what little a child process gets of it; the last two empty and check their own, in a sandbox.
MAY_READ_ENVIRONMENT = [
    *("settings/settings.py", "documents/readers/children.py"),
    *("charts/sandbox/child.py", "charts/sandbox/probe.py"),
]
# Who may catch everything, and why: the runner, the edge of a fan-out branch, the entry points of shells.
MAY_CATCH_EVERYTHING = {
    "web/shared_limits/postgres.py": "what fails in its thread is raised where a slot is waited for",
    "charts/draw.py": "the process that draws charts, which tells its parent what went wrong",
    "cli/main.py": "the entry of a shell, which gives every error its exit code",
    "server/mcp/server.py": "the entry of a shell: a tool that fails is an answer, and its client goes on",
    "pipeline/fan_out.py": "the edge of a fan-out branch, where an error would cancel the siblings",
    "documents/readers/child.py": "the process that reads binary formats, which tells its parent what went wrong",
    "documents/readers/registry.py": "the one place that calls readers: a strange file costs that file alone",
    "charts/sandbox/child.py": "whatever chart code raises is told to whoever wrote it",
    "server/openai/requests.py": "the entry of a shell, whose clients want every error in one shape, in mid-stream too",
    "storage/store/store.py": "a failure is told to whoever waits for the write, in another thread",
    "pipeline/streaming.py": "a caller's callback must not cost the run what it has paid for",
    "service/runs/worker.py": "the edge of a run in a server: one that fails in a way nobody foresaw costs no other",
}


def test_files_stay_short():
    assert rules.long_files(PACKAGE, 600) == []
    assert rules.long_files(TESTS, 600) == []


def test_functions_stay_short():
    assert rules.long_functions(PACKAGE, 80) == []


def test_module_names_say_something():
    assert rules.shapeless_names(PACKAGE) == []


def test_only_settings_read_the_environment():
    assert rules.environment_reads(PACKAGE, MAY_READ_ENVIRONMENT) == []


def test_every_module_says_what_it_is_for():
    assert rules.missing_docstrings(PACKAGE) == []


def test_only_listed_files_catch_everything():
    assert rules.broad_excepts(PACKAGE, MAY_CATCH_EVERYTHING) == []


def test_files_allowed_to_catch_everything_still_do():
    broad = {place.partition(":")[0] for place in rules.broad_excepts(PACKAGE, {})}
    assert set(MAY_CATCH_EVERYTHING) <= broad


def test_one_place_prints():
    assert rules.prints(PACKAGE, "cli/printing.py") == []


@pytest.mark.parametrize("folder", ["src", "tests", "tools"])
def test_promised_work_names_its_issue(folder):
    assert rules.loose_todos(ROOT / folder) == []


def test_a_long_file_is_noticed(tmp_path):
    (tmp_path / "fits.py").write_text("x = 1\n" * 3)
    (tmp_path / "long.py").write_text("x = 1\n" * 4)
    assert rules.long_files(tmp_path, 3) == ["long.py: 4 lines, at most 3"]


def test_a_long_function_is_noticed(tmp_path):
    (tmp_path / "long.py").write_text("async def f():\n" + "    x = 1\n" * 3)
    assert rules.long_functions(tmp_path, 4) == []
    assert rules.long_functions(tmp_path, 3) == ["long.py:1: f has 4 lines, at most 3"]


@pytest.mark.parametrize(
    "name", ["utils.py", "store/helpers.py", "common/__init__.py", "misc.py", "manager.py", "base.py"]
)
def test_a_shapeless_name_is_noticed(tmp_path, name):
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    path.write_text("")
    assert len(rules.shapeless_names(tmp_path)) == 1


@pytest.mark.parametrize("line", ["os.environ['A']", "os.getenv('A')", "from os import environ", "os.environ.get('A')"])
def test_an_environment_read_is_noticed(tmp_path, line):
    for name in ("settings.py", "other.py"):
        (tmp_path / name).write_text(f"import os\n{line}\n")
    assert [place.partition(":")[0] for place in rules.environment_reads(tmp_path, ["settings.py"])] == ["other.py"]


def test_a_missing_docstring_is_noticed(tmp_path):
    (tmp_path / "good.py").write_text('"""Good."""\n')
    (tmp_path / "bad.py").write_text("x = 1\n")
    assert rules.missing_docstrings(tmp_path) == ["bad.py"]


@pytest.mark.parametrize(
    "clause", ["except Exception:", "except BaseException as e:", "except:", "except (OSError, Exception):"]
)
def test_a_broad_except_is_noticed(tmp_path, clause):
    (tmp_path / "fine.py").write_text("try:\n    pass\nexcept OSError:\n    pass\nexcept Exception:\n    raise\n")
    (tmp_path / "broad.py").write_text(f"try:\n    pass\n{clause}\n    pass\n")
    assert rules.broad_excepts(tmp_path, {}) == ["broad.py:3"]
    assert rules.broad_excepts(tmp_path, {"broad.py": "a reason"}) == []


def test_a_print_is_noticed(tmp_path):
    (tmp_path / "cli").mkdir()
    (tmp_path / "cli" / "printing.py").write_text("print('fine')\n")
    (tmp_path / "cli" / "main.py").write_text("typer.echo('not fine')\n")
    (tmp_path / "other.py").write_text("console.print('fine')\nprint('not fine')\n")
    assert rules.prints(tmp_path, "cli/printing.py") == ["cli/main.py:1", "other.py:2"]


def test_a_promise_without_issue_is_noticed(tmp_path):
    (tmp_path / "a.py").write_text("# TODO(#12): fine\nx = 'TODO in text is fine'\n# TODO later\n")
    assert [place[:6] for place in rules.loose_todos(tmp_path)] == ["a.py:3"]


def test_no_two_classes_have_one_name():
    assert rules.repeated_classes(PACKAGE) == []


def test_a_repeated_class_is_noticed(tmp_path):
    (tmp_path / "a.py").write_text("class Claim:\n    pass\nclass Other:\n    pass\n")
    (tmp_path / "b.py").write_text("class _Claim:\n    pass\n")
    assert rules.repeated_classes(tmp_path) == ["Claim: a.py, b.py"]


def test_texts_name_modules_that_are_there():
    assert rules.lost_modules(PACKAGE) == []


def test_a_module_that_is_not_there_is_noticed(tmp_path):
    (tmp_path / "web").mkdir()
    (tmp_path / "web" / "cache.py").write_text("x = 'deep_research.web', 'deep_research.web.cache:Cache'\n")
    (tmp_path / "a.py").write_text("x = 'deep_research.cache'\n")
    assert rules.lost_modules(tmp_path) == ["a.py:1: deep_research.cache"]
