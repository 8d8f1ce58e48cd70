"""What is set and from where, what works here, what is missing and how to mend it."""

import os
import shutil
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from typing import Literal, NamedTuple, get_args

from pydantic import SecretStr

from deep_research.errors import CallFailed, DeepResearchError
from deep_research.llm.address import is_local, place_of
from deep_research.llm.readiness import is_answered
from deep_research.llm.registry import model_named
from deep_research.masking import MASK, masked, masked_data
from deep_research.private_files import HOME_FILES, is_open_to_others, make_folder
from deep_research.request import Depth
from deep_research.search.mcp_servers import McpServer
from deep_research.settings import Settings, variable_of
from deep_research.wiring import open_store
from deep_research.wiring.models import address_of, chosen_models, key_unused_offline, models_left_out
from deep_research.wiring.sandbox import sandbox_from
from deep_research.wiring.search import chosen_engines, known_engines, problem_of

State = Literal["ok", "missing", "off"]
OK: State = "ok"
MISSING: State = "missing"
OFF: State = "off"
# State, name and detail.
Line = tuple[State, str, str]
_MEBI = 1024 * 1024


class Setting(NamedTuple):
    """A setting as it may be shown: its value without secrets, where it comes from, and the variable that sets it.

    The value of a secret says nothing but that there is one.
    """

    value: str | int | float | bool | None
    source: str
    variable: str
    is_secret: bool = False


def shown_settings(settings: Settings) -> dict[str, Setting]:
    """Return every setting, its value, and where it comes from."""
    return {
        name: Setting(
            _plain(getattr(settings, name)),
            settings.source_of(name),
            variable_of(name),
            is_secret=SecretStr in get_args(field.annotation) or field.annotation is SecretStr,
        )
        for name, field in Settings.model_fields.items()
    }


def _plain(value: object) -> str | int | float | bool | None:
    """Return a value as it may be shown: without the secrets that an address or a command may hold."""
    if isinstance(value, int | float | bool | None):
        return value
    if isinstance(value, tuple):
        items = [_fields(item) if isinstance(item, McpServer) else item for item in value]
        return str(tuple(masked_data(item) for item in items))
    return str(masked_data(str(value)))


def _fields(server: McpServer) -> dict[str, object]:
    """Return what is set of a server; of its environment only the names are shown."""
    fields = {name: getattr(server, name) for name in server.model_fields_set}
    return fields | {"environment": dict.fromkeys(server.environment, MASK)} if server.environment else fields


async def diagnose(settings: Settings) -> list[Line]:
    """Return what works and what does not, each with its fix; no secret stands in it."""
    lines: list[Line] = [
        (OK, "python", f"{sys.version_info.major}.{sys.version_info.minor} on {sys.platform}"),
        _home(settings),
        await _store(settings),
        _documents(settings),
        _depth(settings),
        *_models(settings),
        *_sources(settings),
        *(_module(name, module) for name, module in (("pdf", "pypdfium2"), ("docx", "docx"), ("html", "trafilatura"))),
        await _sandbox(settings),
        _program("chromium", "chromium", "pages drawn by scripts, with the setting render_pages"),
    ]
    return [(state, name, masked(detail)) for state, name, detail in lines]


async def sandbox_state(settings: Settings) -> tuple[bool, str]:
    """Return whether chart code can be run, and in what, or why not."""
    sandbox = sandbox_from(settings)
    if sandbox is None:
        return False, "off: SANDBOX_BACKEND says so; charts are drawn by rules alone"
    try:
        return True, f"{await sandbox.check()}: chart code of a model runs in it (tried just now)"
    except CallFailed as failure:
        return False, str(failure)
    finally:
        await sandbox.close()


def _home(settings: Settings) -> Line:
    home = settings.home
    nearest = next(folder for folder in (home, *home.parents) if os.access(folder, os.F_OK))
    if not os.access(nearest, os.W_OK | os.X_OK):
        return MISSING, "home", f"{home}; cannot be written: set DEEP_RESEARCH_HOME to a folder that can"
    if nearest == home:
        make_folder(home, ours=HOME_FILES)
        if is_open_to_others(home):
            return OK, "home", f"{home}; others on this machine can look into it: chmod 700 {home}"
    return OK, "home", str(home)


async def _store(settings: Settings) -> Line:
    if not os.access(settings.store_path, os.F_OK):
        return OK, "store", f"{settings.store_path} (will be made by the first run)"
    store = open_store(settings)
    try:
        size = await store.size()
    except DeepResearchError as exc:
        return MISSING, "store", str(exc)
    finally:
        await store.close()
    held = f"{size.runs} runs, {size.documents} documents, {size.bytes_on_disk / _MEBI:.1f} MiB"
    return OK, "store", f"{settings.store_path}: {held}"


def _documents(settings: Settings) -> Line:
    if settings.docs is None:
        return OFF, "documents", "no folder set: name one with --docs, or docs in config.toml"
    if not settings.docs.exists():
        return MISSING, "documents", f"{settings.docs} is neither a folder nor a file: name another with --docs"
    return OK, "documents", str(settings.docs)


def _depth(settings: Settings) -> Line:
    depth = settings.research_depth()
    rounds = depth.rounds()
    effort = f"queries: {sum(rounds)}, rounds: {len(rounds)}, pages for each query: {depth.urls_per_query}"
    changed = [name for name in Depth.model_fields if settings.source_of(name) not in ("depth", "default")]
    own = f" ({', '.join(changed)} set)" if changed else ""
    return OK, "depth", f"{settings.depth}; at most: {effort}{own}"


def _models(settings: Settings) -> list[Line]:
    """Return which models would be used and why, which cannot be, and how to set one."""
    try:
        models = chosen_models(settings)
    except DeepResearchError as exc:
        return [(MISSING, "model", str(exc))]
    given = next((name for name in ("thinking_model", "provider") if settings.source_of(name) != "default"), "")
    why = f"{given} is set by {settings.source_of(given)}" if given else ""
    if not models:
        without = "none: rules without a model research and write"
        how = "set a key such as OPENAI_API_KEY, or name a local one: --provider ollama:MODEL"
        if variable := key_unused_offline(settings):
            how = f"{variable} is set, and offline forbids to use it"
        return [(OFF, "model", f"{without} ({why})" if settings.provider == "none" else f"{without}; {how}")]
    thinking, task, *others = models
    why = why or f"{model_named(thinking).provider.key_variable} is set"
    chosen = f"{thinking} for plans and reports, {task} for the rest ({why})"
    return [
        _model("model", chosen, (thinking, task), settings),
        *(_model("fallback", name, (name,), settings) for name in others),
        *((MISSING, "fallback", f"{name}: {why}") for name, why in models_left_out(settings).items()),
    ]


def _model(label: str, chosen: str, names: Sequence[str], settings: Settings) -> Line:
    silent = _silence(names, settings)
    return (MISSING, label, f"{chosen}; {silent}") if silent else (OK, label, chosen)


def _sources(settings: Settings) -> list[Line]:
    """Return which sources of the web are asked, and which lack a key or an address."""
    try:
        used = chosen_engines(settings)
        specs = known_engines(settings)
    except DeepResearchError as exc:
        return [(MISSING, "web", str(exc))]
    if not used:
        why = "offline" if settings.offline else "strategy local" if settings.strategy == "local" else "engines none"
        return [(OFF, "web", f"{why}: nothing outside this machine is searched")]
    lacking = [problem_of(spec, settings) for spec in specs.values() if not spec.is_model_search]
    asked = f"would ask {', '.join(specs[name].title for name in used)}"
    return [(OK, "web", asked), *((OFF, "web", problem) for problem in lacking if problem)]


def _silence(models: Sequence[str], settings: Settings) -> str:
    """Return which server on this machine does not answer, and what to do; other machines are not asked."""
    for name in map(model_named, models):
        address, provider = address_of(name, settings), name.provider
        if is_local(address) and not is_answered(address):
            start = f"start it with {provider.start_command}" if provider.start_command else "start the server there"
            variable = variable_of(f"{provider.setting}_address")
            return f"nobody answers at {place_of(address)}: {start}, or set {variable}"
    return ""


def _module(name: str, module: str) -> Line:
    if find_spec(module) is None:
        return MISSING, name, f"the package {module} is missing: install deep-research again"
    return OK, name, f"read with {module}"


async def _sandbox(settings: Settings) -> Line:
    is_usable, about = await sandbox_state(settings)
    return (OK if is_usable else OFF), "sandbox", about


def _program(program: str, package: str, use: str) -> Line:
    found = shutil.which(program)
    return (OK, program, found) if found else (OFF, program, f"not installed ({package}); used for {use}")
