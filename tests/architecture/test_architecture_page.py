"""`docs/architecture.md` names files that are there, and the way it shows is the way a question really takes."""

import asyncio
import inspect
import re
import sys
from asyncio.base_events import BaseEventLoop
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from deep_research.cli.main import main
from deep_research.documents.corpus.search import CorpusSearch
from deep_research.reasoning.port import Reasoner
from tests.architecture.layers import RANKS

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "deep_research"
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")


def test_every_file_the_page_names_is_there():
    named = re.findall(r"`([a-z_]+(?:/[a-z_]*)*(?:\.py|/))`", PAGE)
    missing = [name for name in named if not any(PACKAGE.rglob(name.rstrip("/")))]
    assert named
    assert missing == []


def test_every_package_and_stage_is_on_the_page():
    packages = {path.name for path in PACKAGE.iterdir() if (path / "__init__.py").exists()}
    packages |= {name for part in RANKS if (PACKAGE / (name := part.replace(".", "/"))).is_dir()}
    assert [name for name in sorted(packages) if f"`{name}/`" not in PAGE] == []
    stages = {path.stem for path in (PACKAGE / "pipeline" / "stages").glob("*.py")} - {"__init__"}
    assert [stage for stage in sorted(stages) if f"`{stage}`" not in PAGE] == []


def test_the_page_counts_the_acts_of_the_port():
    acts = [name for name, member in vars(Reasoner).items() if inspect.iscoroutinefunction(member)]
    assert f"`port.py` ({len(acts)} acts)" in PAGE


def test_first_search_of_a_folder_takes_the_way_that_is_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    ways: list[set[str]] = []
    parents: dict[Any, Any] = {}
    create, search = BaseEventLoop.create_task, CorpusSearch.search

    def create_task(self: BaseEventLoop, coro: Any, **given: Any) -> Any:
        task = create(self, coro, **given)
        parents[task] = asyncio.current_task(self)
        return task

    async def noted(self: CorpusSearch, *query: Any, **given: Any) -> Any:
        ways.append(_files(sys._getframe(1), parents) | {"documents/corpus/search.py"})
        return await search(self, *query, **given)

    monkeypatch.setattr(BaseEventLoop, "create_task", create_task)
    monkeypatch.setattr(CorpusSearch, "search", noted)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "pumps.md").write_text("The pumps cost 5 million euros.\n", encoding="utf-8")
    with pytest.raises(SystemExit) as ended:
        main(["ask", "What did the pumps cost?", "--docs", "docs", "--strategy", "local", "--assume"])
    assert ended.value.code in (0, None)
    shown = re.findall(r"^\d+\. `(\S+)`", PAGE, flags=re.MULTILINE)
    assert sorted(ways[0]) == sorted(shown)
    assert len(shown) <= 10


def _files(frame: FrameType | None, parents: dict[Any, Any]) -> set[str]:
    """Return our files under a frame, and under the tasks that began the one it runs in."""
    frames: list[FrameType] = []
    while frame:
        frames.append(frame)
        frame = frame.f_back
    task = parents.get(asyncio.current_task())
    while task is not None:
        waiting = task.get_coro()
        while waiting is not None:
            frames += [found for name in ("cr_frame", "gi_frame") if (found := getattr(waiting, name, None))]
            waiting = getattr(waiting, "cr_await", None) or getattr(waiting, "gi_yieldfrom", None)
        task = parents.get(task)
    names = (Path(frame.f_code.co_filename) for frame in frames)
    return {path.relative_to(PACKAGE).as_posix() for path in names if path.is_relative_to(PACKAGE)}
