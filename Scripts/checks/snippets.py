"""Checks that the Swift code of the pages compiles.

The target Snippets of Examples contains the code as regions, from `// snippet: PAGE` to `// end of snippet: PAGE`, and the build compiles
them. This check compares each Markdown page's blocks ```swift with the regions of that name, in their order. Regions leave out the imports.
A block that is a package manifest is compiled by `swift package`.

The file push-N.swift of the tutorial is the program Tutorial of Examples up to its step N: without the lines from `// step M` to
`// end of step M` of later steps. A test runs the program.
"""

import re
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path

from checks.repository import blocks, files, place, read

SNIPPETS = "Examples/Sources/Snippets"
TUTORIAL = "Examples/Sources/Tutorial/main.swift"


def regions():
    """The compiled regions of each page; the markers of other regions inside are left out."""
    found = {}
    for file in files(SNIPPETS):
        text = read(file)
        for start in re.finditer(r"// snippet: (.+)\n", text):
            name = start[1]
            region = re.compile(rf"(.*?)\n *// end of snippet: {re.escape(name)}\n", re.S).match(text, start.end())
            if not region:
                sys.exit(f"{file}: the region {name} has no end")
            code = re.sub(r"(?m)^ *// (end of )?snippet: .*\n", "", region[1])
            found.setdefault(name, []).append(textwrap.dedent(code).strip())
    return found


def shown():
    """Yields the file, offset and Swift code of each block of the pages."""
    for name in files(end=".md"):
        yield from ((name, start, code) for start, code in blocks(read(name), "swift"))
    for name in files("Sources/Client/PushClient/Documentation.docc/", ".swift"):
        yield name, 0, read(name)


def tutorial(step):
    """The program of the tutorial up to a step."""
    text = re.compile(r"^ *// step (\d+)\n(.*?)^ *// end of step \1\n", re.M | re.S)
    return text.sub(lambda found: found[2] if int(found[1]) <= step else "", read(TUTORIAL))


def fault_of_manifest(code):
    """The error of the manifest's compiler, or None."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "Package.swift").write_text(code)
        result = subprocess.run(["swift", "package", "--package-path", folder, "dump-package"], capture_output=True, text=True)
    return result.stderr.strip() if result.returncode else None


def faults():
    compiled = regions()
    for name, start, code in shown():
        if code.startswith("// swift-tools-version"):
            fault = fault_of_manifest(code)
        elif step := re.search(r"/push-(\d+)\.swift$", name):
            fault = None if code == tutorial(int(step[1])) else f"the code differs from {TUTORIAL} up to this step"
        else:
            code = re.sub(r"\A(import PushClient\w*\n)+", "", code).strip()
            expected = compiled.get(Path(name).name) or [None]
            fault = None if code == expected.pop(0) else f"the code differs from its region in {SNIPPETS}"
        if fault:
            yield f"{place(name, start)}: {fault}"
    for name in (name for name, left in compiled.items() for _ in left):
        yield f"{SNIPPETS}: no page shows the region {name}"
