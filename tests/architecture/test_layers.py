"""Imports point down only, and the checker that says so notices when they do not."""

from collections import defaultdict
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

from tests.architecture.layers import LAYERS, RANKS, broken_imports, imported_parts, part_of

PACKAGE = Path(__file__).parents[2] / "src" / "deep_research"


def test_imports_point_down_only():
    assert broken_imports(PACKAGE) == []


def test_every_part_has_one_layer_and_is_there():
    assert len(RANKS) == sum(map(len, LAYERS))
    paths = [PACKAGE / part.replace(".", "/") for part in RANKS]
    assert [path for path in paths if not path.is_dir() and not path.with_suffix(".py").is_file()] == []


def test_top_level_folders_do_not_import_each_other_in_circles():
    below: dict[str, set[str]] = defaultdict(set)
    for path in PACKAGE.rglob("*.py"):
        above = part_of(path, PACKAGE).split(".")[0]
        below[above] |= {part.split(".")[0] for _, part in imported_parts(path)} - {above, "__init__"}
    assert list(TopologicalSorter(below).static_order())


@pytest.mark.parametrize(
    ("importer", "line"),
    [
        ("report/sources/hit.py", "from deep_research.report.evidence.passage import Passage"),
        ("report/sources/hit.py", "from deep_research.report import markdown"),
        ("storage/store/sqlite.py", "import deep_research.web.search.port"),
        ("storage/store/sqlite.py", "from deep_research.web import search"),
        ("web/search/port.py", "from deep_research.web.fetch.port import Fetched"),
        ("web/net/client.py", "from deep_research.web.search.port import Hit"),
        ("web/net/client.py", "from deep_research.documents.readers.pdf import read"),
        ("charts/sandbox/child.py", "from deep_research.charts import style"),
        ("service/runs/worker.py", "from deep_research.service.service import ResearchService"),
        ("pipeline/graph.py", "from deep_research import settings"),
        ("pipeline/graph.py", "from deep_research import research"),
        ("pipeline/graph.py", "def build():\n    from deep_research.wiring import build as made"),
        (
            "reasoning/model.py",
            "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import deep_research.pipeline",
        ),
        ("wiring.py", "from deep_research.testing import ScriptedModel"),
        ("testing.py", "from deep_research.cli.main import app"),
        ("report/sources/hit.py", "from .address import canonical_address"),
        ("gadgets/thing.py", ""),
        ("web/gadget.py", ""),
        ("web/__init__.py", "from deep_research.web.net.client import Client"),
        ("pipeline/graph.py", "from deep_research.gadgets.thing import gadget"),
    ],
)
def test_forbidden_import_is_noticed(tmp_path, importer, line):
    _tree(tmp_path, {importer: line})
    assert len(broken_imports(tmp_path)) == 1


@pytest.mark.parametrize(
    ("importer", "line"),
    [
        (
            "report/evidence/passage.py",
            "from deep_research.report.sources.hit import Hit\nfrom deep_research.value import Value",
        ),
        ("events.py", "from deep_research.value import Value"),
        ("storage/store/sqlite.py", "from deep_research.storage.store.port import Store"),
        ("charts/draw.py", "from deep_research.charts.sandbox import process"),
        ("web/cache/pages.py", "from deep_research.web import fetch, search"),
        ("web/__init__.py", ""),
        ("wiring.py", "from deep_research.settings import Settings"),
        ("cli/main.py", "from deep_research.server.app import serve\nfrom deep_research import __version__"),
        ("testing.py", "from deep_research.wiring import build\nfrom deep_research.llm.port import ChatModel"),
        ("pipeline/graph.py", "import langgraph\nfrom deep_researcher import other"),
    ],
)
def test_allowed_import_is_left_alone(tmp_path, importer, line):
    _tree(tmp_path, {importer: line})
    assert broken_imports(tmp_path) == []


def _tree(root: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text + "\n", encoding="utf-8")
