"""Packages import each other in one direction: the order of docs/architecture.md, each from those above it."""

import ast
from pathlib import Path

import pytest

import trelliswork

ROOT = Path(trelliswork.__file__).parent
BASE = ("errors", "lazy", "log", "atomic_files", "arguments", "arrow_streams", "questions", "_core")

# Each may import those before it, at the top of a module or inside a function.
ORDER = (
    "base",
    "plots",
    "structures",
    "labels",
    "corpora",
    "features",
    "learners",
    "models",
    "training",
    "evaluation",
    "estimators",
    "spacy",
    "arrow",
    "torch",
    "spark",
    "compat",
    "serving",
    "cli",
    "distributed",
)


def modules():
    for path in sorted(ROOT.rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        if parts not in (("__init__",), ("__main__",)):
            yield ".".join(parts).removesuffix(".__init__"), path


def package_of(module):
    first = module.split(".")[0]
    return "base" if first in BASE else first


class Imports(ast.NodeVisitor):
    """What a module imports of this library when it runs, wherever it says so; not what only types need."""

    def __init__(self):
        self.found = []

    def visit_If(self, node):
        if "TYPE_CHECKING" not in ast.unparse(node.test):
            self.generic_visit(node)
        for other in node.orelse:
            self.visit(other)

    def visit_Import(self, node):
        self.found += [(alias.name, node.lineno) for alias in node.names if alias.name.startswith("trelliswork")]

    def visit_ImportFrom(self, node):
        assert node.level == 0, "relative imports are not looked at"
        if node.module == "trelliswork":
            self.found += [(f"trelliswork.{alias.name}", node.lineno) for alias in node.names]
        elif node.module.startswith("trelliswork."):
            self.found.append((node.module, node.lineno))


def imports():
    """(module, package it is in, package that it imports, line) for every import."""
    for module, path in modules():
        visitor = Imports()
        visitor.visit(ast.parse(path.read_text()))
        for name, line in visitor.found:
            target = name.removeprefix("trelliswork").removeprefix(".")
            yield module, package_of(module), package_of(target) if target else "trelliswork", line


def test_every_package_is_in_the_order():
    assert {package_of(module) for module, _ in modules()} | {"base"} == set(ORDER)


def test_packages_import_those_above_them_alone():
    wrong = [
        f"{module} (line {line}) imports {target}"
        for module, package, target, line in imports()
        if target != package
        and (target not in ORDER or ORDER.index(target) > ORDER.index(package))
        and not (target == "trelliswork" and package == "cli")
    ]
    assert wrong == []


def test_imports_inside_functions_are_counted():
    visitor = Imports()
    visitor.visit(
        ast.parse(
            "if TYPE_CHECKING:\n    from trelliswork.cli import a\n"
            "def f():\n    from trelliswork.models import b\n    import trelliswork.plots\n"
            "from trelliswork import learners, _core\n"
        )
    )
    names = [name for name, _ in visitor.found]
    assert names == ["trelliswork.models", "trelliswork.plots", "trelliswork.learners", "trelliswork._core"]


def test_the_page_of_the_architecture_has_the_same_order():
    page = Path(__file__).parents[1] / "docs" / "architecture.md"
    text = page.read_text()
    listed = [name for name in ORDER[1:] if f"\n      {name}/ " in text]
    places = [text.index(f"\n      {name}/ ", text.index("    src/trelliswork/")) for name in listed]
    assert listed == list(ORDER[1:])
    assert places == sorted(places)


@pytest.mark.parametrize("package", [name for name in ORDER if name != "base"])
def test_every_package_says_what_it_is_for(package):
    assert ast.get_docstring(ast.parse((ROOT / package / "__init__.py").read_text()))
