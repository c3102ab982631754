"""Templates that see runs of cells, and models with random weights for their attributes."""

import itertools

import numpy as np

from trelliswork import _core

TEMPLATES = {
    "chunking": "word[-2..2]\nngram(word[-1..1], 2)\npos[-2..2]\nngram(pos[-2..2], 2..3)\nbegin\nend\n",
    "one column": "word[0]\n",
    "far away": "word[-3]\nword[16]\nword[17]\nngram(pos[2..5], 2..4)\n",
    "steps": "lower(word[-1..1])\nsuffix(word, 1..3)\nshape(word) & lower(word)\n"
    'matches(word, "a")\nlower(word[-1]) & word\n',
    "both columns": "word[0] & pos[0]\nword[-1] & pos[1]\nngram(pos[-1..1], 1..3)\n",
    "runs of words": "ngram(word[-2..2], 1..3)\nngram(lower(word[-1..1]), 2)\nbag(word[-1..1])\n",
    "texts outside": "U0:%x[-2,0]\nU1:%x[-1,0]\nU2:%x[0,0]/%x[1,0]\nU3:%x[-1,1]/%x[0,1]\nU4:%x[0,1]/%x[1,1]/%x[2,1]\n"
    "U5:%x[-3,1]\nU6:%x[0,1]/%x[1,1]\nB\n",
    "nothing in runs": "word[0] & pos[-1]\nbegin\n",
}


def attributes_of(source):
    """The keys of each token."""
    starts, keys, _ = source.attribute_arrays(0, source.n_sequences)
    return [keys[begin:end].tolist() for begin, end in itertools.pairwise(starts)]


def weights_for(source, n_labels, rng):
    """Rows of weights for most of the attributes of a source."""
    keys = sorted({key for token in attributes_of(source) for key in token})

    def row():
        codes = rng.choice(n_labels, rng.integers(1, n_labels + 1), replace=False)
        return {int(code): float(np.float32(rng.normal())) for code in codes}

    return {key: row() for key in keys if rng.random() < 0.8}


def tensors_of(rows, n_labels, rng):
    table, slots = _core.key_table(np.array(list(rows), dtype=np.uint64))
    return {
        "channel.token.keys": table,
        "channel.token.slots": slots,
        "channel.token.starts": np.cumsum([0, *map(len, rows.values())]).astype(np.uint32),
        "channel.token.codes": np.array([c for row in rows.values() for c in row], dtype=np.uint8),
        "channel.token.weights": np.array([w for row in rows.values() for w in row.values()], dtype=np.float32),
        "channel.transitions.weights": rng.normal(size=n_labels**2).astype(np.float32),
    }
