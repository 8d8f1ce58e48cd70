"""Deep research you can check: durable runs, and reports in which every claim can be held against a stored passage.

The public names are those that `__init__.pyi` imports, for type checkers and for this module alike. Each is imported
when it is first used, so that `import deep_research` costs nothing.
"""

import re
from importlib import import_module
from pkgutil import get_data
from typing import Any

_IMPORT = re.compile(r"^from (\S+) import \w+ as (\w+)$", re.MULTILINE)
_MODULES = {name: module for module, name in _IMPORT.findall((get_data(__name__, "__init__.pyi") or b"").decode())}

__all__ = sorted(_MODULES)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("deep-research")
    if name not in _MODULES:
        raise AttributeError(f"module 'deep_research' has no attribute {name!r}")
    return getattr(import_module(_MODULES[name]), name)
