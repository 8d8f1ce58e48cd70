"""The reference pages in docs/ are those the code gives."""

import pytest

from tools import make_reference


@pytest.mark.parametrize("name", sorted(make_reference.pages()))
def test_reference_page_is_up_to_date(name):
    path = make_reference.FOLDER / name
    assert path.is_file(), f"run make docs: {name} is missing"
    assert path.read_text(encoding="utf-8") == make_reference.pages()[name], "run make docs"


def test_reference_has_no_page_the_code_does_not_give():
    assert {path.name for path in make_reference.FOLDER.glob("*.md")} == set(make_reference.pages())
