"""Every dependency tree of a short sentence, listed without any recursion over scores."""

import itertools

import numpy as np


def is_tree(heads, single_root):
    """Whether every word is below the root; ``heads[m - 1]`` is the head of word m, 0 the root."""
    for word in range(1, len(heads) + 1):
        seen = set()
        while word:
            if word in seen:
                return False
            seen.add(word)
            word = heads[word - 1]
    return not single_root or len(heads) == 0 or list(heads).count(0) == 1


def is_projective(heads):
    """Whether no two arcs cross, the root standing before the first word."""
    spans = [tuple(sorted((head, word))) for word, head in enumerate(heads, 1)]
    return not any(a < c < b < d for (a, b), (c, d) in itertools.permutations(spans, 2))


def all_heads(n):
    """Every other word and the root, for each word."""
    return [[h for h in range(n + 1) if h != m] for m in range(1, n + 1)]


def trees(candidates, single_root, projective=True):
    """All heads of trees whose words have their heads among the candidates."""
    return [
        heads
        for heads in itertools.product(*candidates)
        if is_tree(heads, single_root) and (not projective or is_projective(heads))
    ]


def shape_of(candidates, pruned):
    """The shape as the core has it."""
    n = len(candidates)
    if not pruned:
        return np.array([n], dtype=np.uint32)
    starts = np.cumsum([0, *map(len, candidates)])
    return np.array([n, *starts, *itertools.chain(*candidates)], dtype=np.uint32)


def sites(candidates, pruned):
    """The words of every site: arcs (head, modifier), siblings (head, sibling or -1, modifier), grandparents."""
    n = len(candidates)
    arcs = [(h, m) for m in range(1, n + 1) for h in candidates[m - 1]]
    siblings, grandparents = [], []
    for h, m in arcs:
        siblings.append((h, -1, m))
        inner = range(min(h, m) + 1, max(h, m))
        siblings += [(h, s, m) for s in inner if h in candidates[s - 1]]
        if h:
            grandparents += [(g, h, m) for g in candidates[h - 1] if g != m and g not in inner]
    if not pruned:
        arcs = [(h, m) for h in range(n + 1) for m in range(n + 1)]
    return arcs, siblings, grandparents


def parts_of(heads):
    """The words of every part of a tree."""
    siblings, grandparents = [], []
    for m, h in enumerate(heads, 1):
        inner = [s for s in range(min(h, m) + 1, max(h, m)) if heads[s - 1] == h]
        siblings.append((h, (max(inner) if m > h else min(inner)) if inner else -1, m))
        if h:
            grandparents.append((heads[h - 1], h, m))
    return [(h, m) for m, h in enumerate(heads, 1)], siblings, grandparents


def dependency_trees(candidates, pruned, n_labels, single_root, siblings=False, grandparents=False, projective=True):
    """The parts of every labelled tree, as rows of counts."""
    arcs, *second = sites(candidates, pruned)
    wanted = [siblings, grandparents]
    rows = []
    for heads in trees(candidates, single_root, projective):
        of_arcs, *of_second = parts_of(heads)
        tail = []
        for use, listed, own in zip(wanted, second, of_second, strict=True):
            if use:
                tail.append(np.array([site in own for site in listed], dtype=float))
        for labels in itertools.product(range(n_labels), repeat=len(heads)):
            row = np.zeros((len(arcs), n_labels))
            for arc, label in zip(of_arcs, labels, strict=True):
                row[arcs.index(arc), label] += 1
            output = [*heads, *(labels if n_labels > 1 else ())]
            rows.append((output, np.concatenate([row.ravel(), *tail])))
    return rows
