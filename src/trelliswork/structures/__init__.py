"""Structures: scores of parts in, exact answers out."""
