"""All settings, and the only reader of the environment and of `config.toml`. Builds nothing from them."""

import os
import sys
import tomllib
from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Literal, get_args

from pydantic import Field, PrivateAttr, ValidationError
from pydantic_settings import BaseSettings, EnvSettingsSource, PydanticBaseSettingsSource, SettingsConfigDict

from deep_research.errors import ConfigurationError
from deep_research.request import (
    Budget,
    ClarifyMode,
    Depth,
    DepthName,
    Language,
    ParallelStrategy,
    ReportLength,
    SearchEngineConfig,
)
from deep_research.settings.models import ModelSettings
from deep_research.settings.search import SearchSettings
from deep_research.settings.server import ServerSettings
from deep_research.settings.types import (
    AbsoluteFolder,
    Amount,
    BlobLocation,
    DatabaseUrl,
    DocumentsPath,
    Duration,
    Folder,
)

ENV_PREFIX = "DEEP_RESEARCH_"
CONFIG_FILE = "config.toml"
# Switches of a tracer that LangChain no longer has; a run would end in its complaint.
_OUTDATED = ("LANGCHAIN_TRACING", "LANGCHAIN_HANDLER")
# `depth` is the setting of that name, where it says a number that is not set by itself and not the default.
Source = Literal["flag", "environment", "file", "depth", "default"]

_SEARCH = SearchEngineConfig()


def user_data_folder() -> Path:
    """Return the folder in which programs of this user keep their data on this system."""
    try:
        home = Path.home()
    except RuntimeError as exc:
        raise ConfigurationError(f"This user has no home folder; set {ENV_PREFIX}HOME to a folder.") from exc
    if sys.platform == "darwin":
        return home / "Library" / "Application Support" / "deep-research"
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or home / "AppData" / "Local") / "deep-research"
    names = Path(os.environ.get("XDG_DATA_HOME", ""))
    # The XDG rules say that a relative path counts as not set.
    return (names if names.is_absolute() else home / ".local" / "share") / "deep-research"


def _by_depth(number: str, description: str, *, least: int, most: int | None = None) -> Any:
    """Return the field of a number that the named depth sets, unless it is set by itself."""
    usual = ", ".join(f"`{name}` {getattr(Depth.named(name), number)}" for name in get_args(DepthName))
    return Field(
        default_factory=lambda known: getattr(Depth.named(known["depth"] or "standard"), number),
        ge=least,
        le=most,
        description=f"{description}; not set, as `depth` says: {usual}.",
    )


class Settings(ModelSettings, SearchSettings, ServerSettings, BaseSettings):
    """Everything that can be set; made directly, it holds what is given and defaults (`load_settings` reads more)."""

    model_config = SettingsConfigDict(
        frozen=True,
        extra="forbid",
        env_prefix=ENV_PREFIX,
        env_ignore_empty=True,
        validate_by_name=True,
        use_attribute_docstrings=True,
    )

    home: AbsoluteFolder = Field(
        default_factory=user_data_folder,
        description=f"Folder of the store and `{CONFIG_FILE}`; by default in the user's data folder. "
        "Cannot be set in the file, which lies in it.",
    )
    logs: Folder = Path("logs")
    """Folder of run folders and reports; a relative path starts at the working folder."""
    wiring: str = Field(default="deep_research.wiring:build", pattern=r"^\w+(\.\w+)*:\w+$")
    """The function that builds the parts of a run, as `module:function`."""

    docs: DocumentsPath | None = None
    """Folder of your own documents to search; not set, none is searched."""
    also_docs: DocumentsPath | None = None
    """A second folder that is searched together with `docs`; addresses in it begin with `shared/`."""
    offline: bool = False
    """Forbid every address outside this machine."""
    length: ReportLength | None = None
    """How much a report tells: `short`, `standard`, `long` or `deep`; not set, as the question needs."""
    enable_citation_image: bool = True
    """Whether the result names the pictures of the cited sources beside the figures."""
    enable_references: bool = True
    """Whether a report lists its references."""
    enable_file_format_resource: bool = False
    """Whether all that was read is also written to one file, `resources.md`."""

    depth: DepthName | None = None
    """How far a run goes: `quick`, `standard` or `deep`; sets the six numbers that follow, where they are not set by
    themselves. Where none of the seven is set, the question decides."""
    max_iterations: int = _by_depth(
        "max_iterations", "Most rounds of searching and reading for a section", least=1, most=10
    )
    queries_first_iteration: int = _by_depth(
        "queries_first_iteration", "Queries of the first round, over all sections", least=1
    )
    queries_followup_iteration: int = _by_depth(
        "queries_followup_iteration", "Queries of each later round, over all sections", least=1
    )
    max_total_queries: int = _by_depth("max_total_queries", "Most queries of a run", least=0)
    urls_per_query: int = _by_depth("urls_per_query", "Pages read in full for each query", least=0)
    max_pages: int = Field(
        default_factory=lambda known: min(200, known["max_total_queries"] * known["urls_per_query"]),
        ge=0,
        description="Most pages read by a run; not set, those of all its queries, but no more than 200.",
    )

    parallel_strategy: ParallelStrategy = _SEARCH.parallel_strategy
    """How queries are spread over engines: `batch` asks all, `race` keeps the first answer, `hybrid` goes along the
    chain of web engines with specialist sources beside it."""
    batch_size: int = Field(default=_SEARCH.batch_size, ge=1)
    """Queries that the strategy `batch` searches for together."""
    enable_race_mode: bool = _SEARCH.enable_race_mode
    """In `hybrid`, ask the web engines at once and keep the first answer, instead of one after another."""
    enable_batch_parallel: bool = _SEARCH.enable_batch_parallel
    """In `batch`, let the next query begin as soon as one is done; else a whole batch is awaited first."""
    max_concurrent_searches: int = Field(default=_SEARCH.max_concurrent_searches, ge=1)
    """Most queries that are searched for at once."""

    clarify: ClarifyMode = "auto"
    """When to ask back: `auto` where the question cannot be researched as it stands, `strict` by the letter of the
    rules, `off` never."""
    language: Language | None = None
    """Language of the report by its code, such as `de` or `zh-Hans`; not set, it follows the question."""
    clarify_rules: AbsoluteFolder | None = None
    """File (TOML) of your own rules, questions and focuses for the intake."""
    confirm_above_usd: Amount = 1.0
    """Ask for approval of the plan where the estimate is above this many US dollars."""

    budget_usd: Amount | None = None
    """Most money of a run, in US dollars; not set, no limit."""
    budget_tokens: int | None = Field(default=None, ge=0)
    """Most model tokens of a run; not set, no limit."""
    budget_seconds: Amount | None = None
    """Most active seconds of a run; not set, no limit."""
    budget_queries: int | None = Field(default=None, ge=0)
    """Most search queries of a run; not set, no limit."""
    budget_pages: int | None = Field(default=None, ge=0)
    """Most pages read by a run; those that could not be had do not count."""

    sandbox_compute_timeout: Duration = Field(default=60.0, validation_alias="SANDBOX_COMPUTE_TIMEOUT")
    """Seconds after which chart code is stopped."""
    sandbox_backend: Literal["auto", "docker", "bubblewrap", "off"] = Field(
        default="auto", validation_alias="SANDBOX_BACKEND"
    )
    """What chart code of a model runs in: `docker`, `bubblewrap`, `auto` for the first that works, or `off`."""
    sandbox_image: str = Field(
        default="deep-research-sandbox", min_length=1, pattern=r"^[a-z0-9]", validation_alias="SANDBOX_IMAGE"
    )
    """Docker image that chart code runs in; `deep-research sandbox build-image` makes it."""
    sandbox_memory_mb: int = Field(default=1024, ge=512, validation_alias="SANDBOX_MEMORY_MB")
    """Most memory of chart code, in MiB."""
    sandbox_max_chart_failures: int = Field(default=2, ge=1, validation_alias="SANDBOX_MAX_CHART_FAILURES")
    """Failed charts in a row after which the others are skipped."""

    charts: bool = True
    """Whether reports have charts."""
    lease_s: Duration = 30.0
    """Seconds without a sign of life after which another process may take over a run."""
    store_busy_timeout_s: Amount = 30.0
    """Seconds to wait for another process that writes to the store, and for a database that is away."""
    database_url: DatabaseUrl = None
    """PostgreSQL that holds the store (`postgresql://user:password@host:5432/name`; extra `postgres`); not set, it is a
    file in the home folder."""
    database_connections: int = Field(default=8, ge=1)
    """Most connections to PostgreSQL that one process opens; the queue of a server or worker has up to three more."""
    blobs: BlobLocation = ""
    """Where pages, texts and figures of 8 KB or more (compressed) are kept: a folder that all hosts share, or
    `s3://bucket/prefix` (extra `s3`; keys as AWS's tools find them); not set, in the database."""
    blobs_endpoint: str = Field(default="", pattern=r"^(https?://.*)?$")
    """Address of an S3-compatible store; not set, it is AWS."""
    tracing: bool = False
    """Send traces of runs to LangSmith."""
    otel: bool = False
    """Send spans of runs, stages and calls to an OpenTelemetry collector (extra `otel`)."""
    otel_address: str = Field(default="http://127.0.0.1:4318", pattern=r"^https?://")
    """Address of the collector, which speaks OTLP over HTTP."""
    otel_texts: bool = False
    """Whether spans also hold questions, prompts, queries, page addresses and answers."""

    _sources: dict[str, Source] = PrivateAttr(default_factory=dict)

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],  # noqa: ARG003 - the library's signature
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,  # noqa: ARG003 - the library's signature
        dotenv_settings: PydanticBaseSettingsSource,  # noqa: ARG003 - the library's signature
        file_secret_settings: PydanticBaseSettingsSource,  # noqa: ARG003 - the library's signature
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Leave reading to `load_settings`, which keeps where each value came from."""
        return (init_settings,)

    def with_changes(self, **changes: object) -> "Settings":
        """Return the same settings but for these, checked like any others."""
        names = {name: getattr(self, name) for name in self.model_fields_set}
        changed = _validated(names, changes, changes)
        changed._sources.update({name: self.source_of(name) for name in names if name not in changes})
        return changed

    def source_of(self, field: str) -> Source:
        """Say where a setting's value came from."""
        if field not in type(self).model_fields:
            raise KeyError(field)
        if field in self._sources or field in self.model_fields_set:
            return self._sources.get(field, "flag")
        return "depth" if field in Depth.model_fields and self.depth not in (None, "standard") else "default"

    @property
    def store_path(self) -> Path:
        """The database of runs."""
        return self.home / "store.db"

    @property
    def cache_path(self) -> Path:
        """The database of answers that are kept for a while."""
        return self.home / "cache.db"

    @property
    def index_path(self) -> Path:
        """Return the index of documents, which can be rebuilt at any time."""
        return self.home / "index.db"

    @property
    def server_path(self) -> Path:
        """The database of accounts, collections and schedules."""
        return self.home / "server.db"

    @property
    def uploads_path(self) -> Path:
        """The folder of uploaded documents, one folder for each collection."""
        return self.home / "uploads"

    @property
    def config_path(self) -> Path:
        """The file of settings, whether or not it exists."""
        return self.home / CONFIG_FILE

    def research_depth(self) -> Depth | None:
        """Return how far a run goes: as `depth` says, but for numbers set by themselves; None where nothing is set."""
        if all(self.source_of(name) == "default" for name in ("depth", *Depth.model_fields)):
            return None
        return Depth.model_validate(self, from_attributes=True)

    def budget(self) -> Budget:
        """Return what a run may cost."""
        return Budget(**{kind: getattr(self, f"budget_{kind}") for kind in Budget.model_fields})

    def search_config(self) -> SearchEngineConfig:
        """Return how searches are spread."""
        return SearchEngineConfig.model_validate(self, from_attributes=True)


def variable_of(field: str) -> str:
    """Return the environment variable of a setting."""
    alias = Settings.model_fields[field].validation_alias
    return alias if isinstance(alias, str) else f"{ENV_PREFIX}{field.upper()}"


def load_settings(**flags: object) -> Settings:
    """Return the settings of this process: flags win over environment, file and default; None is no flag."""
    flags = {name: value for name, value in flags.items() if value is not None}
    _refuse_unknown(flags, Settings.model_fields, lambda name: f"the option {_flag(name)}", _flag)
    environment = _read_environment()
    home = _validated({}, {name: value for name, value in (environment | flags).items() if name == "home"}, flags).home
    path = home / CONFIG_FILE
    file = _read_file(path)
    return _validated(file, environment | flags, flags, path=path)


def _read_environment() -> dict[str, object]:
    for name in _OUTDATED:
        if os.environ.get(name, "").lower() not in ("", "0", "false"):
            raise ConfigurationError(f"Unset the environment variable {name}: LangChain refuses to run with it.")
    fields = {variable_of(field): field for field in Settings.model_fields}
    ours = {name.upper() for name, value in os.environ.items() if value and name.upper().startswith(ENV_PREFIX)}
    _refuse_unknown(sorted(ours), fields, lambda name: f"the environment variable {name}", str)
    # An aliased setting is also looked up under its prefixed name, which `ours` has just refused.
    read = EnvSettingsSource(Settings)()
    return {fields.get(name, name): value for name, value in read.items()}


def _read_file(path: Path) -> dict[str, object]:
    try:
        # Some editors put a byte order mark at the start.
        data = tomllib.loads(path.read_bytes().decode("utf-8-sig"))
    except FileNotFoundError:
        return {}
    except OSError as exc:
        raise ConfigurationError(f"The settings file {path} cannot be read: {exc.strerror}.") from exc
    except UnicodeDecodeError as exc:
        raise ConfigurationError(f"The settings file {path} is not UTF-8 text; save it as UTF-8.") from exc
    except tomllib.TOMLDecodeError as exc:
        raise ConfigurationError(f"The settings file {path} is not valid TOML: {exc}.") from exc
    if "home" in data:
        raise ConfigurationError(
            f"The settings file {path} cannot set home, because it lies in it; set {variable_of('home')} instead."
        )
    _refuse_unknown(data, Settings.model_fields, lambda name: f"the key {name} in {path}", str)
    return data


def _refuse_unknown(
    names: Iterable[str], known: Iterable[str], describe: Callable[[str], str], spell: Callable[[str], str]
) -> None:
    valid = set(known)
    for name in names:
        if name not in valid:
            nearest = get_close_matches(name, sorted(valid), n=1, cutoff=0)[0]
            raise ConfigurationError(f"There is no setting for {describe(name)}; the nearest one is {spell(nearest)}.")


def _validated(
    file: Mapping[str, object], above: Mapping[str, object], flags: Mapping[str, object], path: Path | None = None
) -> Settings:
    names = {**file, **above}
    sources: dict[str, Source] = {
        name: "flag" if name in flags else "environment" if name in above else "file" for name in names
    }
    try:
        settings = Settings.model_validate(names)
    except ValidationError as exc:
        raise ConfigurationError("\n".join(_problems(exc, sources, path))) from None
    settings._sources.update(sources)
    return settings


def _problems(error: ValidationError, sources: Mapping[str, Source], path: Path | None) -> list[str]:
    """Say for each bad value its key, its source and what fits, but not the value, which may be a secret."""
    fields = {variable_of(field): field for field in Settings.model_fields}
    lines = []
    for problem in error.errors(include_input=False, include_url=False):
        if problem["type"] == "default_factory_not_called":
            continue  # What hangs on a bad value is not bad itself.
        name = str(problem["loc"][0])
        field = fields.get(name, name)
        descriptions = {
            "flag": f"the option {_flag(field)}",
            "environment": f"the environment variable {variable_of(field)}",
            "file": f"the file {path}",
            "default": "its default",
        }
        fits = problem["msg"].removeprefix("Value error, ")
        source = descriptions[sources.get(field, "default")]
        lines.append(f"The value of {field} from {source} does not fit: {fits[0].lower()}{fits[1:]}.")
    return lines


def _flag(field: str) -> str:
    return "--" + field.replace("_", "-")
