#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the Markdown pages: every relative link leads to a file and, where it names one, a heading;
every `loci …` command in a shell block names commands and options that the program has.

Usage: check_docs.py REPOSITORY LOCI
"""
import functools
import pathlib
import re
import subprocess
import sys

LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")
FENCE = re.compile(r"^\s*```(\w*)\s*$")
OPTION = re.compile(r"(?<![\w-])(--[a-z][a-z0-9-]*)")


def pages(root):
    listed = subprocess.run(
        ["git", "-C", root, "ls-files", "-z", "--cached", "--others", "--exclude-standard", "*.md"],
        check=True, capture_output=True, text=True).stdout
    return [root / name for name in listed.split("\0") if name and (root / name).exists()]


def lines_of(page):
    """(line number, language of the code block or None, text)"""
    language = None
    for number, text in enumerate(page.read_text(encoding="utf-8").splitlines(), 1):
        fence = FENCE.match(text)
        if fence:
            language = (fence.group(1) or "text") if language is None else None
            continue
        yield number, language, text


@functools.lru_cache(maxsize=None)
def anchors(page):
    """Headings as they are addressed: lower case, punctuation gone, spaces as hyphens."""
    names = set()
    for _, language, text in lines_of(page):
        if language is None and text.startswith("#"):
            title = re.sub(r"[^\w\- ]", "", text.lstrip("#").strip().lower())
            names.add(title.replace(" ", "-"))
    return names


def check_links(root, page):
    for number, language, text in lines_of(page):
        if language is not None:
            continue
        for target in LINK.findall(re.sub(r"`[^`]*`", "", text)):
            if re.match(r"[a-z]+:", target):
                continue
            path, _, anchor = target.partition("#")
            file = (page.parent / path).resolve() if path else page
            if not file.exists():
                yield f"{page.relative_to(root)}:{number}: {target}: there is no such file"
            elif anchor and anchor not in anchors(file):
                yield f"{page.relative_to(root)}:{number}: {target}: there is no such heading"


class Program:
    def __init__(self, path):
        self.path = path

    @functools.lru_cache(maxsize=None)
    def help(self, words):
        run = subprocess.run([self.path, *words, "--help"], capture_output=True, text=True)
        return run.stdout if run.returncode == 0 else None

    def command(self, words):
        """The longest run of leading words that are commands."""
        found = ()
        for word in words:
            if not re.fullmatch(r"[a-z]+", word):
                break
            if f"\n  {word} " not in (self.help(found) or ""):
                break
            found += (word,)
        return found


def commands_in(page):
    """Shell commands of the page that begin with loci, continued lines joined."""
    joined, begun = "", 0
    for number, language, text in lines_of(page):
        if language not in ("sh", "bash", "console"):
            continue
        begun = begun if joined else number
        joined += text.split(" #")[0].rstrip()
        if joined.endswith("\\"):
            joined = joined[:-1] + " "
            continue
        for part in re.split(r"&&|\|\||\||;|<\(", joined):
            words = part.strip().rstrip(")").split()
            while words and re.fullmatch(r"[A-Z_]+=\S*|\$|sudo|torchrun|nohup", words[0]):
                words = words[1:]
            if words and re.search(r"(^|/|\$)loci$", words[0]):
                yield begun, words[1:]
        joined = ""


def check_commands(root, page, program):
    root_help = program.help(())
    for number, words in commands_in(page):
        where = f"{page.relative_to(root)}:{number}"
        leading = list(words)
        while leading and leading[0].startswith("-"):  # options of the program itself
            takes_value = leading[0] in ("--threads", "--log-level") and "=" not in leading[0]
            leading = leading[2 if takes_value else 1:]
        command = program.command(tuple(leading))
        if leading and not command:
            yield f"{where}: loci has no command '{leading[0]}'"
            continue
        known = set(OPTION.findall(program.help(command) + root_help)) | {"--help"}
        for option in OPTION.findall(" ".join(words)):
            if option not in known:
                yield f"{where}: 'loci {' '.join(command)}' has no option {option}"


def main():
    root, program = pathlib.Path(sys.argv[1]).resolve(), Program(sys.argv[2])
    problems, count = [], 0
    for page in pages(root):
        problems += check_links(root, page)
        problems += check_commands(root, page, program)
        count += len(list(commands_in(page)))
    print("\n".join(problems) or f"{len(pages(root))} pages, {count} commands: all there")
    if count == 0:
        problems.append("no commands found: the check itself is broken")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
