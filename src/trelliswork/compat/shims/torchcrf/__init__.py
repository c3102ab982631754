"""The drop-in of trelliswork, found by the name of the original."""

import importlib
import sys

import trelliswork.compat

trelliswork.compat.install()
sys.modules[__name__] = importlib.import_module("trelliswork.compat.torchcrf")
