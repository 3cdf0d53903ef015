#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the character tables of src/model/text: combining characters and HTML entities.

Usage: python3 scripts/make_text_tables.py. Needs the standard library only.
"""
import html.entities
import pathlib
import unicodedata

FOLDER = pathlib.Path(__file__).resolve().parent.parent / "src" / "model" / "text"


def combining_ranges():
    joins = [c for c in range(0x110000)
             if unicodedata.category(chr(c)) in ("Mn", "Mc", "Me") or c in (0x200C, 0x200D)]
    ranges = []
    for c in joins:
        if ranges and ranges[-1][1] == c - 1:
            ranges[-1][1] = c
        else:
            ranges.append([c, c])
    return ranges


def entities():
    """Entity names of HTML 4, and whether HTML 5 accepts them without the semicolon."""
    return [(name, code, name in html.entities.html5)
            for name, code in sorted(html.entities.name2codepoint.items())] + [("apos", 0x27, False)]


def write(name, items, per_line):
    lines = [", ".join(items[i:i + per_line]) + "," for i in range(0, len(items), per_line)]
    (FOLDER / name).write_text("// SPDX-License-Identifier: Apache-2.0\n"
                               "// Written by scripts/make_text_tables.py.\n" + "\n".join(lines) + "\n")


write("utf8_combining.inc", [f"{{0x{a:X}, 0x{b:X}}}" for a, b in combining_ranges()], 5)
write("text_entities.inc",
      [f'{{"{name}", 0x{code:X}, {"true" if bare else "false"}}}' for name, code, bare in sorted(entities())], 3)
