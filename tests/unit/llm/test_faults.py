"""A status becomes the error that says what to do, and the wait that a server asks for is read in every spelling."""

from datetime import UTC, datetime

import pytest

from deep_research.errors import ModelRefused, NetworkError
from deep_research.llm.chat import error_of
from deep_research.llm.registry import PROVIDERS
from deep_research.llm.vendor import Fault, ModelEndpoint
from deep_research.request import Spend
from deep_research.web.net.headers import retry_after_s

NOW = datetime(2026, 11, 15, 8, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("headers", "wait_s"),
    [
        ({"Retry-After": "12"}, 12.0),
        ({"retry-after": " 0 "}, 0.0),
        ({"retry-after-ms": "1500"}, 1.5),
        ({"retry-after-ms": "soon", "retry-after": "3"}, 3.0),
        ({"Retry-After": "Sun, 15 Nov 2026 08:01:30 GMT"}, 90.0),
        ({"Retry-After": "Sun, 15 Nov 2026 08:01:30 -0000"}, 90.0),
        ({"Retry-After": "Sun, 15 Nov 2026 07:00:00 GMT"}, 0.0),
        ({"retry-after": "-5"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": ""}, None),
        ({"retry-after": "in a while"}, None),
        ({}, None),
    ],
)
def test_wait_is_read_in_every_spelling(headers, wait_s):
    assert retry_after_s(headers, now=NOW) == wait_s


def test_errors_tell_the_host_and_no_more_of_the_address():
    address = "https://user:secret@models.example.org/v1?key=secret"
    endpoint = ModelEndpoint(PROVIDERS["openai-compatible"], "m", address, "sk-secret")
    for status in (None, 300, 400, 401, 403, 404, 418, 429, 500):
        error = error_of(Fault(status), endpoint, Spend(tokens=3))
        assert "secret" not in str(error)
        assert error.spend.tokens == 3
    assert "models.example.org" in str(error_of(Fault(), endpoint, Spend()))
    assert isinstance(error_of(Fault(), endpoint, Spend()), NetworkError)


def test_provider_without_keys_still_says_what_to_mend():
    error = error_of(Fault(401), ModelEndpoint(PROVIDERS["ollama"], "m", "http://127.0.0.1:11434"), Spend())
    assert isinstance(error, ModelRefused)
    assert "access rights" in str(error)
