"""Modules and pages that use an extra are collected where it is installed; `make test-all` installs every one."""

from importlib.util import find_spec

EXTRAS = {
    "src/trelliswork/torch": "torch",
    "src/trelliswork/compat/torchcrf": "torch",
    "docs/torch.md": "torch",
    "docs/torch_trees.md": "torch",
    "src/trelliswork/spacy": "spacy",
    "docs/spacy.md": "spacy",
    "src/trelliswork/arrow": "pyarrow",
    "docs/arrow.md": "pyarrow",
    "src/trelliswork/serving": "starlette",
    "docs/serving.md": "starlette",
}


def installed(package):
    """Whether a package is there; a folder of tests that is named after it, on the path of a worker, is not it."""
    found = find_spec(package)
    return found is not None and found.origin is not None


left_out = {path: package for path, package in EXTRAS.items() if not installed(package)}
collect_ignore = list(left_out)


def pytest_terminal_summary(terminalreporter):
    """Say what was left out, and why."""
    for package in sorted(set(left_out.values())):
        paths = ", ".join(path for path, needed in left_out.items() if needed == package)
        terminalreporter.write_line(f"left out, as {package} is not installed: {paths}")
