"""A component for spaCy's pipelines: entities and tags by the learners of this library (the extra ``spacy``).

Nothing needs to be imported: spaCy finds the factories ``trelliswork``, ``trelliswork_tagger`` and ``trelliswork_pos``
by their entry points.
"""

from trelliswork.lazy import attach

# Module -> the public names that it defines, loaded when first used.
_HOMES = {"spacy.component": ("LabelerPipe",)}

__getattr__, __dir__, __all__ = attach(__name__, _HOMES)
