"""Places in a run: the keys under which calls and events are stored."""

from typing import Self


class Scope(str):
    """A place in a run, such as `section/2/round/1/task/3`. Stored runs hold them, so that none may change."""

    __slots__ = ()

    @classmethod
    def of(cls, *path: object) -> Self:
        """Return the scope with these parts."""
        return cls("/".join(map(str, path)))

    def at(self, *path: object) -> "Scope":
        """Return the scope of a part of this work."""
        return Scope.of(self, *path)

    @property
    def stage(self) -> str:
        """Return the first part: a stage, or `section`."""
        return self.partition("/")[0]

    @property
    def last(self) -> str:
        """Return the last part."""
        return self.rpartition("/")[2]

    @property
    def section_and_round(self) -> tuple[int, int] | None:
        """Return the numbers of the section and the round that this work belongs to, if it does to any."""
        match self.split("/"):
            case ["section", section, "round", number, *_] if section.isdecimal() and number.isdecimal():
                return int(section), int(number)
        return None


def fetch_scope(address: str) -> Scope:
    """Return the scope of a page, which is fetched once for the whole run."""
    return Scope.of("fetch", address)
