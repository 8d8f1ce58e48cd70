"""`sandbox check` and `sandbox build-image`: whether chart code can be run here, and the image for Docker."""

import asyncio

from deep_research.cli.printing import show, tell
from deep_research.errors import CallFailed
from deep_research.sandbox.docker import Docker
from deep_research.settings import Settings, load_settings
from deep_research.wiring.sandbox import sandbox_from

EXIT_NONE = 70


def check_sandbox() -> int:
    """Start the sandbox, try to get out of it and draw in it, and say how that went; return 0 if it holds."""
    is_usable, about = asyncio.run(sandbox_state(load_settings()))
    (show if is_usable else tell)(about)
    return 0 if is_usable else EXIT_NONE


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


def build_image() -> None:
    """Make the image that Docker runs chart code in."""
    image = load_settings().sandbox_image
    tell(f"Building {image}; this takes some minutes …")
    asyncio.run(Docker(image).build())
    show(f"{image} is ready. Try it with: deep-research sandbox check")
