"""Proves that nothing that can fail runs under a lock, because it would be a database, a file or the network.

Whoever waits for the lock would wait for that too: a page of figures once hung with the database. The check reads the bodies of `withLock`
and of a monitor's `update`. A function that such a body calls and that hides its errors is not seen.
"""

import re

from checks.repository import files, read

LOCKED = re.compile(r"\.(?:withLock|update)\s*\{")
FAILING = re.compile(r"\btry\b.*|\bFile(?:Manager|Handle)\b.*")

# Files that may, and why.
EXCEPTIONS = {
    "Sources/Network/Transport/Embedded/ArchiveFile.swift": "the lock keeps entries apart, and only those who write wait for it",
}


def body(text, start):
    """The text from an opening brace to its closing one."""
    depth = 0
    for end in range(start, len(text)):
        depth += {"{": 1, "}": -1}.get(text[end], 0)
        if depth == 0:
            return text[start:end]
    return text[start:]


def faults():
    excepted = set()
    for name in files("Sources/", ".swift"):
        text = read(name)
        for lock in LOCKED.finditer(text):
            failing = FAILING.search(body(text, lock.end() - 1))
            if failing and name in EXCEPTIONS:
                excepted.add(name)
            elif failing:
                yield f"{name}:{text.count(chr(10), 0, lock.start()) + 1}: this runs under a lock: {failing.group().strip()}"
    for name in EXCEPTIONS.keys() - excepted:
        yield f"Scripts/checks/locks.py: {name} needs no exception any more"
