"""The registry of engines: what it says is true of every engine, and what is missing is named."""

import subprocess
import sys

import pytest

from deep_research.errors import ConfigurationError
from deep_research.web.search.engine import PagedSearch, connect
from deep_research.web.search.registry import ENGINES

# In the form of two, for a service that wants two.
KEY = "client-id:very-secret"
# The chain of web engines begins with these.
CHAIN = ["tavily", "serper", "duckduckgo", "exa"]
WITH_ADDRESS = [name for name, spec in ENGINES.items() if spec.default_address]


@pytest.mark.parametrize("name", WITH_ADDRESS)
def test_engine_connects_at_its_own_address_and_calls_nobody(name):
    engine = connect(ENGINES[name], key=KEY, timeout_s=3)
    assert engine.name == name
    assert engine.timeout_s == 3
    assert KEY not in repr(engine)


@pytest.mark.parametrize("name", [name for name, spec in ENGINES.items() if spec.needs_key])
def test_a_key_that_is_needed_has_a_variable_and_a_setting(name):
    spec = ENGINES[name]
    assert spec.key_variable.isupper()
    assert spec.key_setting.islower()


def test_missing_address_is_named_by_its_setting():
    for address in ("", "search.example.org", "ftp://search.example.org"):
        with pytest.raises(ConfigurationError, match="searxng_address"):
            connect(ENGINES["searxng"], address=address)


def test_fallback_chain_begins_as_specified():
    chain = [spec for spec in ENGINES.values() if spec.in_chain]
    assert [spec.name for spec in chain][:4] == CHAIN
    assert not any(spec.is_specialist or spec.is_model_search for spec in chain)


def test_every_engine_is_a_class_of_its_own():
    for name, spec in ENGINES.items():
        assert spec.name == name
        assert spec.kinds
    engines = [type(connect(ENGINES[name], key=KEY)) for name in WITH_ADDRESS]
    assert len({*engines}) == len(WITH_ADDRESS)
    assert all(issubclass(engine, PagedSearch) for engine in engines)


def test_registry_loads_neither_engines_nor_a_client():
    code = (
        "import sys, deep_research.web.search.registry; print([m for m in sys.modules if 'httpx' in m or 'lxml' in m])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
