# Written by `make stubs` from __init__.py.
from trelliswork.torch.bracketing import BracketingCRF as BracketingCRF
from trelliswork.torch.chain import ChainCRF as ChainCRF
from trelliswork.torch.dependency import DependencyTreeCRF as DependencyTreeCRF
from trelliswork.torch.masks import mask_of_lengths as mask_of_lengths

__all__ = ["BracketingCRF", "ChainCRF", "DependencyTreeCRF", "mask_of_lengths"]
