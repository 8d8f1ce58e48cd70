"""Imports point down only, and the checker that says so notices when they do not."""

from pathlib import Path

import pytest

from tests.architecture.layers import LAYERS, broken_imports

PACKAGE = Path(__file__).parents[2] / "src" / "deep_research"


def test_imports_point_down_only():
    assert broken_imports(PACKAGE) == []


def test_every_part_has_one_layer():
    parts = [part for layer in LAYERS for part in layer]
    assert len(parts) == len(set(parts))


@pytest.mark.parametrize(
    ("importer", "line"),
    [
        ("sources/hit.py", "from deep_research.evidence.passage import Passage"),
        ("store/sqlite.py", "import deep_research.search.port"),
        ("net/client.py", "from deep_research.readers.pdf import read"),
        ("pipeline/graph.py", "from deep_research import settings"),
        ("pipeline/graph.py", "from deep_research import research"),
        ("pipeline/graph.py", "def build():\n    from deep_research.wiring import build as made"),
        (
            "reasoning/model.py",
            "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import deep_research.pipeline",
        ),
        ("wiring.py", "from deep_research.testing import ScriptedModel"),
        ("testing.py", "from deep_research.cli.main import app"),
        ("sources/hit.py", "from .address import canonical_address"),
        ("gadgets/thing.py", ""),
        ("pipeline/graph.py", "from deep_research.gadgets.thing import gadget"),
    ],
)
def test_forbidden_import_is_noticed(tmp_path, importer, line):
    _tree(tmp_path, {importer: line, "settings.py": "", "wiring.py": line if importer == "wiring.py" else ""})
    assert len(broken_imports(tmp_path)) == 1


@pytest.mark.parametrize(
    ("importer", "line"),
    [
        ("evidence/passage.py", "from deep_research.sources.hit import Hit\nfrom deep_research.value import Value"),
        ("events.py", "from deep_research.value import Value"),
        ("store/sqlite.py", "from deep_research.store.port import Store"),
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
