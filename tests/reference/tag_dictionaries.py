"""Which labels words may take, by the definition in core/chain/tag_dictionary.hpp, with dicts and loops."""

from collections import Counter, defaultdict

N_BLOCKS = 100


def likely_labels(X, y, loss):
    """Return the labels of each word, the share of tokens lost, and the (word, label) that are at the threshold."""
    n_blocks = min(N_BLOCKS, len(X))
    labels = sorted({label for own in y for label in own})
    tokens = [
        (word, label, i * n_blocks // len(X))
        for i, (words, own) in enumerate(zip(X, y, strict=True))
        for word, label in zip(words, own, strict=True)
    ]
    here = defaultdict(Counter)  # by word and block: labels
    for word, label, block in tokens:
        here[word, block][label] += 1
    everywhere = defaultdict(Counter)
    for (word, _), counts in here.items():
        everywhere[word] += counts

    elsewhere = {key: everywhere[key[0]] - counts for key, counts in here.items()}
    new = [
        (key, label, n)
        for key, counts in here.items()
        for label, n in counts.items()
        if elsewhere[key] and label not in elsewhere[key]
    ]
    n_tokens, n_new = Counter(), Counter()
    for key, counts in here.items():
        if elsewhere[key]:
            n_tokens[elsewhere[key].total().bit_length()] += counts.total()
    for key, _, n in new:
        n_new[elsewhere[key].total().bit_length()] += n

    def probability(counts, label, block=None):
        flows, of_label, total = Counter(), 0.0, 0.0
        for key, other, n in new:
            if key[1] == block:
                continue
            total += n
            of_label += n * (other == label)
            for a, count in elsewhere[key].items():
                flows[a, other] += n * count / elsewhere[key].total()
        share = (of_label + 0.5) / (total + 0.5 * len(labels))
        size = counts.total().bit_length()
        return (
            (n_new[size] + 1)
            / (n_tokens[size] + 1)
            * sum(
                n / counts.total() * (flows[a, label] + share) / (sum(flows[a, b] for b in labels) + 1)
                for a, n in counts.items()
            )
        )

    scored = sorted(((probability(elsewhere[key], label, key[1]), n) for key, label, n in new), reverse=True)
    threshold, lost = float("inf"), sum(n for _, n in scored)
    while lost > loss * len(tokens):
        threshold = scored[0][0]
        while scored and scored[0][0] >= threshold * (1 - 1e-12):
            lost -= scored.pop(0)[1]

    allowed, close = {}, set()
    for word, counts in everywhere.items():
        p = {label: probability(counts, label) for label in labels}
        allowed[word] = {label for label in labels if label in counts or p[label] >= threshold}
        close |= {(word, label) for label in labels if abs(p[label] / threshold - 1) < 1e-9}
    return allowed, lost / len(tokens), close
