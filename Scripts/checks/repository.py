"""The repository's files and pages, as the checks read them."""

import re
import subprocess
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent


@cache
def tracked():
    """The files that git tracks or would add, as paths from the root."""
    listing = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(listing, cwd=ROOT, check=True, capture_output=True, text=True).stdout.split("\0")
    return sorted(name for name in names if name and (ROOT / name).is_file())


def files(start="", end=""):
    """The tracked files whose paths start and end so: `files(end=".md")` are the pages."""
    return [name for name in tracked() if name.startswith(start) and name.endswith(end)]


@cache
def read(name):
    """The text of a file, or an empty one if it isn't text."""
    try:
        return (ROOT / name).read_text()
    except UnicodeDecodeError:
        return ""


def place(name, offset):
    """The place of a fault, as editors open it."""
    return f"{name}:{read(name).count(chr(10), 0, offset) + 1}"


def blank(match):
    """Blanks in place of what was found, so that everything else keeps its line."""
    return re.sub(r"[^\n]", " ", match[0])


def without_blocks(text, language=""):
    """The text with blanks in place of its blocks of code."""
    return re.sub(rf"^ *```{language}.*?^ *```", blank, text, flags=re.M | re.S)


def blocks(text, language):
    """Yields the offset and the code of each block of a language."""
    for block in re.finditer(rf"^```{language}\n(.*?)^```", text, re.M | re.S):
        yield block.start(1), block[1]


@cache
def built():
    """The folder of the built programs and modules."""
    command = ["swift", "build", "--show-bin-path"]
    return Path(subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout.strip())
