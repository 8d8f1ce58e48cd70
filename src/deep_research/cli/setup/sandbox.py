"""`sandbox check` and `sandbox build-image`: whether chart code can be run here, and the image for Docker."""

import typer

from deep_research.charts.sandbox.docker import Docker
from deep_research.cli.printing import show, tell
from deep_research.service.diagnosis import sandbox_state
from deep_research.settings import load_settings
from deep_research.text.messages.words import words_in

EXIT_NONE = 70
sandbox = typer.Typer()


@sandbox.command("check")
async def check_sandbox() -> int:
    """Start the sandbox, try to get out of it, draw in it, and say how that went."""
    is_usable, about = await sandbox_state(load_settings(), words_in("en"))
    (show if is_usable else tell)(about)
    return 0 if is_usable else EXIT_NONE


@sandbox.command("build-image")
async def build_image() -> None:
    """Build the image that Docker runs chart code in."""
    image = load_settings().sandbox_image
    tell(f"Building {image}; this takes some minutes …")
    await Docker(image).build()
    show(f"{image} is ready. Try it with: deep-research sandbox check")
