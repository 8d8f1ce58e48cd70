"""`ModelReasoner`: research with a chat model, one prompt file an act; what it cannot do, it says by raising."""

from deep_research.reasoning.model.chapters import ChaptersByModel
from deep_research.reasoning.model.planning import PlanningByModel
from deep_research.reasoning.model.reading import ReadingByModel
from deep_research.reasoning.model.writing import WritingByModel


class ModelReasoner(PlanningByModel, ReadingByModel, WritingByModel, ChaptersByModel):
    """All acts by a model. Raises `UnusableAnswer` where two answers in a row cannot be used."""
