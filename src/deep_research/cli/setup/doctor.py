"""`config show` and `doctor`: what is set and from where, what works here, what is missing and how to mend it."""

import typer

from deep_research.cli.options import Json
from deep_research.cli.printing import show, show_json
from deep_research.service.diagnosis import MISSING, diagnose, shown_settings
from deep_research.settings import load_settings
from deep_research.text.messages.words import words_in

# Without these no run can begin, or none that does what the settings say.
_NEEDED = ("home", "store", "documents", "model", "web")
config = typer.Typer()


@config.command("show")
def show_config(as_json: Json = False) -> None:
    """Show every setting, its value, and where it comes from."""
    settings = load_settings()
    shown = shown_settings(settings)
    if as_json:
        entries = {
            name: {"value": entry.value, "from": entry.source, "variable": entry.variable}
            for name, entry in shown.items()
        }
        show_json(file=str(settings.config_path), settings=entries)
        return
    show(f"# {settings.config_path}{'' if settings.config_path.exists() else ' (not there)'}")
    for name, entry in shown.items():
        show(f"{name:<28} {entry.value!s:<32} {entry.source}")


async def doctor() -> int:
    """Print what works and what does not; return 0 if research can run."""
    lines = await diagnose(load_settings(), words_in("en"))
    for state, name, detail in lines:
        show(f"{state:<8} {name:<12} {detail}")
    return 0 if all(state != MISSING for state, name, _ in lines if name in _NEEDED) else 1
