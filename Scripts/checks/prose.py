"""Checks two things about our prose.

- No doc comment starts with a bare number, because nobody updates the copy when the value below it changes.
- Messages that the operators' pages quote exist in the sources: code of four words or more that starts in lower case and is no command.
  An ellipsis stands for a value. Put messages of other programs in quotation marks.
"""

import re

from checks.repository import files, place, read, without_blocks

PAGES = re.compile(r"(README|SECURITY|docs/\w+)\.md")


def unknown_messages(text, sources):
    for code in re.finditer(r"`([a-z][^`\n]*)`", text):
        if code[1].count(" ") >= 3 and not re.search(r" -|=|^push\w+ ", code[1]):
            for part in re.split("…|: ", code[1]):
                if part.strip() not in sources:
                    yield code.start(), f"no source has “{part.strip()}”"


def leading_numbers(text):
    for comment in re.finditer(r"^(?! *///).*\n *(/// \d.*)", text, re.M):
        yield comment.start(1), f"the comment starts with a bare number: {comment[1]}"


def faults():
    swift = files("Sources/", ".swift")
    # Literals may go on in the next line, and have values in the middle.
    sources = re.sub(r"\s+", " ", re.sub(r"\\\n", "", "\n".join(map(read, swift))))
    for name in filter(PAGES.fullmatch, files()):
        yield from (f"{place(name, start)}: {fault}" for start, fault in unknown_messages(without_blocks(read(name)), sources))
    for name in swift:
        yield from (f"{place(name, start)}: {fault}" for start, fault in leading_numbers(read(name)))
