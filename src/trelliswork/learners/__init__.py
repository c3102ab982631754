"""Learners: training algorithms, each written once against the oracle."""
