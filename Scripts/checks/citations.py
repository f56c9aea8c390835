"""Proves that what the repository's files cite and link to is there.

- `PROTOCOL.md` names a file of the repository, `docs/DELIVERY.md` the one at that path.
- `PROTOCOL.md §7` names a heading there that begins with this number: `## 7. Registration`. In Markdown `§7` alone is the page's own.
- What follows it names a line of that section, or of the page: `row 12`, `facts 4 and 5`, `§2.4 d`, `I1, T6`: a row of a table or an item
  of a list that begins with it.
- A quotation names words of that section, or of the page: `DELIVERY.md "Time"`.
- In Markdown, `[text](path#heading)` names a file or folder, and a heading of it.
- In Tests/SECURITY.md each promise, an item that begins with `S12`, has a test in Tests/Golden/Promises.txt: functions, suites, or targets.

A citation may go on in the next line of a comment. Files that git ignores are not looked at.
"""

import re
from collections import Counter
from functools import cache
from pathlib import Path

from checks.repository import ROOT, blank, files, place, read, tracked

CITING = ("Sources/", "Tests/", "Benchmarks/", "Protos/", "Config/", "Scripts/", "docs/", "Examples/", ".ci/", "Package.swift")

# White space, or the end of a comment's line and the beginning of the next one.
GAP = r"(?:[ \t]|\n[ \t]*(?://+|#+)?)+"
AND = rf"(?:,{GAP}(?:and{GAP})?|{GAP}and{GAP}|{GAP}to{GAP})"
# The name of a page, perhaps as a link; or a section alone, which in Markdown is the page's own.
CITATION = re.compile(r"(?<![\w/.-])((?:[\w-]+/)*[A-Z][A-Z0-9_]*\.md)\b(?:\)(?= §))?|(?=§\d)")
SECTION = re.compile(rf"(?:{AND}|,?{GAP})?§(\d+(?:\.\d+)?)")
LABELS = re.compile(rf"{GAP}(?:rows?|facts?){GAP}(\d+[a-z]?(?:{AND}\d+[a-z]?)*)|{GAP}([a-z])(?=[),;:])")
NAMES = re.compile(rf"(?:{AND}|{GAP})([IT]\d+)\b")
QUOTATION = re.compile(rf",?{GAP}\"([^\"\n]+)\"")
LINK = re.compile(r"!?\[(?:[^\]\[]|\[[^\]]*\])*\]\(([^)\s]+)\)")
HEADING = re.compile(r"^(#+) +(.+?)\s*$")


@cache
def lines(path):
    """The lines of a page, those of code blocks empty."""
    result, is_code = [], False
    for line in read(path).splitlines():
        is_fence = line.lstrip().startswith("```")
        result.append("" if is_code or is_fence else line)
        is_code ^= is_fence
    return result


@cache
def section(path, number):
    """The lines below the heading with that number, up to the next heading of its rank; None if there is no such heading."""
    found, rank = None, 0
    for line in lines(path):
        heading = HEADING.match(line)
        if found is not None and heading and len(heading[1]) <= rank:
            break
        if found is not None:
            found.append(line)
        elif heading and re.match(rf"{re.escape(number)}(?![\d.]*\d)", heading[2]):
            found, rank = [line], len(heading[1])
    return found


@cache
def anchors(path):
    """The anchors that GitHub makes of a page's headings."""
    counts = Counter()
    for heading in filter(None, map(HEADING.match, lines(path))):
        text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading[2])
        counts[re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-")] += 1
    return {f"{name}-{number}" if number else name for name in counts for number in range(counts[name])}


def has_label(text, label):
    """Whether a row of a table, or an item of a list, begins with the label."""
    label = re.escape(label)
    return any(re.match(rf"\s*(?:\| *\**{label}\** *\||{label}\. |- +\*\*{label}\*\*)", line) for line in text)


def follow(text, end, path):
    """Follows the references behind the name of a page, which ends at `end`: what is wrong with them, and where they end."""
    scope, place, faults = lines(path), path, []
    while True:
        if match := SECTION.match(text, end):
            scope, place = section(path, match[1]), f"{path} §{match[1]}"
            if scope is None:
                faults.append(f"{path} has no §{match[1]}")
        elif match := LABELS.match(text, end) or NAMES.match(text, end):
            for label in re.findall(r"[IT]?\d+[a-z]?|\b[a-z]$", match[0]):
                if scope is not None and not has_label(scope, label):
                    faults.append(f"{place} has no line that begins with {label}")
        elif match := QUOTATION.match(text, end):
            if scope is not None and not re.search(rf"\b{re.escape(match[1])}\b", " ".join(scope), re.I):
                faults.append(f"{place} has no “{match[1]}”")
        else:
            return faults, end
        end = match.end()


def faults_of_citations(text, name, cited_pages):
    end = 0
    while citation := CITATION.search(text, end):
        cited, end = citation[1], citation.end()
        if cited:
            path = cited_pages.get(cited) or cited_pages.get((Path(name).parent / cited).as_posix())
        else:
            path = name if name.endswith(".md") else None
        if path:
            faults, end = follow(text, end, path)
            yield from ((citation.start(), fault) for fault in faults)
        elif cited:
            yield citation.start(), f"{cited} is not in the repository"
        end = max(end, citation.start() + 1)


def faults_of_links(text, name, files, folders):
    # Code is no link; blanks keep each line's place.
    text = re.sub(r"^```.*?^```|`[^`\n]*`", blank, text, flags=re.M | re.S)
    for link in LINK.finditer(text):
        target, _, anchor = link[1].partition("#")
        if re.match(r"[a-z]+:", target):
            continue
        path = (ROOT / name).parent / target if target else ROOT / name
        path = path.resolve().relative_to(ROOT).as_posix() if path.resolve().is_relative_to(ROOT) else target
        if path not in files and path not in folders:
            yield link.start(), f"{link[1]}: no such file"
        elif anchor and path.endswith(".md") and anchor not in anchors(path):
            yield link.start(), f"{link[1]}: no such heading"


@cache
def tests():
    """The names of all test functions, suites and targets of pushfuzz."""
    text = "".join(map(read, files("Tests/", ".swift")))
    targets = {f"pushfuzz {name}" for name in re.findall(r'FuzzTarget\(\s*name: "([^"]+)"', text)}
    return targets | set(re.findall(r"func `([^`\n]+)`", text)) | set(re.findall(r"\bstruct (\w+Tests)\b", text))


def faults_of_promises(text):
    promises, proven = set(re.findall(r"^- \*\*(S\d+)\*\* ", text, re.M)), set()
    for line in re.finditer(r"^(S\d+) (.+)$", read("Tests/Golden/Promises.txt"), re.M):
        if line[1] not in promises or line[2] not in tests() | {"pushfuzz"}:
            yield 0, f"Tests/Golden/Promises.txt: there is no {line[1]}, or no test “{line[2]}”"
        proven.add(line[1])
    for promise in sorted(promises - proven):
        yield 0, f"Tests/Golden/Promises.txt has no test of {promise}"


def faults():
    names = set(tracked())
    folders = {parent.as_posix() for name in names for parent in Path(name).parents}
    cited_pages = {}
    # Pages by path and by bare name. Of two pages with the same bare name, the one nearer to the root counts.
    for name in sorted(files(end=".md"), key=lambda name: (name.count("/"), name)):
        cited_pages[name] = name
        cited_pages.setdefault(Path(name).name, name)

    for name in tracked():
        if not name.endswith(".md") and not name.startswith(CITING):
            continue
        text = read(name)
        found = list(faults_of_citations(text, name, cited_pages))
        if name.endswith(".md"):
            found += faults_of_links(text, name, names, folders)
        if name == "Tests/SECURITY.md":
            found += faults_of_promises(text)
        yield from (f"{place(name, start)}: {fault}" for start, fault in sorted(found))
