"""The system's programs and fonts that a test may need: who lacks one is told how to get it."""

import shutil
from pathlib import Path

import pytest

# What a package brings, by the names of its programs.
PROGRAMS = {
    "bubblewrap": ("bwrap",),
    "chromium": ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome"),
    "postgresql": ("initdb", "postgres", "pg_ctl", "psql"),
    "docker": ("docker",),
    "fontconfig": ("fc-list", "fc-match"),
    "curl": ("curl",),
    "jq": ("jq",),
    "tesseract-ocr": ("tesseract",),
    "libreoffice": ("soffice", "libreoffice"),
}
FONT_FOLDERS = (
    Path("/usr/share/fonts"),
    Path("/usr/local/share/fonts"),
    Path.home() / ".local/share/fonts",
    Path.home() / ".fonts",
)
POSTGRESQL = Path("/usr/lib/postgresql")
FOLDERS = (*FONT_FOLDERS, POSTGRESQL)
FONTS = "fonts-noto-cjk"


def has(package: str) -> bool:
    """Say whether what a package brings is here."""
    if package == FONTS:
        return any(next(folder.rglob("NotoSansCJK*"), None) for folder in FONT_FOLDERS)
    if package == "postgresql" and next(POSTGRESQL.glob("*/bin/initdb"), None):
        return True
    return any(map(shutil.which, PROGRAMS[package]))


def found() -> list[str]:
    """Return what is here of all that a test may need."""
    return [package for package in (*PROGRAMS, FONTS) if has(package)]


def lacking(package: str) -> str:
    """Return why a test is skipped; the end of the run lists these (`tests/conftest.py`)."""
    return f"{package} is not installed: make system, or apt-get install {package}"


def needs(package: str) -> pytest.MarkDecorator:
    """Return the mark of a test that is skipped where a package is not installed."""
    return pytest.mark.skipif(not has(package), reason=lacking(package))
