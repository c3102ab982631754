"""Labelled text that the library ships; importing this package reads no file and needs no NumPy."""

from trelliswork.corpora.ingredients import Corpus, ingredients

__all__ = ["Corpus", "ingredients"]
