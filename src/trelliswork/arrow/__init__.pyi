# Written by `make stubs` from __init__.py.
from trelliswork.arrow.batches import BatchReader as BatchReader
from trelliswork.arrow.batches import RecordBatch as RecordBatch
from trelliswork.arrow.batches import Table as Table
from trelliswork.arrow.learning import examples as examples
from trelliswork.arrow.parsing import parse as parse
from trelliswork.arrow.parsing import parse_batches as parse_batches
from trelliswork.arrow.tagging import tag as tag
from trelliswork.arrow.tagging import tag_batches as tag_batches

__all__ = ["BatchReader", "RecordBatch", "Table", "examples", "parse", "parse_batches", "tag", "tag_batches"]
