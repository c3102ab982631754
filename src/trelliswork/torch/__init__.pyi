# Written by `make stubs` from __init__.py.
from trelliswork.torch.chain import ChainCRF as ChainCRF
from trelliswork.torch.masks import mask_of_lengths as mask_of_lengths

__all__ = ["ChainCRF", "mask_of_lengths"]
