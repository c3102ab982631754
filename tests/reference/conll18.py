"""UAS and LAS as the CoNLL-2018 shared task defines them, for words that are given: line by line, nothing clever.

A word counts if its ID is a number. A relation is what stands before the first colon. Gold and system have the same
words, so precision, recall and F1 are the same number: right words over words.
"""

import unicodedata


def words_of(text):
    """Sentences of words (form, head, relation) from the text of a CoNLL-U file."""
    sentences = [[]]
    for line in text.split("\n"):
        if not line.strip():
            sentences.append([])
        elif not line.startswith("#"):
            columns = line.rstrip("\r").split("\t")
            if columns[0].isdigit():
                sentences[-1].append((columns[1], int(columns[6]), columns[7]))
    return [sentence for sentence in sentences if sentence]


def attachment_scores(gold, system, subtypes=False, punctuation=True):
    """UAS, LAS, and the shares of sentences without a wrong head and without a wrong head or relation."""
    words = heads = relations = sentences = trees = labelled_trees = 0
    for gold_sentence, system_sentence in zip(gold, system, strict=True):
        n = right_heads = right_relations = 0
        for (form, head, relation), (_, system_head, system_relation) in zip(
            gold_sentence, system_sentence, strict=True
        ):
            if not punctuation and all(unicodedata.category(character)[0] == "P" for character in form):
                continue
            if not subtypes:
                relation, system_relation = relation.split(":")[0], system_relation.split(":")[0]
            n += 1
            if head == system_head:
                right_heads += 1
                if relation == system_relation:
                    right_relations += 1
        words, heads, relations = words + n, heads + right_heads, relations + right_relations
        if n:
            sentences += 1
            trees += right_heads == n
            labelled_trees += right_relations == n
    return heads / words, relations / words, trees / sentences, labelled_trees / sentences


def relation_scores(gold, system, relation):
    """Precision and recall of the words with a relation: right head, right relation."""
    pairs = [pair for sentences in zip(gold, system, strict=True) for pair in zip(*sentences, strict=True)]
    right = sum(g[1] == s[1] and base(g) == base(s) == relation for g, s in pairs)
    found = sum(base(s) == relation for _, s in pairs)
    there = sum(base(g) == relation for g, _ in pairs)
    return right / found if found else 0.0, right / there if there else 0.0


def base(word):
    return word[2].split(":")[0]
