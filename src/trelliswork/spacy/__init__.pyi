# Written by `make stubs` from __init__.py.
from trelliswork.spacy.component import LabelerPipe as LabelerPipe

__all__ = ["LabelerPipe"]
