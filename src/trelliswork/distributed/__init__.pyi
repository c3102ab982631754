# Written by `make stubs` from __init__.py.
from trelliswork.distributed.fitting import fit as fit
from trelliswork.distributed.fitting import slice_of as slice_of
from trelliswork.distributed.groups import Alone as Alone
from trelliswork.distributed.groups import Group as Group
from trelliswork.distributed.groups import TorchGroup as TorchGroup
from trelliswork.distributed.groups import connect as connect

__all__ = ["Alone", "Group", "TorchGroup", "connect", "fit", "slice_of"]
