#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the documentation and the source tree that it describes:
- Every relative link leads to an existing file and, if it names one, to an existing heading.
- Every `loci …` command in a shell block uses existing commands and options, and no more arguments than the
  command accepts.
- Lines have at most 120 characters, except in tables and code blocks; link targets do not count.
- src/README.md names every folder of src/, and no folder of src/ has more than 32 source files.

Usage: check_docs.py REPOSITORY LOCI
"""
import collections
import functools
import pathlib
import re
import subprocess
import sys

LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")
FENCE = re.compile(r"^\s*```(\w*)\s*$")
OPTION = re.compile(r"(?<![\w-])(--[a-z][a-z0-9-]*)")
MAX_LINE = 120
MAX_SOURCES = 32
# Folders below this depth of src/ need no description: they mirror the layout of another project.
MAX_DEPTH = 3


def tracked(root, *patterns):
    """Files of the repository, including new ones that are not ignored."""
    listed = subprocess.run(
        ["git", "-C", root, "ls-files", "-z", "--cached", "--others", "--exclude-standard", *patterns],
        check=True, capture_output=True, text=True).stdout
    return [root / name for name in listed.split("\0") if name and (root / name).exists()]


def lines_of(page):
    """Yields (line number, language of the fenced code block or None, text)."""
    language = None
    for number, text in enumerate(page.read_text(encoding="utf-8").splitlines(), 1):
        fence = FENCE.match(text)
        if fence:
            language = (fence.group(1) or "text") if language is None else None
            continue
        yield number, language, text


@functools.lru_cache(maxsize=None)
def anchors(page):
    """Anchors of the headings: lower case, without punctuation, hyphens instead of spaces."""
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
                yield f"{page.relative_to(root)}:{number}: {target}: the file does not exist"
            elif anchor and anchor not in anchors(file):
                yield f"{page.relative_to(root)}:{number}: {target}: the heading does not exist"


def check_line_lengths(root, page):
    code = False  # in a code block that is indented by four spaces
    blank = True
    for number, language, text in lines_of(page):
        code = text.startswith("    ") and (blank or code)
        blank = not text.strip()
        if language is not None or code or text.lstrip().startswith("|"):
            continue
        length = len(re.sub(r"\]\([^)]*\)", "]", text))
        if length > MAX_LINE:
            yield f"{page.relative_to(root)}:{number}: {length} characters; expected at most {MAX_LINE}"


class Program:
    def __init__(self, path):
        self.path = path

    @functools.lru_cache(maxsize=None)
    def help(self, words):
        run = subprocess.run([self.path, *words, "--help"], capture_output=True, text=True)
        return run.stdout if run.returncode == 0 else None

    def command(self, words):
        """The longest sequence of leading words that are commands."""
        found = ()
        for word in words:
            if not re.fullmatch(r"[a-z]+", word):
                break
            if f"\n  {word} " not in (self.help(found) or ""):
                break
            found += (word,)
        return found


def arguments_of(words, help_text):
    """The words that are neither options nor values of options."""
    options = re.findall(r"^  (-\S+)(?: (\S.*?))?(?:  .*)?$", help_text, re.MULTILINE)
    with_value = {name for names, value in options if value for name in names.split(",")}
    rest, index = [], 0
    while index < len(words):
        if not words[index].startswith("-"):
            rest.append(words[index])
        elif words[index] in with_value:
            index += 1
        index += 1
    return rest


def commands_in(page):
    """Yields (line number, arguments) of the shell commands that run loci; joins continued lines."""
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
        while leading and leading[0].startswith("-"):  # global options
            takes_value = leading[0] in ("--threads", "--log-level") and "=" not in leading[0]
            leading = leading[2 if takes_value else 1:]
        command = program.command(tuple(leading))
        if leading and not command:
            yield f"{where}: loci has no command '{leading[0]}'"
            continue
        help_text = program.help(command)
        known = set(OPTION.findall(help_text + root_help)) | {"--help"}
        for option in OPTION.findall(" ".join(words)):
            if option not in known:
                yield f"{where}: 'loci {' '.join(command)}' has no option {option}"
        usage = re.search(r"^Usage: loci .*$", help_text, re.MULTILINE).group()
        accepted = usage.split("]", 1)[1].split() if "]" in usage else []
        given = arguments_of(leading[len(command):], help_text + root_help)
        if len(given) > len(accepted) and "..." not in usage:
            yield f"{where}: 'loci {' '.join(command)}' accepts {len(accepted)} arguments; got {' '.join(given)}"


def check_source_tree(root):
    readme = root / "src" / "README.md"
    described = set(re.findall(r"`([\w/]+)`", readme.read_text(encoding="utf-8")))
    sources = collections.Counter()
    for file in tracked(root, "src/**"):
        folder = file.parent.relative_to(root / "src")
        if file.name not in ("CMakeLists.txt", "README.md"):
            sources[folder.as_posix()] += 1
    folders = set(sources) | {parent.as_posix() for name in sources for parent in pathlib.Path(name).parents}
    for folder in sorted(folders - {"."}):
        if folder not in described and folder.count("/") < MAX_DEPTH:
            yield f"src/README.md: the folder `{folder}` is not described"
        if sources[folder] > MAX_SOURCES:
            yield f"src/{folder}: {sources[folder]} source files; expected at most {MAX_SOURCES}"
    for name in sorted(described):
        if "/" in name and name.split("/")[0] in folders and not (root / "src" / name).is_dir():
            yield f"src/README.md: the folder `{name}` does not exist"


def main():
    root, program = pathlib.Path(sys.argv[1]).resolve(), Program(sys.argv[2])
    pages = tracked(root, "*.md")
    problems, count = list(check_source_tree(root)), 0
    for page in pages:
        problems += check_links(root, page)
        problems += check_line_lengths(root, page)
        problems += check_commands(root, page, program)
        count += len(list(commands_in(page)))
    print("\n".join(problems) or f"{len(pages)} pages, {count} commands: no problems")
    if count == 0:
        problems.append("found no commands: the check itself is broken")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
