"""Short English sentences with parts of speech and dependency trees: a small treebank that ships with the library.

The sentences were written and annotated for this library, one by one, by the guidelines of Universal Dependencies:
universal part-of-speech tags, heads and relations. Lemmas, language-specific tags and features are empty.
"""

from __future__ import annotations

from trelliswork.corpora.conllu import ConlluSentence, read_conllu

__all__ = ["sentences"]


def sentences() -> list[ConlluSentence]:
    """Return the sentences, read afresh at each call.

    Examples
    --------
    >>> treebank = sentences()
    >>> len(treebank), sum(len(sentence.words) for sentence in treebank)
    (194, 1380)
    >>> [(word.form, word.upos, word.head, word.deprel) for word in treebank[0].words]
    [('The', 'DET', 2, 'det'), ('dog', 'NOUN', 3, 'nsubj'), ('barks', 'VERB', 0, 'root'), ('.', 'PUNCT', 3, 'punct')]
    """
    from importlib.resources import as_file, files  # here, because it takes longer to import than the rest

    with as_file(files("trelliswork.corpora") / "data" / "sentences.conllu") as path:
        return list(read_conllu(path))
