"""Writes character_tables.hpp, the kinds and lower-case forms of characters, from Python's Unicode database.

Attribute keys in model files depend on these tables: run this again only together with a new version of the templates'
format. Usage: ``python core/text/make_characters.py > core/text/character_tables.hpp``.
"""

import unicodedata

KINDS = ["other", "cased", "letter", "digit", "mark", "space"]


def kind(code):
    """The number of a character's kind; whether a cased letter is upper-case follows from its having a lower case."""
    category = unicodedata.category(chr(code))
    if category in ("Lu", "Lt", "Ll"):
        return 1
    if category[0] in "LM":
        return 2
    if category == "Nd":
        return 3
    if category[0] in "PSN":
        return 4
    return 5 if category[0] == "Z" or 9 <= code <= 13 else 0


def kind_runs():
    """(first code, kind) of every run of characters of one kind."""
    previous = None
    for code in range(0x110000):
        if kind(code) != previous:
            previous = kind(code)
            yield code, previous


def lower_runs():
    """(first, last, stride, difference) of every run of characters whose lower case is as far away."""
    pairs = [(code, ord(chr(code).lower())) for code in range(0x110000) if len(chr(code).lower()) == 1]
    pairs = sorted([(code, lower) for code, lower in pairs if lower != code] + [(0x130, 0x69)])  # I with a dot: i
    i = 0
    while i < len(pairs):
        runs = []
        for stride in (1, 2):
            j = i
            while (
                j + 1 < len(pairs)
                and pairs[j + 1][0] == pairs[j][0] + stride
                and pairs[j + 1][1] - pairs[j + 1][0] == pairs[i][1] - pairs[i][0]
            ):
                j += 1
            runs.append((j - i, stride))
        size, stride = max(runs, key=lambda run: (run[0], -run[1]))
        yield pairs[i][0], pairs[i + size][0], stride, pairs[i][1] - pairs[i][0]
        i += size + 1


def lines(items, width=118):
    line = "   "
    for item in items:
        if len(line) + len(item) + 2 > width:
            yield line
            line = "   "
        line += f" {item},"
    yield line


def main():
    kinds = [f"0x{code << 3 | number:x}" for code, number in kind_runs()]
    lowers = [f"{{{first}, {last}, {stride}, {step}}}" for first, last, stride, step in lower_runs()]
    print(f"// Written by make_characters.py from Unicode {unicodedata.unidata_version}; not to be changed by hand.")
    print("// clang-format off")
    print("#pragma once\n\n#include <cstdint>\n\nnamespace tw {\n")
    print(f"// First code of a run, times 8, plus its kind: {', '.join(KINDS)}.")
    print(f"inline constexpr std::uint32_t kKindRuns[{len(kinds)}] = {{")
    print("\n".join(lines(kinds)) + "\n};\n")
    print("struct LowerRun {\n    std::int32_t first, last, stride, difference;\n};")
    print(f"inline constexpr LowerRun kLowerRuns[{len(lowers)}] = {{")
    print("\n".join(lines(lowers)) + "\n};\n\n}  // namespace tw")


if __name__ == "__main__":
    main()
