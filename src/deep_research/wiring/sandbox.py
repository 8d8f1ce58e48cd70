"""Builds the sandbox of chart code that a model writes."""

from importlib.resources import files

from deep_research.charts.sandbox.bubblewrap import Bubblewrap
from deep_research.charts.sandbox.docker import Docker
from deep_research.charts.sandbox.process import SandboxLimits, WarmSandbox
from deep_research.settings import Settings


def sandbox_from(settings: Settings) -> WarmSandbox | None:
    """Return the sandbox that the settings allow, if any; it looks for a backend when it is first used."""
    backends = [
        backend
        for backend in (Docker(settings.sandbox_image), Bubblewrap())
        if settings.sandbox_backend in ("auto", backend.name)
    ]
    limits = SandboxLimits(settings.sandbox_compute_timeout, settings.sandbox_memory_mb)
    style = files("deep_research.charts").joinpath("style.py").read_text(encoding="utf-8")
    return WarmSandbox(backends, limits, style) if backends else None
