"""Writes docs/reference from the code: settings, events, command line. A test fails when the files differ from it."""

import importlib
import sys
import typing
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import NoneType, UnionType
from typing import Literal, NotRequired, get_args, get_origin, is_typeddict

from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from deep_research.errors import DeepResearchError, StoreCorrupt
from deep_research.events import EVENT_DATA, RunEvent
from deep_research.settings import ENV_PREFIX, Settings, variable_of

FOLDER = Path(__file__).parents[1] / "docs" / "reference"
HEAD = "<!-- Written by `make docs` from the code; edit the code. -->\n\n"


def pages() -> dict[str, str]:
    """Return every page of the reference by file name."""
    written = {"settings.md": settings_page(), "events.md": events_page()}
    commands = commands_page()
    return written | ({"commands.md": commands} if commands else {})


def settings_page() -> str:
    """Return the table of settings."""
    rows = [
        (
            f"`{name}`",
            f"`{variable_of(name)}`",
            _type_name(field.annotation) + _bounds(field),
            _default(field),
            _cell(field.description),
        )
        for name, field in Settings.model_fields.items()
    ]
    return (
        f"{HEAD}# Settings\n\n"
        "A command-line option wins over the environment, the environment over `config.toml` in `home`, the file over "
        "the default. An empty variable counts as not set. An unknown key, or an unknown variable that starts with "
        f"`{ENV_PREFIX}`, is an error that names the nearest valid one.\n\n"
        + _table(("key", "variable", "value", "default", "meaning"), rows)
    )


def events_page() -> str:
    """Return what each kind of event carries."""
    envelope = [(f"`{name}`", _type_name(field.annotation)) for name, field in RunEvent.model_fields.items()]
    head = (
        f"{HEAD}# Events\n\nEvery event has the same outer fields; `seq` counts from 1 without a gap, and no `key` "
        "appears twice in a run, also after a resume. `data` depends on `kind`.\n\n"
    )
    parts = [head + _table(("field", "type"), envelope)]
    for kind, data in EVENT_DATA.items():
        rows = [
            (f"`{name}`", _type_name(hint), "no" if name in data.__optional_keys__ else "yes")  # type: ignore[attr-defined] # a TypedDict's
            for name, hint in typing.get_type_hints(data).items()
        ]
        parts.append(f"\n## `{kind}`\n\n{_cell(data.__doc__)}\n\n{_table(('field', 'type', 'always'), rows)}")
    return "".join(parts)


def commands_page() -> str:
    """Return the commands with their arguments and options, or "" while there is no command line."""
    try:
        app = importlib.import_module("deep_research.cli.main").app
    except ModuleNotFoundError as exc:
        if not (exc.name or "").startswith("deep_research"):
            raise
        return ""
    from typer.main import get_command

    return f"{HEAD}# Commands\n" + "".join((*_command_parts("deep-research", get_command(app)), _exit_codes()))


def _exit_codes() -> str:
    """Return what a command may end with: two codes of reports, and those of our errors."""
    meanings = {0: ["Done."], 3: ["The report was written, and did not pass its own verification."]}
    kinds: list[type[DeepResearchError]] = [DeepResearchError]
    for kind in kinds:
        kinds += kind.__subclasses__()
        if "exit_code" in vars(kind) or kind is StoreCorrupt:
            meanings.setdefault(kind.exit_code, []).append((kind.__doc__ or "").partition("\n")[0])
    rows = [(f"`{code}`", _cell(" ".join(said))) for code, said in sorted(meanings.items())]
    return f"\n## Exit codes\n\n{_table(('code', 'meaning'), rows)}"


def _command_parts(path: str, command: typing.Any) -> Iterator[str]:
    if command.hidden:
        return
    text = f"\n## `{path}`\n\n{_cell(command.help)}\n"
    rows = [
        (", ".join(f"`{name}`" for name in _spellings(parameter)), _cell(getattr(parameter, "help", "")))
        for parameter in command.params
        if not getattr(parameter, "hidden", False)
    ]
    yield text + (f"\n{_table(('argument or option', 'meaning'), rows)}" if rows else "")
    for name, inner in getattr(command, "commands", {}).items():
        # What is elsewhere says only its name and help before it is loaded.
        yield from _command_parts(f"{path} {name}", inner.loaded() if hasattr(inner, "loaded") else inner)


def _spellings(parameter: typing.Any) -> list[str]:
    if parameter.param_type_name == "argument":
        return [parameter.name.upper()]
    return [*parameter.opts, *parameter.secondary_opts]


def _type_name(hint: object) -> str:
    origin, inner = get_origin(hint), get_args(hint)
    if origin is Literal:
        return ", ".join(f"`{value}`" for value in inner)
    if origin is typing.Annotated or origin is NotRequired:
        return _type_name(inner[0])
    if origin in (typing.Union, UnionType):
        return " or ".join(_type_name(part) for part in inner if part is not NoneType)
    if origin in (list, tuple):
        return f"list of {_type_name(inner[0])}"
    if origin is dict or is_typeddict(hint):
        return "object"
    names = {
        "str": "text",
        "int": "whole number",
        "float": "number",
        "bool": "true or false",
        "Path": "path",
        "datetime": "time",
    }
    name = getattr(hint, "__name__", str(hint))
    return names.get(name, name)


def _bounds(field: FieldInfo) -> str:
    spelled = {"ge": "≥", "gt": ">", "le": "≤", "lt": "<"}
    # An optional amount carries its bounds inside the union.
    metadata = [*field.metadata, *(item for part in get_args(field.annotation) for item in _inner_metadata(part))]
    bounds = [
        f"{sign} {getattr(item, name):g}" for item in metadata for name, sign in spelled.items() if hasattr(item, name)
    ]
    return f" {', '.join(bounds)}" if bounds else ""


def _inner_metadata(hint: object) -> Iterator[object]:
    if get_origin(hint) is typing.Annotated:
        for item in get_args(hint)[1:]:
            yield from item.metadata if isinstance(item, FieldInfo) else (item,)


def _default(field: FieldInfo) -> str:
    if field.default_factory is not None or field.default is PydanticUndefined:
        return "see meaning"
    if isinstance(field.default, bool):
        return f"`{str(field.default).lower()}`"
    return "not set" if field.default is None else f"`{field.default}`"


def _cell(text: str | None) -> str:
    return " ".join((text or "").split()).replace("|", "\\|")


def _table(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    lines = [head, tuple("---" for _ in head), *rows]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


def main() -> int:
    """Write the pages and name those that changed."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, text in pages().items():
        path = FOLDER / name
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
            print(f"wrote docs/reference/{name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
