"""What is shown of settings holds no secret, and says everything else."""

import logging

import pytest

from deep_research.text.masking import MaskedFormatter, masked, masked_data

SECRET = "s3cr3tvalue"


@pytest.mark.parametrize(
    "text",
    [
        f"https://host/search?key={SECRET}&x=1",
        f"https://host/search?x=1&accessToken={SECRET}#top",
        f"url=https://host/search?api-key={SECRET}",
        f"https://user:{SECRET}@host/v1",
        f"https://{SECRET}@host",
        f"npx server --api-key {SECRET} --other",
        f"npx server --token={SECRET}",
        f"env API_KEY={SECRET} npx server",
        f"Authorization: Bearer {SECRET}",
        f"curl -H 'X-Api-Key: {SECRET}' host",
        f'{{"password": "{SECRET}", "n": 3}}',
        f"密钥 key={SECRET}。",
        "the server said sk-proj-s3cr3tvalue",
    ],
)
def test_a_secret_is_masked_wherever_it_stands(text):
    shown = masked(text)
    assert SECRET not in shown
    assert "***" in shown
    assert masked(shown) == shown


@pytest.mark.parametrize(
    "text",
    [
        "https://host/search?q=heat+pump&format=json",
        "https://medium.com/@bob/post answered with status 404.",
        "Brave Search needs a key: set BRAVE_API_KEY.",
        "Run 74b1f28d3a5c4be5a2d3c4e5f6a7b8c9 is being worked on by process 12 on host.",
        "The store holds a damaged row: table journal, key 3.",
        "keywords=storage author=Lee max_tokens=100",
        "basic research, bearer of news",
        "anthropic:claude-sonnet-4-5-20250929",
        "密钥错误：请设置 OPENAI_API_KEY。",
    ],
)
def test_everything_else_is_said(text):
    assert masked(text) == text


def test_a_command_a_table_and_a_path_may_hold_secrets_too():
    server = {
        "command": ("npx", "server", "--api-key", SECRET, "--limit", "5", "a1b2c3d4e5f6a7b8c9d0e1f2"),
        "arguments": {"api_key": SECRET, "engine": "web"},
        "address": f"https://host/a1b2c3d4e5f6a7b8c9d0e1f2/mcp?k={SECRET}0123456789",
    }
    assert masked_data([server, 3, None]) == [
        {
            "command": ["npx", "server", "--api-key", "***", "--limit", "5", "***"],
            "arguments": {"api_key": "***", "engine": "web"},
            "address": "https://host/***/mcp?k=***",
        },
        3,
        None,
    ]
    assert masked_data(f"http://user:{SECRET}/x@host:80/") == "http://***@host:80/"


def test_a_log_is_masked_with_its_trace():
    try:
        raise ValueError(f"cannot read https://host?token={SECRET}")
    except ValueError as exc:
        record = logging.LogRecord(
            "a", logging.WARNING, "", 1, "at %s", (f"http://u:{SECRET}@h",), (type(exc), exc, None)
        )
    shown = MaskedFormatter("%(message)s").format(record)
    assert SECRET not in shown
    assert "at http://***@h" in shown
