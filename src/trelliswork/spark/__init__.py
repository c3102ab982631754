"""Data frames of Spark: columns of labels, spans, probabilities and trees, and their scores (the extra ``spark``).

    from trelliswork import spark
    tagged = spark.tag(tagger, frame, "line")                  # a frame; nothing happens until it is looked at
    spark.evaluate(tagged, gold="gold", predicted="labels")    # the scores of all partitions together

===================  ==============================================================================================
``answering.py``     `tag` and `parse`: the functions of `trelliswork.arrow` over the record batches of partitions
``shipping.py``      how a model gets to the workers: one file for each machine, mapped, opened once by each process
``evaluating.py``    `evaluate`: counted in each partition, added up by the driver
===================  ==============================================================================================
"""

from trelliswork.lazy import attach

# Module -> the public names that it defines, loaded when first used.
_HOMES = {
    "spark.answering": ("parse", "tag"),
    "spark.evaluating": ("evaluate",),
}

__getattr__, __dir__, __all__ = attach(__name__, _HOMES)
