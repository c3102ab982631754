"""Structured losses and exact inference as PyTorch modules, on the core where tensors are on the CPU.

    from trelliswork.torch import ChainCRF

    crf = ChainCRF(n_labels)
    loss = crf(emissions, labels, mask)      # batch first; the mean negative log-likelihood of the sequences
    loss.backward()
    crf.decode(emissions, mask)              # a list of labels for each sequence

All modules take tensors batch first; ``module(scores, gold, mask=None, reduction="mean")`` is a loss to be minimised.
They answer `decode`, `kbest`, `marginals`, `sample` and `log_partition`, as lists or, with ``as_tensor=True``, as
padded tensors. Importing this package does not import PyTorch; using a name of it does (``pip install
trelliswork[torch]``).
"""

from trelliswork.lazy import attach

# Module -> the public names that it defines, loaded when first used.
_HOMES = {
    "torch.chain": ("ChainCRF",),
    "torch.bracketing": ("BracketingCRF",),
    "torch.dependency": ("DependencyTreeCRF",),
    "torch.masks": ("mask_of_lengths",),
}

__getattr__, __dir__, __all__ = attach(__name__, _HOMES)
