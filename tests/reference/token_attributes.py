"""What the attributes of a token are, by the plainest reading of dicts and lists of strings."""


def attributes_of(token):
    """Return the (name, value) pairs of one token, in order."""
    if isinstance(token, dict):
        return list(_of_dict(token, ""))
    return [item if isinstance(item, tuple) else (item, 1.0) for item in token]


def _of_dict(token, prefix):
    for key, value in token.items():
        name = prefix + key
        if isinstance(value, str):
            yield f"{name}:{value}", 1.0
        elif isinstance(value, dict):
            yield from _of_dict(value, f"{name}:")
        elif isinstance(value, (list, tuple, set, frozenset)):
            yield from ((f"{name}:{item}", 1.0) for item in value)
        else:
            yield name, float(value)
