"""Slow, obvious versions of what the library computes: the judges of its tests.

``enumeration``  every labelling with its score, and each answer read off that table
``chains``       the tables of a chain and of an n-gram chain
``segments``     every segmentation, one by one
``semirings``    the two problems of a semiring (eq. 2.29, 2.30) by their definitions
``log_space``    forward and backward by adding logarithms pair by pair, for chains too long to enumerate
``precise``      the same in fifty digits and exact fractions, for scores that doubles cannot hold apart
``user_structures``  structures written in Python that the library has too
``multiclass``   one label for each row: the loss written out, and its minimum by scipy
``frequencies``  how far samples may stray from their probabilities
``token_attributes``  the attributes of a token, from a dict or a list of strings
``labelers``     what a trained labeler must answer, from the table of its weights
``published``    where the corpora are that are not shipped
``strategies``   the random chains that Hypothesis draws
"""
