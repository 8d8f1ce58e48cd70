"""The version of each extractor, in one place, so that whoever keeps what one made can tell whether it still holds.

Raise a number whenever the same file gives another text, title, place or remark, also where code that several readers
share is changed. A test compares what samples give and says so when it was forgotten.
"""

from functools import cache
from importlib.metadata import PackageNotFoundError, version

EXTRACTOR_VERSIONS = {
    "text": 2,
    "markdown": 3,
    "html": 6,
    "pdf": 5,
    "docx": 3,
    "pptx": 3,
    "xlsx": 4,
    "csv": 4,
    "eml": 3,
    "mbox": 3,
    "epub": 3,
    "jsonl": 5,
}
# The packages that find the text of a format: another version of one is another extractor.
_PACKAGES = {
    "html": "trafilatura",
    "pdf": "pypdfium2",
    "docx": "python-docx",
    "pptx": "python-pptx",
    "xlsx": "openpyxl",
}


@cache
def extractor_of(file_format: str) -> str:
    """Return the name and the version of a format's extractor, and of the package that does its work."""
    package = _PACKAGES.get(file_format)
    own = f"{file_format}/{EXTRACTOR_VERSIONS[file_format]}"
    return f"{own}+{package}/{package_version(package)}" if package else own


def all_extractors() -> list[str]:
    """Return every extractor; no reader is loaded for it."""
    return list(map(extractor_of, EXTRACTOR_VERSIONS))


def package_version(package: str) -> str:
    """Return the installed version of a package, "" where it is not installed."""
    try:
        return version(package)
    except PackageNotFoundError:
        return ""
