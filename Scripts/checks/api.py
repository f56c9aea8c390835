"""Compares the public symbols of the client's libraries with Tests/Golden/API.txt.

The symbols come from the built modules, by `swift symbolgraph-extract`. A closed public enum is a fault: each new case would break apps.
"""

import difflib
import json
import platform
import subprocess
import sys
import tempfile
import textwrap
from functools import cache
from pathlib import Path

from checks.repository import ROOT, built

BASELINE = ROOT / "Tests/Golden/API.txt"
MODULES = ["PushClient", "PushClientREST", "PushClientFileState", "PushPayload", "PushClientTesting"]
HEADERS = [ROOT / "Sources/System" / name for name in ("CSecp256k1", "CLibCrypto", "CLibCurl")]
HEADERS.append(ROOT / ".build/checkouts/GRDB.swift/Sources/GRDBSQLite")
INTRODUCTION = """\
The public symbols of the client libraries, from the compiled modules. After a wanted change, Scripts/check --write api writes
this file.
"""


def graphs():
    """The symbol graphs of the modules: each module's own symbols, and its extensions of another module's."""
    with tempfile.TemporaryDirectory() as output:
        for module in MODULES:
            command = ["swift", "symbolgraph-extract", "-module-name", module, "-I", built() / "Modules"]
            command += [argument for header in HEADERS for argument in ("-I", header)]
            command += ["-target", f"{platform.machine()}-unknown-linux-gnu", "-minimum-access-level", "public"]
            command += ["-skip-synthesized-members", "-omit-extension-block-symbols", "-output-dir", output]
            result = subprocess.run(command, capture_output=True, text=True)
            if result.returncode:
                sys.exit(f"{module}: {result.stderr.strip()}")
        for module in MODULES:
            yield module, [json.loads(path.read_text()) for path in sorted(Path(output).glob(f"{module}[.@]*symbols.json"))]


def listing(found):
    """The lines of a module: each symbol below its type, with the protocols that a type conforms to."""
    symbols, protocols = {}, {}
    for graph in found:
        for symbol in graph["symbols"]:
            symbols[symbol["identifier"]["precise"]] = symbol
    for graph in found:
        for relationship in (relationship for relationship in graph["relationships"] if relationship["kind"] == "conformsTo"):
            target = symbols.get(relationship["target"])
            name = target["names"]["title"] if target else relationship["targetFallback"].removeprefix("Swift.")
            if name not in ("Copyable", "Escapable", "SendableMetatype"):
                protocols.setdefault(relationship["source"], set()).add(name)
    lines = []
    for identifier, symbol in sorted(symbols.items(), key=lambda item: (item[1]["pathComponents"], item[0])):
        text = " ".join("".join(part["spelling"] for part in symbol["declarationFragments"]).split())
        kind = symbol["kind"]["identifier"]
        if kind in ("swift.struct", "swift.class", "swift.enum") and identifier in protocols:
            text += ": " + ", ".join(sorted(protocols[identifier]))
        # Extensions of another module's type have no line of the type.
        path = symbol["pathComponents"]
        isOwn = any(other["pathComponents"] == path[:1] for other in symbols.values())
        indent = "    " * (len(path) - 1) if isOwn else f"extension {'.'.join(path[:-1])}: "
        further = "    " * len(path)
        lines += textwrap.wrap(
            text, 140, initial_indent=indent, subsequent_indent=further, break_long_words=False, break_on_hyphens=False)
    enums = [symbol["pathComponents"] for symbol in symbols.values() if symbol["kind"]["identifier"] == "swift.enum"]
    return lines, [f"{'.'.join(path)} is a public enum" for path in enums]


@cache
def compiled():
    """What the file should contain, and a fault for each public enum."""
    text, enums = INTRODUCTION, []
    for module, found in graphs():
        lines, public_enums = listing(found)
        text += f"\n{module}\n\n" + "\n".join(lines) + "\n"
        enums += public_enums
    return text, enums


def write():
    BASELINE.write_text(compiled()[0])


def faults():
    text, enums = compiled()
    written = BASELINE.read_text() if BASELINE.exists() else ""
    yield from enums
    yield from difflib.unified_diff(written.splitlines(), text.splitlines(), "Tests/Golden/API.txt", "built", n=0, lineterm="")
