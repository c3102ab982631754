"""The pages of the reference, written anew from the lists of public names whenever the site is built."""

from __future__ import annotations

import importlib
import inspect
from pathlib import Path

# Page -> its title, what it is about, the package, and the folders of its names ("" is all of them).
PAGES = {
    "structures": ("Structures", "Bare scores in, answers out.", "trelliswork", ("structures",)),
    "estimators": ("Estimators", "Classes to work with: `fit`, `predict`, `save`.", "trelliswork", ("estimators",)),
    "learners": (
        "Learners",
        "Training algorithms. Each is given to an estimator, as an object or by its name.",
        "trelliswork",
        ("learners", "training"),
    ),
    "features": (
        "Features, labels and errors",
        "From an input to attributes, which labels may follow each other, and exceptions.",
        "trelliswork",
        ("features", "labels", "models", "errors"),
    ),
    "corpora": ("Corpora", "Reading and writing labelled text.", "trelliswork.corpora", ("",)),
    "evaluation": ("Evaluation", "How good an answer is, and how sure one can be.", "trelliswork.evaluation", ("",)),
    "plots": ("Pictures", "Drawings of arrays, trees and graphs.", "trelliswork.plots", ("",)),
    "arrow": ("Tables", "Labels for the rows of Arrow tables and data frames.", "trelliswork.arrow", ("",)),
    "spark": ("Spark", "Labels, trees and scores of data frames.", "trelliswork.spark", ("",)),
    "torch": ("PyTorch", "Structured losses and exact inference as modules.", "trelliswork.torch", ("",)),
    "distributed": (
        "Several processes",
        "One model, shards held by processes.",
        "trelliswork.distributed",
        ("",),
    ),
    "compat": ("Drop-ins", "In the place of other packages.", "trelliswork.compat", ("",)),
    "serving": ("Serving", "A model behind HTTP.", "trelliswork.serving", ("",)),
}
HEAD = """# {}

{}

```{{eval-rst}}
.. currentmodule:: {}

.. autosummary::
   :toctree: generated
   :nosignatures:

"""


def write_pages(folder: Path) -> None:
    """Write every page, and one that lists them."""
    folder.mkdir(exist_ok=True)
    seen: set[object] = set()  # what two packages have is described once
    for page, (title, about, package, folders) in PAGES.items():
        module = importlib.import_module(package)
        found = {name: getattr(module, name) for name in public_names(package, folders)}
        names = "".join(f"   {name}\n" for name, what in found.items() if what not in seen)
        seen.update(found.values())
        (folder / f"{page}.md").write_text(f"{HEAD.format(title, about, package)}{names}```\n")
    rows = "\n".join(PAGES)
    (folder / "index.md").write_text(
        f"# Reference\n\nEvery public name, from its docstring.\n\n```{{toctree}}\n:maxdepth: 1\n{rows}\n```\n"
    )


def public_names(package: str, folders: tuple[str, ...]) -> list[str]:
    """Return the classes and functions of a package whose homes are in some folders."""
    module = importlib.import_module(package)
    homes = vars(module).get("_HOMES", {package.partition(".")[2]: module.__all__})
    return sorted(
        name
        for home, names in homes.items()
        for name in names
        if home.startswith(folders) and (inspect.isclass(found := getattr(module, name)) or inspect.isfunction(found))
    )
