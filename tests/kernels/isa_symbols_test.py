# SPDX-License-Identifier: Apache-2.0
"""Checks that the object files of the instruction sets export nothing but their table functions.

Any other exported function, for example an inline one from a shared header, could be linked into the
rest of the program although it contains instructions that the processor may lack.

Usage: isa_symbols_test.py <nm> libloci_kernels.a
"""
import re
import subprocess
import sys

nm, library = sys.argv[1:]
listing = subprocess.run(
    [nm, "--defined-only", "--extern-only", "--demangle", library],
    check=True, capture_output=True, text=True,
).stdout
exported = {}
member = None
for line in listing.splitlines():
    if line.endswith(":"):
        member = line[:-1]
    elif line.strip() and re.match(r"kernels_\w+\.cpp\.o", member):
        symbol = line.split(maxsplit=2)[2]
        if not symbol.startswith("DW.ref."):  # data that the compiler's exception tables refer to
            exported.setdefault(member, []).append(symbol)

assert "kernels_plain.cpp.o" in exported, f"no kernels_plain.cpp in {library}: {sorted(exported)}"
unexpected = [
    f"{member}: {symbol}"
    for member, symbols in exported.items()
    for symbol in symbols
    if not re.fullmatch(r"loci::kernels::add_\w+_kernels\(loci::kernels::KernelTable&\)", symbol)
]
if unexpected:
    sys.exit("exported by a file of one instruction set:\n  " + "\n  ".join(unexpected))
