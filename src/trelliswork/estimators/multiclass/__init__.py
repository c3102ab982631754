"""Multiclass classification: the classifiers, and groups of weights that classes share."""
