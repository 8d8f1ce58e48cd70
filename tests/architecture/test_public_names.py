"""What the package offers by name is there and says what it does."""

import importlib
import inspect
import subprocess
import sys

import pytest

import deep_research

PUBLIC = list(getattr(deep_research, "__all__", []))


def test_the_package_names_what_it_offers():
    assert PUBLIC
    assert len(PUBLIC) == len(set(PUBLIC))


@pytest.mark.parametrize("name", PUBLIC)
def test_public_name_resolves_and_is_documented(name):
    thing = getattr(deep_research, name)
    if inspect.isclass(thing) or inspect.isroutine(thing):
        # Not `inspect.getdoc`, which would accept the docstring of a base class.
        assert (thing.__doc__ or "").strip()


def test_unknown_public_name_is_an_attribute_error():
    with pytest.raises(AttributeError):
        getattr(importlib.import_module("deep_research"), "no_such_name")  # noqa: B009 - a constant name is the point


def test_importing_the_package_loads_no_heavy_library():
    code = (
        "import sys, deep_research; "
        "print([m for m in ('langgraph', 'langchain_core', 'pydantic', 'rich') if m in sys.modules])"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == "[]"
