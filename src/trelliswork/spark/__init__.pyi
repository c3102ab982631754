# Written by `make stubs` from __init__.py.
from trelliswork.spark.answering import parse as parse
from trelliswork.spark.answering import tag as tag
from trelliswork.spark.evaluating import evaluate as evaluate

__all__ = ["evaluate", "parse", "tag"]
