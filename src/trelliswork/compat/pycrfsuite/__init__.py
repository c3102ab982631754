"""The drop-in for python-crfsuite: the same names, on this library's engine.

Examples
--------
>>> import os, tempfile
>>> trainer = Trainer("lbfgs", verbose=False)
>>> trainer.append([["w=the"], ["w=dog"]], ["D", "N"])
>>> with tempfile.TemporaryDirectory() as folder:
...     path = os.path.join(folder, "model.crfsuite")
...     trainer.train(path)
...     with Tagger().open(path) as tagger:
...         tagger.tag([["w=a"], ["w=dog"]])
['D', 'N']
"""

from trelliswork.compat.pycrfsuite._pycrfsuite import (
    CRFSUITE_VERSION,
    BaseTrainer,
    CRFSuiteError,
    ItemSequence,
    Tagger,
    Trainer,
)

__all__ = ["CRFSUITE_VERSION", "BaseTrainer", "CRFSuiteError", "ItemSequence", "Tagger", "Trainer"]
