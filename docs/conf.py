"""How Sphinx makes the site of these pages: `make docs`."""

import re
from importlib.util import find_spec

import trelliswork

project = "trelliswork"
author = "The trelliswork developers"
release = version = trelliswork.__version__
copyright = author

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.viewcode",
    "numpydoc",
    "sphinx_copybutton",
]
root_doc = "index"
exclude_patterns = ["_build", "reference/generated/README.md"]
html_theme = "furo"
html_title = "trelliswork"
html_static_path = []
html_theme_options = {"navigation_with_keys": True}

myst_enable_extensions = ["colon_fence", "dollarmath"]
myst_heading_anchors = 4
nb_execution_mode = "off"  # the tests execute notebooks; the site shows what is in them
nb_merge_streams = True

templates_path = ["_templates"]
autosummary_generate = True
# What Python's own classes and PyTorch's have is not described again.
STRANGERS = "Module,tuple,dict,list,BaseException,Exception,Warning"
autodoc_default_options = {"members": True, "inherited-members": STRANGERS, "show-inheritance": True}
autodoc_type_aliases = {"npt.ArrayLike": "ArrayLike", "ArrayLike": "ArrayLike"}
EXTRAS = ("torch", "spacy", "pyarrow", "pyspark", "starlette", "uvicorn", "msgspec", "prometheus_client")
autodoc_mock_imports = [name for name in EXTRAS if find_spec(name) is None]
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False

# Links within these pages are checked by every build (-W), those to elsewhere by `make linkcheck`.
linkcheck_timeout = 10
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
suppress_warnings = ["myst.header"]


def without_aliases(app, what, name, obj, options, lines):
    """Leave out what Python says of the fields of named tuples: "Alias for field number 0"."""
    if "".join(lines).strip().startswith("Alias for field number"):
        lines.clear()


def plain_signature(app, what, name, obj, options, signature, returns):
    """Write the names of types as the code has them."""

    def plain(text):
        return text and re.sub(r"TypeAliasForwardRef\('(\w+)'\)", r"\1", text)

    return plain(signature), plain(returns)


def without_blank_ends(app, docname, source):
    """Leave out the blank line at the end of a block of code, which tests of examples need there."""
    lines, inside = [], False
    for line in source[0].split("\n"):
        if line.startswith("```"):
            inside = not inside
            if not inside and lines[-1] == "":
                lines.pop()
        lines.append(line)
    source[0] = "\n".join(lines)


def setup(app):
    """Write the pages of the reference first."""
    app.connect("autodoc-process-docstring", without_aliases, priority=900)  # numpydoc, before, asks Python again
    app.connect("autodoc-process-signature", plain_signature)
    app.connect("source-read", without_blank_ends)
    import sys
    from pathlib import Path

    sys.path.insert(0, str(Path(__file__).parent))
    from reference_pages import write_pages
    from sphinx.ext.autodoc.mock import mock

    with mock(autodoc_mock_imports):
        write_pages(Path(__file__).parent / "reference")
