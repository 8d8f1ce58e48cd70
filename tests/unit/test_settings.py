"""Settings: who wins, what is refused, and what the refusal says."""

import subprocess
import sys
from pathlib import Path

import pytest
from annotated_types import BaseMetadata

from deep_research.errors import ConfigurationError
from deep_research.request import Budget, Depth, ResearchRequest, SearchEngineConfig
from deep_research.settings import Settings, load_settings, user_data_folder, variable_of


@pytest.fixture
def config(own_home: Path) -> Path:
    return own_home / "config.toml"


def test_defaults_are_those_of_the_request_types():
    settings = Settings()
    assert settings.research_depth() is None is ResearchRequest(question="?").depth
    assert settings.length is None is ResearchRequest(question="?").length
    assert settings.budget() == Budget()
    assert settings.search_config() == SearchEngineConfig()
    assert settings.clarify == ResearchRequest(question="?").clarify
    assert settings.source_of("max_iterations") == "default"


def test_flag_wins_over_environment_over_file_over_default(monkeypatch, config):
    config.write_text("max_iterations = 2\nurls_per_query = 7\nbatch_size = 9\n")
    monkeypatch.setenv("DEEP_RESEARCH_MAX_ITERATIONS", "3")
    monkeypatch.setenv("DEEP_RESEARCH_URLS_PER_QUERY", "8")
    settings = load_settings(max_iterations=4)
    fields = ("max_iterations", "urls_per_query", "batch_size", "lease_s")
    assert [getattr(settings, field) for field in fields] == [4, 8, 9, 30.0]
    assert [settings.source_of(field) for field in fields] == ["flag", "environment", "file", "default"]


@pytest.mark.parametrize(("name", "rounds"), [("quick", [4]), ("standard", [8, 5, 5, 2]), ("deep", [40, 30, 30, 20])])
def test_a_named_depth_sets_rounds_and_queries(monkeypatch, name, rounds):
    monkeypatch.setenv("DEEP_RESEARCH_DEPTH", name)
    settings = load_settings()
    assert settings.research_depth() == Depth.named(name)
    assert Depth.named(name).rounds() == rounds
    assert settings.search_config().max_total_queries == sum(rounds)
    assert settings.source_of("max_iterations") == ("default" if name == "standard" else "depth")


def test_a_number_that_is_set_wins_over_the_named_depth_wherever_each_comes_from(monkeypatch, config):
    config.write_text("max_iterations = 2\n")
    monkeypatch.setenv("DEEP_RESEARCH_MAX_TOTAL_QUERIES", "15")
    settings = load_settings(depth="deep")
    assert settings.research_depth() == Depth(
        max_iterations=2,
        queries_first_iteration=40,
        queries_followup_iteration=30,
        max_total_queries=15,
        urls_per_query=2,
    )
    assert [settings.source_of(name) for name in ("max_iterations", "max_total_queries", "urls_per_query")] == [
        "file",
        "environment",
        "depth",
    ]
    quick = settings.with_changes(depth="quick", max_iterations=3)
    assert quick.research_depth() == Depth(
        max_iterations=3, queries_first_iteration=4, queries_followup_iteration=4, max_total_queries=15
    )


@pytest.mark.parametrize("name", ["max_iterations", "max_total_queries", "urls_per_query", "max_pages"])
def test_whoever_sets_one_number_has_set_the_depth(monkeypatch, config, name):
    number = getattr(Depth(), name)
    assert Settings(**{name: number}).research_depth() == Depth()
    monkeypatch.setenv(f"DEEP_RESEARCH_{name.upper()}", str(number))
    assert load_settings().research_depth() == Depth()
    monkeypatch.delenv(f"DEEP_RESEARCH_{name.upper()}")
    config.write_text('depth = "standard"\n')
    assert load_settings().research_depth() == Depth(), "the usual one is a choice too"
    config.write_text('length = "deep"\n')
    assert (load_settings().research_depth(), load_settings().length) == (None, "deep")


@pytest.mark.parametrize(
    ("given", "pages"),
    [
        ({}, 60),
        ({"depth": "quick"}, 12),
        ({"depth": "deep"}, 200),
        ({"urls_per_query": 6}, 120),
        ({"max_total_queries": 100, "urls_per_query": 5}, 200),
        ({"depth": "deep", "max_pages": 30}, 30),
        ({"max_total_queries": 100, "max_pages": 500}, 500),
    ],
)
def test_a_run_reads_what_its_queries_want_and_no_more_than_it_may(given, pages):
    assert Settings(**given).max_pages == pages


def test_an_unknown_depth_names_the_choices_and_nothing_else(monkeypatch):
    monkeypatch.setenv("DEEP_RESEARCH_DEPTH", "bottomless")
    with pytest.raises(ConfigurationError) as caught:
        load_settings()
    assert str(caught.value) == (
        "The value of depth from the environment variable DEEP_RESEARCH_DEPTH does not fit: "
        "input should be 'quick', 'standard' or 'deep'."
    )


def test_an_allowed_host_that_can_never_match_is_named_with_its_source_and_the_reason(monkeypatch, config):
    config.write_text('allowed_hosts = ["Wiki.corp", "http://user:s3cr3t@host/page"]\n')
    with pytest.raises(ConfigurationError) as caught:
        load_settings()
    assert str(caught.value) == (
        f"The value of allowed_hosts from the file {config} does not fit: no address matches the entry "
        "'http://***@host/page': only the host is compared, no path: write the host alone."
    )
    monkeypatch.setenv("DEEP_RESEARCH_ALLOWED_HOSTS", "Wiki.corp:8080, https://搜索.corp/")
    settings = load_settings()
    assert settings.allowed_hosts == ("wiki.corp:8080", "xn--u2uy07c.corp")
    assert settings.with_changes(depth="quick").allowed_hosts == settings.allowed_hosts
    monkeypatch.setenv("DEEP_RESEARCH_MAIL_RECIPIENTS", "me@example.org, @example.net")
    assert load_settings().mail_recipients == ("me@example.org", "@example.net")


def test_flag_of_none_is_not_given(monkeypatch):
    monkeypatch.setenv("DEEP_RESEARCH_CLARIFY", "off")
    assert load_settings(clarify=None).clarify == "off"


def test_flag_of_zero_or_false_is_given(monkeypatch):
    monkeypatch.setenv("DEEP_RESEARCH_BUDGET_USD", "5")
    monkeypatch.setenv("DEEP_RESEARCH_TRACING", "true")
    settings = load_settings(budget_usd=0, tracing=False)
    assert settings.budget_usd == 0
    assert settings.tracing is False


def test_empty_variable_counts_as_not_set(monkeypatch, config):
    config.write_text('language = "zh-Hant"\n')
    monkeypatch.setenv("DEEP_RESEARCH_LANGUAGE", "")
    monkeypatch.setenv("DEEP_RESEARCH_NO_SUCH_THING", "")
    settings = load_settings()
    assert settings.language == "zh-Hant"
    assert settings.source_of("language") == "file"


def test_documented_variable_names_are_kept(monkeypatch):
    names = {
        "DEEP_RESEARCH_MAX_ITERATIONS": "max_iterations",
        "DEEP_RESEARCH_QUERIES_FIRST_ITERATION": "queries_first_iteration",
        "DEEP_RESEARCH_QUERIES_FOLLOWUP_ITERATION": "queries_followup_iteration",
        "DEEP_RESEARCH_MAX_TOTAL_QUERIES": "max_total_queries",
        "DEEP_RESEARCH_URLS_PER_QUERY": "urls_per_query",
        "DEEP_RESEARCH_MAX_PAGES": "max_pages",
        "SANDBOX_COMPUTE_TIMEOUT": "sandbox_compute_timeout",
        "SANDBOX_MAX_CHART_FAILURES": "sandbox_max_chart_failures",
    }
    for name in names:
        monkeypatch.setenv(name, "7")
    settings = load_settings()
    for name, field in names.items():
        assert variable_of(field) == name
        assert getattr(settings, field) == 7
        assert settings.source_of(field) == "environment"


def test_sandbox_setting_has_one_key_in_the_file_and_one_variable(monkeypatch, config):
    config.write_text("sandbox_compute_timeout = 5\n")
    assert load_settings().sandbox_compute_timeout == 5
    assert load_settings(sandbox_compute_timeout=6).sandbox_compute_timeout == 6
    config.write_text("SANDBOX_COMPUTE_TIMEOUT = 5\n")
    with pytest.raises(ConfigurationError, match="SANDBOX_COMPUTE_TIMEOUT"):
        load_settings()
    config.unlink()
    monkeypatch.setenv("DEEP_RESEARCH_SANDBOX_COMPUTE_TIMEOUT", "5")
    with pytest.raises(ConfigurationError, match="nearest one is SANDBOX_COMPUTE_TIMEOUT"):
        load_settings()


def test_unknown_variable_names_the_nearest(monkeypatch):
    monkeypatch.setenv("DEEP_RESEARCH_MAX_ITERATION", "3")
    with pytest.raises(ConfigurationError, match=r"DEEP_RESEARCH_MAX_ITERATION; .* DEEP_RESEARCH_MAX_ITERATIONS\."):
        load_settings()


def test_unknown_key_names_key_file_and_the_nearest(config):
    config.write_text("max_iteratoins = 3\n")
    with pytest.raises(ConfigurationError) as caught:
        load_settings()
    for part in ("max_iteratoins", str(config), "max_iterations"):
        assert part in str(caught.value)


def test_unknown_flag_is_refused():
    with pytest.raises(ConfigurationError, match="--max-iteration; the nearest one is --max-iterations"):
        load_settings(max_iteration=3)


def test_bad_value_names_key_source_and_what_fits(monkeypatch, config):
    config.write_text('clarify = "sometimes"\n')
    with pytest.raises(ConfigurationError) as from_file:
        load_settings()
    assert f"clarify from the file {config}" in str(from_file.value)
    assert "'auto', 'strict' or 'off'" in str(from_file.value)

    config.unlink()
    monkeypatch.setenv("DEEP_RESEARCH_MAX_ITERATIONS", "11")
    with pytest.raises(ConfigurationError, match=r"max_iterations from the environment variable DEEP_.*equal to 10\."):
        load_settings()
    with pytest.raises(ConfigurationError, match="max_iterations from the option --max-iterations"):
        load_settings(max_iterations=0)


def test_every_bad_value_is_named_at_once(config):
    config.write_text("batch_size = 0\nlease_s = 0\n")
    with pytest.raises(ConfigurationError) as caught:
        load_settings()
    assert [line.split()[3] for line in str(caught.value).splitlines()] == ["batch_size", "lease_s"]


def test_bad_value_is_never_shown(monkeypatch):
    monkeypatch.setenv("SANDBOX_MAX_CHART_FAILURES", "hunter2")
    with pytest.raises(ConfigurationError, match="SANDBOX_MAX_CHART_FAILURES") as caught:
        load_settings()
    assert "hunter2" not in str(caught.value)
    # A chained validation error would show the value in a traceback.
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__


@pytest.mark.parametrize("value", ["-1", "nan", "inf", "much"])
@pytest.mark.parametrize("kind", Budget.model_fields)
def test_budget_that_is_no_amount_is_refused(monkeypatch, kind, value):
    monkeypatch.setenv(f"DEEP_RESEARCH_BUDGET_{kind.upper()}", value)
    with pytest.raises(ConfigurationError, match=f"budget_{kind}"):
        load_settings()


def test_budget_holds_every_kind(monkeypatch):
    for kind in Budget.model_fields:
        monkeypatch.setenv(f"DEEP_RESEARCH_BUDGET_{kind.upper()}", "6")
    assert load_settings().budget() == Budget(usd=6, tokens=6, seconds=6, queries=6, pages=6)


def test_bounds_are_those_of_the_request_types():
    """What settings accept, `Depth` and `SearchEngineConfig` accept too."""
    for kind, method in ((Depth, Settings.research_depth), (SearchEngineConfig, Settings.search_config)):
        for name, field in kind.model_fields.items():
            ours, theirs = (
                {repr(bound) for bound in each.metadata if isinstance(bound, BaseMetadata)}
                for each in (Settings.model_fields[name], field)
            )
            assert ours == theirs, name
        assert method(Settings(max_iterations=5)) == kind()


def test_broken_file_names_file_and_line(config):
    config.write_text("max_iterations = 3\nclarify = \n")
    with pytest.raises(ConfigurationError, match="line 2") as caught:
        load_settings()
    assert str(config) in str(caught.value)


def test_file_in_another_encoding_is_refused(config):
    config.write_bytes('wiring = "研究:构建"\n'.encode("gb18030"))
    with pytest.raises(ConfigurationError, match="UTF-8"):
        load_settings()


def test_byte_order_mark_is_accepted(config):
    config.write_bytes(b"\xef\xbb\xbfmax_iterations = 3\n")
    assert load_settings().max_iterations == 3


def test_file_that_cannot_be_read_is_named(config):
    config.mkdir()
    with pytest.raises(ConfigurationError, match=r"config\.toml cannot be read"):
        load_settings()


def test_home_cannot_be_set_in_the_file_that_lies_in_it(config):
    config.write_text('home = "/elsewhere"\n')
    with pytest.raises(ConfigurationError, match="DEEP_RESEARCH_HOME"):
        load_settings()


def test_home_of_a_flag_decides_which_file_is_read(tmp_path, config):
    config.write_text("max_iterations = 2\n")
    (tmp_path / "config.toml").write_text("max_iterations = 3\n")
    settings = load_settings(home=tmp_path)
    assert settings.max_iterations == 3
    assert settings.store_path == tmp_path / "store.db"
    assert settings.config_path == tmp_path / "config.toml"


def test_home_is_absolute_and_expanded(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    assert load_settings(home="here").home == tmp_path / "here"
    monkeypatch.setenv("HOME", str(tmp_path))
    assert load_settings(home="~/there").home == tmp_path / "there"


@pytest.mark.skipif(sys.platform in ("darwin", "win32"), reason="the XDG rules hold on other systems")
def test_home_follows_the_user_data_folder(monkeypatch, tmp_path):
    monkeypatch.delenv("DEEP_RESEARCH_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    assert load_settings().home == tmp_path / "data" / "deep-research"
    for ignored in ("", "relative"):
        monkeypatch.setenv("XDG_DATA_HOME", ignored)
        assert user_data_folder() == tmp_path / ".local" / "share" / "deep-research"


@pytest.mark.parametrize("wiring", ["", "module", "module:", ":function", "a module:function", "a..b:c"])
def test_wiring_that_names_no_function_is_refused(wiring):
    with pytest.raises(ConfigurationError, match="wiring"):
        load_settings(wiring=wiring)


def test_settings_are_frozen_and_unknown_fields_have_no_source():
    settings = Settings(max_iterations=3)
    assert settings.source_of("max_iterations") == "flag"
    with pytest.raises(ValueError, match="frozen"):
        settings.max_iterations = 4
    with pytest.raises(KeyError):
        settings.source_of("nothing")


def test_settings_made_directly_read_nothing(monkeypatch, config):
    config.write_text("max_iterations = 2\n")
    monkeypatch.setenv("DEEP_RESEARCH_URLS_PER_QUERY", "9")
    settings = Settings(home=config.parent)
    assert (settings.max_iterations, settings.urls_per_query) == (5, 3)


def test_every_setting_is_described():
    assert [name for name, field in Settings.model_fields.items() if not field.description] == []


def test_settings_load_neither_langgraph_nor_langchain():
    code = "import sys, deep_research.settings; print({'langgraph', 'langchain_core', 'langsmith'} & set(sys.modules))"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == "set()"


@pytest.mark.parametrize("name", ["LANGCHAIN_TRACING", "LANGCHAIN_HANDLER"])
def test_outdated_tracing_switch_is_refused_with_the_fix(monkeypatch, name):
    monkeypatch.setenv(name, "true")
    with pytest.raises(ConfigurationError, match=f"Unset the environment variable {name}"):
        load_settings()
