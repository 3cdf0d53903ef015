# SPDX-License-Identifier: Apache-2.0
"""What a power loss leaves on a disk: a model of a file system, driven by a trace of file_trace.cpp.

The model assumes only what POSIX promises. The content of a file is safe after fsync of the file. A name (of a
file or a folder, created, renamed or removed) is safe after fsync of the folder that contains it. Everything else
may be lost, in any combination: a name may be safe while the content is lost, and a later change of a folder may
be safe while an earlier one is lost. Single renames and exchanges of two names are atomic."""

import random

BLOCK = 4096


class File:
    def __init__(self, content=b""):
        self.live = bytearray(content)  # what processes read
        self.safe = bytes(content)  # what certainly survives
        self.pending = []  # (offset, bytes) or (size, None), since the last fsync

    def write(self, offset, data):
        if len(self.live) < offset:
            self.live.extend(bytes(offset - len(self.live)))
        self.live[offset:offset + len(data)] = data
        self.pending.append((offset, data))

    def resize(self, size):
        del self.live[size:]
        self.live.extend(bytes(size - len(self.live)))
        self.pending.append((size, None))

    def sync(self):
        self.safe = bytes(self.live)
        self.pending = []

    def content(self, loss):
        """The content after a power loss."""
        if not self.pending or loss.contents == "lost":
            return self.safe
        if loss.contents == "kept":
            return bytes(self.live)
        result = bytearray(self.safe)
        for place, data in self.pending:
            if data is None:
                if loss.chance.random() < 0.5:
                    del result[place:]
                    result.extend(bytes(place - len(result)))
                continue
            # Blocks reach the disk one by one. A lost block in front of a kept one reads as zeros.
            for begin in range(0, len(data), BLOCK):
                if loss.chance.random() < 0.5:
                    part = data[begin:begin + BLOCK]
                    if len(result) < place + begin:
                        result.extend(bytes(place + begin - len(result)))
                    result[place + begin:place + begin + len(part)] = part
        return bytes(result)


class Folder:
    def __init__(self):
        self.live = {}
        self.safe = {}
        self.pending = []  # changes since the last fsync; each is a list of (folder, name, node or None)

    def sync(self):
        for change in list(self.pending):
            for folder, name, node in change:
                set_name(folder.safe, name, node)
            for folder in {id(f): f for f, _, _ in change}.values():
                folder.pending.remove(change)

    def names(self, loss):
        """The entries after a power loss. `loss.kept` decides once per change, also for two folders."""
        result = dict(self.safe)
        for change in self.pending:
            if loss.keeps(change):
                for folder, name, node in change:
                    if folder is self:
                        set_name(result, name, node)
        return result


def set_name(names, name, node):
    if node is None:
        names.pop(name, None)
    else:
        names[name] = node


class Loss:
    """What a power loss destroys of the changes that were not synced.

    names, contents: "lost", "kept" or "random"."""

    def __init__(self, names, contents, seed=0):
        self.label = f"names {names}, contents {contents}" + (f", seed {seed}" if "random" in (names, contents) else "")
        self.rule, self.contents = names, contents
        self.chance = random.Random(seed)
        self.decided = {}

    def keeps(self, change):
        if self.rule != "random":
            return self.rule == "kept"
        return self.decided.setdefault(id(change), self.chance.random() < 0.5)


class Disk:
    """A folder and its subfolders. Paths are relative to it and use slashes."""

    def __init__(self, folder):
        """The present content of `folder`, all of it safe."""
        self.root = Folder()
        self.by_inode = {folder.stat().st_ino: self.root}
        self._add(folder, self.root)

    def _add(self, place, node):
        for entry in place.iterdir():
            inode = entry.stat().st_ino
            if entry.is_dir():
                child = Folder()
                self._add(entry, child)
            else:
                child = self.by_inode.get(inode) or File(entry.read_bytes())
            self.by_inode[inode] = child
            node.live[entry.name] = node.safe[entry.name] = child

    def find(self, path):
        """The live file or folder with this path, or None."""
        node = self.root
        for piece in path.split("/") if path else []:
            node = node.live.get(piece) if isinstance(node, Folder) else None
        return node

    def _place(self, path):
        parent, _, name = path.rpartition("/")
        return self.find(parent), name

    def _change(self, *assignments):
        change = [(folder, name, node) for folder, name, node in assignments]
        for folder, name, node in change:
            set_name(folder.live, name, node)
        for folder in {id(f): f for f, _, _ in change}.values():
            folder.pending.append(change)

    def apply(self, record):
        kind, fields, data = record
        if kind in ("create", "mkdir"):
            node = File() if kind == "create" else Folder()
            self.by_inode[int(fields[0])] = node
            self._change((*self._place(fields[1]), node))
        elif kind == "write":
            self.by_inode[int(fields[0])].write(int(fields[1]), data)
        elif kind == "truncate":
            self.by_inode[int(fields[0])].resize(int(fields[1]))
        elif kind == "sync":
            self.by_inode[int(fields[0])].sync()
        elif kind == "remove":
            self._change((*self._place(fields[0]), None))
        elif kind == "link":
            self._change((*self._place(fields[1]), self.find(fields[0])))
        elif kind == "rename":
            node = self.find(fields[0])
            self._change((*self._place(fields[0]), None), (*self._place(fields[1]), node))
        elif kind == "exchange":
            first, second = self.find(fields[0]), self.find(fields[1])
            self._change((*self._place(fields[0]), second), (*self._place(fields[1]), first))
        elif kind != "mark":
            raise AssertionError(f"unknown record {kind} in a trace")

    def live(self):
        """All live files: path -> content."""
        return {path: bytes(node.live) for path, node in walk(self.root, lambda folder: folder.live)
                if isinstance(node, File)}

    def after(self, loss):
        """A power loss: path -> content, and None for a folder."""
        return {path: node.content(loss) if isinstance(node, File) else None
                for path, node in walk(self.root, lambda folder: folder.names(loss))}


def walk(folder, names, prefix=""):
    for name, node in sorted(names(folder).items()):
        yield prefix + name, node
        if isinstance(node, Folder):
            yield from walk(node, names, prefix + name + "/")


def write_state(state, folder):
    """Creates `folder` with the files of after()."""
    folder.mkdir(parents=True)
    for path, content in state.items():  # a folder comes before its content
        if content is None:
            (folder / path).mkdir()
        else:
            (folder / path).write_bytes(content)


def read_trace(path):
    """The records of a trace: (kind, fields, bytes)."""
    data = path.read_bytes()
    at = 0
    while at < len(data):
        end = data.index(b"\n", at)
        kind, *fields = data[at:end].decode().split("\t")
        at = end + 1
        content = b""
        if kind == "write":
            content = data[at:at + int(fields[2])]
            at += len(content)
        yield kind, fields, content


def mark(path, text):
    """Appends a mark to a trace that is being written: what follows happened after this moment."""
    with open(path, "ab", buffering=0) as log:
        log.write(f"mark\t{text}\n".encode())
