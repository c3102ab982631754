"""Put what the experiments printed into README.md: ``python experiments/readme.py``, after they ran.

Every block that begins with ``# name`` is replaced by ``results/name.txt``, and every one with ``# name --quick`` by
``results/quick/name.txt``; new ones are added in the order of `common/names.py`. Blocks whose file is not there stay.
"""

from __future__ import annotations

import re

from common.names import EXPERIMENTS, FOLDER
from common.output import RESULTS

README = FOLDER / "README.md"
BLOCK = re.compile(r"```\n# (\w+)( --quick)?: .*?\n```\n", re.DOTALL)
FULL, QUICK = "## At the published settings\n", "## Quickly\n"


def main() -> None:
    """Rewrite the two last sections."""
    text = README.read_text(encoding="utf-8")
    blocks = {(match[1], bool(match[2])): match[0] for match in BLOCK.finditer(text)}
    for name in EXPERIMENTS:
        for quick in (False, True):
            path = (RESULTS / "quick" if quick else RESULTS) / f"{name}.txt"
            if path.exists():
                blocks[name, quick] = f"```\n{tidy(path.read_text(encoding='utf-8'))}\n```\n"
    before, rest = text.split(FULL)
    full, quick_part = rest.split(QUICK)
    sections = [
        heading + BLOCK.split(section)[0].rstrip() + "\n\n" + "\n".join(some(blocks, quick))
        for heading, section, quick in ((FULL, full, False), (QUICK, quick_part, True))
    ]
    README.write_text(before + "\n".join(sections), encoding="utf-8")


def some(blocks: dict[tuple[str, bool], str], quick: bool) -> list[str]:
    """Return the blocks of one kind in order."""
    return [blocks[name, quick] for name in EXPERIMENTS if (name, quick) in blocks]


def tidy(text: str) -> str:
    """Leave out which files were written.

    >>> tidy("# a: b\\n\\n\\n\\nwrote a.csv\\n1 2\\n")
    '# a: b\\n\\n1 2'
    """
    kept = "\n".join(line.rstrip() for line in text.splitlines() if not line.startswith("wrote "))
    return re.sub(r"\n{3,}", "\n\n", kept).strip()


if __name__ == "__main__":
    main()
