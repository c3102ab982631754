"""Structures written by users: a class in Python, checked and adapted to the oracle that every learner asks."""
