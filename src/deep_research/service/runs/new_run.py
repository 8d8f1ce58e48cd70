"""What somebody may ask for over a network: never a path, a command, a model or an address of this machine."""

from datetime import date
from pathlib import Path
from typing import Annotated, Self

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from deep_research.errors import UsageError
from deep_research.request import (
    Budget,
    ClarifyMode,
    DepthName,
    Language,
    ReportLength,
    ResearchRequest,
    SearchKind,
)
from deep_research.settings import Settings
from deep_research.storage.store.port import RunRow
from deep_research.value import Strings
from deep_research.wiring.search import searches_web

MAX_QUESTION_CHARS = 10_000
MAX_CONTEXT_CHARS = 100_000
# No limit above this means anything, and sums of such numbers still fit a column.
_MAX_LIMIT = 1_000_000_000
# A line with something in it.
_LINE = r"^[^\x00-\x1f\x7f]*[^\s\x00-\x1f\x7f][^\x00-\x1f\x7f]*$"
Question = Annotated[str, Field(min_length=1, max_length=MAX_QUESTION_CHARS)]
Context = Annotated[str, Field(max_length=MAX_CONTEXT_CHARS)]
Id = Annotated[str, Field(max_length=64)]
Focus = Annotated[str, Field(max_length=200, pattern=_LINE)]
EntryName = Annotated[str, Field(max_length=500, pattern=_LINE)]
Tag = Annotated[str, Field(max_length=100, pattern=_LINE)]
Site = Annotated[str, Field(max_length=300, pattern=_LINE)]


class NewRun(BaseModel):
    """A question, and everything about its research that the asker decides; what is not given, the server decides.

    `documents` is the id of a collection of documents; `interactive` says that somebody is there to approve a costly or
    complex plan.
    """

    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        use_attribute_docstrings=True,
        json_schema_extra={
            "examples": [
                {"question": "What did the Halden Bay heat pump retrofit cost, and was it worth it?", "depth": "quick"},
                {"question": "海绵城市改造的效果如何？", "language": "zh-Hans", "budget": {"usd": 0.5}},
            ]
        },
    )

    question: Question
    """What you want to know."""
    context: Context = ""
    """What was said before the question."""
    documents: Id | None = None
    """Id of a collection to search."""
    shared_documents: bool | None = None
    """Whether to search the server's own folder too; by default only where no collection is named."""
    language: Language | None = None
    """Language of the report; by default the question's."""
    length: ReportLength | None = None
    """How much the report tells."""
    depth: DepthName | None = None
    """How far the research goes."""
    strategy: SearchKind | None = None
    """What kind of source is looked for."""
    clarify: ClarifyMode | None = None
    """When to ask back."""
    assume: bool = False
    """Start on stated assumptions instead of asking back."""
    confirm_plan: bool = False
    """Wait for approval of the plan."""
    interactive: bool = False
    """Whether somebody is there to approve a complex plan."""
    focus: tuple[Focus, ...] = Field(default=(), max_length=5)
    """Sides of the question to look at."""
    sites: tuple[Site, ...] = Field(default=(), max_length=20)
    """Of the web, search only these hosts."""
    since: date | None = None
    """Leave out sources known to be older."""
    until: date | None = None
    """Leave out sources known to be newer."""
    budget: Budget = Budget()
    """What the run may cost at most."""
    offline: bool = False
    """Ask no address outside the server's machine."""
    follow: Id | None = None
    """Id of a finished run that this follows up."""
    add: bool = False
    """Add the answer to the followed report as a section."""
    tags: tuple[Tag, ...] = Field(default=(), max_length=20)
    """Words to find the run by."""

    @field_validator("sites")
    @classmethod
    def _named_by_host(cls, sites: Strings) -> Strings:
        from deep_research.runner import hosts_of

        return hosts_of(sites)

    @field_validator("budget")
    @classmethod
    def _is_within_reason(cls, budget: Budget) -> Budget:
        for kind, limit in budget:
            if limit is not None and limit > _MAX_LIMIT:
                raise ValueError(f"the limit of {kind} is above {_MAX_LIMIT:,}")
        return budget

    @model_validator(mode="after")
    def _makes_sense(self) -> Self:
        if self.since and self.until and self.since > self.until:
            raise ValueError("since is after until")
        return self


def request_for(
    new: NewRun, settings: Settings, *, docs: Path | None = None, earlier: RunRow | None = None
) -> tuple[Settings, ResearchRequest]:
    """Return the request that somebody made, and the settings with which it is researched.

    `docs` is the folder of the collection that they name, `earlier` the run that they follow up.
    """
    # What drives runs is loaded where one is made, so that `schedule list` stays quick.
    from deep_research.runner import request_from, settings_to_follow

    # "general" is what an offline server that nobody told otherwise does: it searches what there is.
    usable = (None, "local", settings.strategy)
    if new.strategy not in usable and not searches_web(settings):
        raise UsageError().with_message("fault.documents_alone")
    flags: dict[str, object] = new.model_dump(include=set(Settings.model_fields), exclude_defaults=True)
    flags |= {f"budget_{kind}": limit for kind, limit in new.budget if limit is not None}
    if docs is not None or new.shared_documents is not None:
        folders = [docs, settings.docs if new.shared_documents else None]
        first, second, *_ = [*dict.fromkeys(filter(None, folders)), None, None]
        flags |= {"docs": first, "also_docs": second}
    settings = settings.with_changes(**flags)
    if earlier is not None:
        settings = settings_to_follow(earlier.request, settings, flags)
    # What is no setting says what is asked.
    own = new.model_dump(include=ResearchRequest.model_fields.keys() - {*Settings.model_fields, "question", "budget"})
    own["follow"] = earlier.id if earlier is not None else ""
    return settings, request_from(settings, new.question).replace(**own)
