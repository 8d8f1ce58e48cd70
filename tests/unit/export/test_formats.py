"""Which formats there are, and what is said where one cannot be made."""

import sys

import pytest

from deep_research.errors import UsageError
from deep_research.export.formats import FORMATS, check_format, exported
from tests.support.editions import contents


def test_a_format_without_its_extra_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "typst", None)
    with pytest.raises(UsageError, match=r"pip install 'deep-research\[pdf\]'"):
        check_format("pdf")
    check_format("docx")


# A bundle is made of the files of a run.
@pytest.mark.parametrize("name", sorted(FORMATS.keys() - {"bundle"}))
def test_every_format_takes_a_report_without_figures_and_sources(name: str) -> None:
    assert isinstance(exported(contents(figures=()), name), bytes)
