"""Training on several machines: the sum over examples is a sum over shards of them, which processes hold.

    with distributed.connect() as group:
        distributed.fit(tagger, read, n_shards=4, group=group)

``torchrun`` starts the processes, `torch.distributed` connects them (the extra ``torch``). The result depends on the
shards, to the last bit, and not on how many processes hold them. See docs/scale.md.
"""

from trelliswork.lazy import attach

# Module -> the public names that it defines, loaded when first used.
_HOMES = {
    "distributed.fitting": ("fit", "slice_of"),
    "distributed.groups": ("Alone", "Group", "TorchGroup", "connect"),
}

__getattr__, __dir__, __all__ = attach(__name__, _HOMES)
