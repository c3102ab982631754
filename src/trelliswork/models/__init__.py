"""The model file: saving, loading, shrinking. Nothing here needs NumPy before weights are to change.

A model is a dictionary of tensors and a dictionary of settings, in one file of the safetensors layout that is mapped
into memory rather than read; `docs/model_file.md` describes it.

======================  ==================================================================
`save`, `dumps`         tensors and settings to a file, to bytes
`load`, `loads`         and back: tensors are views, nothing is copied
`contents`              the bytes of a file, mapped or read
`open_model`, `opened`  a file, or what `load` returned, to a model that tags
`members_of`            the models that a file holds side by side
`quantize`, `prune`     smaller models
`shrunk`                the same for all that a file holds, settings included
`with_metadata`         settings with what a user says of the model
`sizes`, `compare`      where the bytes are; score against size
`from_crfsuite`         what a model file of CRFsuite has; `to_crfsuite` and back
`from_wapiti`           likewise of Wapiti; `to_wapiti`
`from_crfpp`            likewise of CRF++, as text; `to_crfpp`
`loads_any`             any of these by how it begins
======================  ==================================================================
"""

from trelliswork.errors import InvalidModel
from trelliswork.models.crfpp import from_crfpp, is_crfpp, to_crfpp
from trelliswork.models.crfsuite import from_crfsuite, is_crfsuite, to_crfsuite
from trelliswork.models.files import OpenModel, contents, load, members_of, open_model, opened, save
from trelliswork.models.format import FORMAT_VERSION, dumps, loads
from trelliswork.models.others import is_of_others, loads_any, writer_for
from trelliswork.models.settings import with_metadata
from trelliswork.models.shrinking import Comparison, compare, prune, quantize, shrunk, sizes
from trelliswork.models.wapiti import from_wapiti, is_wapiti, to_wapiti

__all__ = [
    "FORMAT_VERSION",
    "Comparison",
    "InvalidModel",
    "OpenModel",
    "compare",
    "contents",
    "dumps",
    "from_crfpp",
    "from_crfsuite",
    "from_wapiti",
    "is_crfpp",
    "is_crfsuite",
    "is_of_others",
    "is_wapiti",
    "load",
    "loads",
    "loads_any",
    "members_of",
    "open_model",
    "opened",
    "prune",
    "quantize",
    "save",
    "shrunk",
    "sizes",
    "to_crfpp",
    "to_crfsuite",
    "to_wapiti",
    "with_metadata",
    "writer_for",
]
