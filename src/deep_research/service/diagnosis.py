"""What is set and from where, what works here, what is missing and how to mend it."""

import os
import shutil
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from typing import Literal, NamedTuple, get_args

from pydantic import SecretStr

from deep_research.errors import CallFailed, DeepResearchError
from deep_research.llm.address import display_host, is_local
from deep_research.llm.readiness import is_answered
from deep_research.llm.registry import OWN_WINDOW, model_named
from deep_research.request import Depth
from deep_research.settings import Settings, variable_of
from deep_research.storage.private_files import HOME_FILES, is_open_to_others, make_folder
from deep_research.text.masking import MASK, masked, masked_data
from deep_research.text.messages.words import Words
from deep_research.web.search.mcp_servers import McpServer
from deep_research.wiring import open_store
from deep_research.wiring.models import address_of, chosen_models, key_unused_offline, models_left_out, window_of
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


async def diagnose(settings: Settings, words: Words) -> list[Line]:
    """Return what works and what does not, each with its fix; no secret stands in it."""
    modules = (("pdf", "pypdfium2"), ("docx", "docx"), ("html", "trafilatura"))
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    is_drawing, about_sandbox = await sandbox_state(settings, words)
    chromium = shutil.which("chromium")
    lines: list[Line] = [
        (OK, "python", words("doctor.python", version=version, system=sys.platform)),
        _home(settings, words),
        await _store(settings, words),
        _documents(settings, words),
        _depth(settings, words),
        *_models(settings, words),
        *_sources(settings, words),
        *(_module(name, module, words) for name, module in modules),
        (OK if is_drawing else OFF, "sandbox", about_sandbox),
        (OK, "chromium", chromium) if chromium else (OFF, "chromium", words("doctor.chromium_gone")),
    ]
    return [(state, name, masked(detail)) for state, name, detail in lines]


async def sandbox_state(settings: Settings, words: Words) -> tuple[bool, str]:
    """Return whether chart code can be run, and in what, or why not."""
    sandbox = sandbox_from(settings)
    if sandbox is None:
        return False, words("doctor.sandbox_off")
    try:
        return True, words("doctor.sandbox", kind=await sandbox.check())
    except CallFailed as failure:
        return False, failure.in_words(words)
    finally:
        await sandbox.close()


def _home(settings: Settings, words: Words) -> Line:
    home = settings.home
    nearest = next(folder for folder in (home, *home.parents) if os.access(folder, os.F_OK))
    if not os.access(nearest, os.W_OK | os.X_OK):
        return MISSING, "home", words("doctor.home_closed", home=home)
    if nearest == home:
        make_folder(home, ours=HOME_FILES)
        if is_open_to_others(home):
            return OK, "home", words("doctor.home_open", home=home)
    return OK, "home", str(home)


async def _store(settings: Settings, words: Words) -> Line:
    location = settings.store_path if settings.database_url is None else "PostgreSQL"
    if settings.database_url is None and not os.access(settings.store_path, os.F_OK):
        return OK, "store", words("doctor.store_new", path=settings.store_path)
    store = open_store(settings)
    try:
        size = await store.size()
    except DeepResearchError as exc:
        return MISSING, "store", exc.in_words(words)
    finally:
        await store.close()
    counts = {"runs": size.runs, "documents": size.documents, "size": f"{size.bytes_on_disk / _MEBI:.1f}"}
    return OK, "store", words("doctor.store", path=location, **counts)


def _documents(settings: Settings, words: Words) -> Line:
    if settings.docs is None:
        return OFF, "documents", words("doctor.documents_unset")
    if not settings.docs.exists():
        return MISSING, "documents", words("doctor.documents_gone", path=settings.docs)
    return OK, "documents", str(settings.docs)


def _depth(settings: Settings, words: Words) -> Line:
    chosen = settings.research_depth()
    depth = chosen or Depth.named("deep")
    rounds, name = depth.rounds(), (settings.depth or "standard") if chosen else words("doctor.depth_open")
    effort = {"queries": sum(rounds), "rounds": len(rounds), "pages": depth.urls_per_query}
    changed = [name for name in Depth.model_fields if settings.source_of(name) not in ("depth", "default")]
    own = words("doctor.depth_own", names=", ".join(changed)) if changed else ""
    return OK, "depth", words("doctor.depth", depth=name, **effort) + own


def _models(settings: Settings, words: Words) -> list[Line]:
    """Return which models would be used and why, which cannot be, and how to set one."""
    try:
        models = chosen_models(settings)
    except DeepResearchError as exc:
        return [(MISSING, "model", exc.in_words(words))]
    chosen_by = next((name for name in ("thinking_model", "provider") if settings.source_of(name) != "default"), "")
    why = words("doctor.set_by", name=chosen_by, source=settings.source_of(chosen_by)) if chosen_by else ""
    if not models:
        how = words("doctor.model_how")
        if settings.provider == "none":
            how = why
        elif variable := key_unused_offline(settings):
            how = words("doctor.model_offline", variable=variable)
        return [(OFF, "model", words("doctor.model_none", how=how))]
    thinking, task, *others = models
    why = why or words("doctor.is_set", variable=model_named(thinking).provider.key_variable)
    chosen = words("doctor.model", thinking=thinking, task=task, why=why)
    return [
        _model("model", chosen, (thinking, task), settings, words),
        *(_model("fallback", name, (name,), settings, words) for name in others),
        *((MISSING, "fallback", f"{name}: {exc.in_words(words)}") for name, exc in models_left_out(settings).items()),
    ]


def _model(label: str, chosen: str, names: Sequence[str], settings: Settings, words: Words) -> Line:
    silent = _silence(names, settings, words)
    if silent:
        return MISSING, label, f"{chosen}; {silent}"
    if settings.model_window or not any(model_named(name).provider.is_own_server for name in names):
        return OK, label, chosen
    told = window_of(names, settings)
    return (
        OK,
        label,
        f"{chosen}; {words('doctor.window' if told else 'doctor.window_unknown', count=told or OWN_WINDOW)}",
    )


def _sources(settings: Settings, words: Words) -> list[Line]:
    """Return which sources of the web are asked, and which lack a key or an address."""
    try:
        used = chosen_engines(settings)
        specs = known_engines(settings)
    except DeepResearchError as exc:
        return [(MISSING, "web", exc.in_words(words))]
    if not used:
        why = "offline" if settings.offline else "strategy local" if settings.strategy == "local" else "engines none"
        return [(OFF, "web", words("doctor.web_off", why=why))]
    lacking = [problem_of(spec, settings, words) for spec in specs.values() if not spec.is_model_search]
    asked = words("doctor.web", names=", ".join(specs[name].title for name in used))
    return [(OK, "web", asked), *((OFF, "web", problem) for problem in lacking if problem)]


def _silence(models: Sequence[str], settings: Settings, words: Words) -> str:
    """Return which server on this machine does not answer, and what to do; other machines are not asked."""
    for name in map(model_named, models):
        address, provider = address_of(name, settings), name.provider
        if is_local(address) and not is_answered(address):
            command = provider.start_command
            start = words("doctor.start_with", command=command) if command else words("doctor.start")
            variable = variable_of(f"{provider.setting}_address")
            return words("doctor.silent", place=display_host(address), start=start, variable=variable)
    return ""


def _module(name: str, module: str, words: Words) -> Line:
    if find_spec(module) is None:
        return MISSING, name, words("doctor.module_gone", module=module)
    return OK, name, words("doctor.module", module=module)
