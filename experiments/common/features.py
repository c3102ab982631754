"""The thesis's features: the base templates of Table 4.1, with the lexical attributes of 3.3.1 and 4.4.

"All bigrams are constructed for a word and its local feature (including the POS tag) for the current and previous
position, while unigrams are constructed only for the current position", and both meet the label before (3.3.1). Which
local features there are, the thesis says in words only. Here they are the tag, the case of the word, its last two and
its last three letters, and for chunking an entry in a dictionary. The kinds of characters in a word (digits, special
characters, punctuation), its last letter and its last four are unigrams only.

The thesis has "external linguistic dictionaries" (4.4) and names none. Here a word's entry is the list of tags that
it has in the Brown corpus. For names there is none: they were learned "without any additional external knowledge"
(3.3.1).

All this was chosen by PassiveAggressive's F-measure on text that is in no test set: the last 2,200 sentences of
CoNLL-2000's training part, and testa.
"""

from __future__ import annotations

from collections.abc import Sequence

import trelliswork as tw

LOCAL = ("case(word)", "suffix(word, 2)", "suffix(word, 3)")
UNIGRAMS = ("characters(word)", "suffix(word, 1)", "suffix(word, 4)", "pair: suffix(word, 4)")
DICTIONARY = 'class("dictionary", lower(word))'

# Weights are those of attributes and labels seen together in gold. Weights that only wrong outputs have ("grown") add
# up to 0.1 of F on the sentences held out, and take seven times as long.
COMBINATIONS = "seen"


def with_tags(dictionary: Sequence[str] = ()) -> tw.Templates:
    """Return the features of words with a part-of-speech tag.

    Parameters
    ----------
    dictionary : sequence of str
        Lines of a word in lower case, a tab, and its entry; empty for no dictionary.

    >>> len(with_tags()), len(with_tags(["the\\tat"]))
    (39, 52)
    """
    local = ("word", "pos", *LOCAL)
    return _table_4_1((*local, DICTIONARY), {"dictionary": list(dictionary)}) if dictionary else _table_4_1(local)


def crfsuite_tutorial() -> tw.Templates:
    """Return the 19 features of CRFsuite's tutorial on chunking: windows of words and tags, each with one label.

    >>> len(crfsuite_tutorial())
    19
    """
    return tw.Templates("word[-2..2]\nngram(word[-1..1], 2)\npos[-2..2]\nngram(pos[-2..2], 2..3)")


def words_only() -> tw.Templates:
    """Return the features of words alone."""
    return _table_4_1(("word", *LOCAL), columns="columns: word")


def _table_4_1(local: Sequence[str], resources: dict[str, list[str]] | None = None, columns: str = "") -> tw.Templates:
    with_label_before = [f"pair: {now}" for now in local]
    bigrams = [f"pair: {now} & {before}[-1]" for now in local for before in local]
    return tw.Templates("\n".join([columns, *local, *UNIGRAMS, *with_label_before, *bigrams]), resources=resources)
