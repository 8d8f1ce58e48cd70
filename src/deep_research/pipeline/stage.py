"""The stages of a run, in order (SPEC R1); a stage is a unit of override, events and statistics."""

from enum import StrEnum


class Stage(StrEnum):
    """One step of the pipeline; the nine names of document 001 are kept."""

    INTAKE = "intake"
    PLAN = "plan"
    HARVEST = "harvest"
    FETCH = "fetch"
    EXTRACT = "extract"
    COMPRESS = "compress"
    REFLECT = "reflect"
    ANALYZE = "analyze"
    CHART = "chart"
    DRAFT = "draft"
    VERIFY = "verify"
    WRITE = "write"
    AUDIT = "audit"
    CACHE = "cache"


# From here on a run spends the ending's share of its budget.
ENDING = frozenset({Stage.ANALYZE, Stage.CHART, Stage.DRAFT, Stage.VERIFY, Stage.WRITE, Stage.AUDIT, Stage.CACHE})
