"""Compress a table better by ordering its columns: a program for `mergebo optimize`.

The table describes some 7000 Unicode characters. Compression finds repetitions at short distances, so columns with related
contents should be adjacent. Without arguments the program prints the names of the columns; with an order of columns it
prints the number of bytes of the compressed table:

    python examples/columns.py > columns.txt
    mergebo optimize --items columns.txt --budget 60 --command 'python examples/columns.py {order}'
"""

from __future__ import annotations

import sys
import unicodedata
import zlib

CHARACTERS = [chr(code) for code in range(0x20, 0x2000) if unicodedata.name(chr(code), "")]

COLUMNS = {
    "code": lambda c: f"{ord(c):04X}",
    "name": unicodedata.name,
    "script": lambda c: unicodedata.name(c).split()[0],
    "last word": lambda c: unicodedata.name(c).split()[-1],
    "category": unicodedata.category,
    "direction": unicodedata.bidirectional,
    "combining": lambda c: str(unicodedata.combining(c)),
    "width": unicodedata.east_asian_width,
    "mirrored": lambda c: str(unicodedata.mirrored(c)),
    "decomposition": unicodedata.decomposition,
    "upper": lambda c: f"{ord(c.upper()[0]):04X}" if c.upper() != c else "",
    "lower": lambda c: f"{ord(c.lower()[0]):04X}" if c.lower() != c else "",
    "utf8": lambda c: c.encode().hex(),
    "number": lambda c: str(unicodedata.numeric(c, "")),
}


def main(order: list[str]) -> None:
    """Print the names of the columns, or the compressed size of the table with its columns in this order."""
    if not order:
        print(*COLUMNS, sep="\n")
        return
    if sorted(order) != sorted(COLUMNS):
        sys.exit(f"the columns are {', '.join(COLUMNS)}, got {', '.join(order)}")
    lines = (",".join(COLUMNS[name](character) for name in order) for character in CHARACTERS)
    print(len(zlib.compress("\n".join(lines).encode())))


if __name__ == "__main__":
    main(sys.argv[1:])
