"""Checks that every setting that the repository's files name exists.

Config/pushserver.yaml lists the settings; a test compares it with the program. A file names a setting
- with its section: `gorush.url`, in Markdown, in comments and in texts of the program,
- as a variable of the environment: `PUSHSERVER_GORUSH_URL`,
- as a flag: `--set gorush.url=…`.

Tests are left out, because they name settings that do not exist on purpose, and so is SQL, whose columns look like settings.
"""

import re

from checks.repository import place, read, tracked, without_blocks

READ = ("Sources/", "Benchmarks/", "Config/", "Packaging/", "Scripts/", "docs/", "Examples/", ".ci/")
SQL = ("Sources/Stores/SQLiteStore/", "Sources/Stores/PostgreSQLStore/", "Sources/Stores/Store/SQL/")
# Names that are no settings: of files, and of gorush's own settings.
OTHERS = re.compile(r"\.(?:key|sh|ya?ml|sqlite|stdout)$|^log\.\w+_\w+$")
# Settings that are gone: their errors, and the changelog, say what replaces them.
REMOVED = {
    "gorush.feedbackSecret", "gorush.feedbackSecretFile", "gorush.maximumNotificationsInFlight", "transport.waku.confirmPublishing",
}
# The keys that an operator chooses: the name of a route, and the app of a gateway.
CHOSEN = {"gorush.routes", "gateways.softphone.apps", "gateways.nextcloudProxy.apps"}


def documented():
    """The settings and sections of Config/pushserver.yaml, those in comments included, as dotted keys."""
    keys, path = set(), []
    for line in read("Config/pushserver.yaml").splitlines():
        key = re.match(r"( *)(?:#( ?)( *))?(?:- \{ )?([A-Za-z][\w-]*):(?= |$)", line)
        if not key:
            continue
        depth = len(key[1] + (key[3] or ""))
        while path and path[-1][0] >= depth:
            path.pop()
        path.append((depth, key[4]))
        keys.add(".".join(name for _, name in path))
        # Mappings in one line, like `waku: { url: … }`.
        for name in re.findall(r"[{,] *([A-Za-z][\w-]*):(?= )", line.split(":", 1)[1]):
            keys.add(".".join([name for _, name in path] + [name]))
    return keys


def is_known(name, keys):
    name = re.sub(r"\.\d+(?=\.|$)", "", name)
    for section in CHOSEN:
        if name.startswith(section + "."):
            rest = name[len(section) + 1 :].split(".", 1)
            if len(rest) == 1:
                return True
            inner = rest[1]
            if section == "gorush.routes":
                return inner in ("platform", "apnTopics") or is_known("gorush." + inner, keys)
            return any(key.startswith(section) and key.endswith("." + inner) for key in keys)
    return name in keys


def variable(name):
    return "PUSHSERVER_" + re.sub(r"([A-Z])", r"_\1", name.replace(".", "_").replace("-", "_")).upper()


def texts(path, text):
    """The prose of a file, with blanks in place of everything else: in Swift the comments and the string literals."""
    if path.endswith(".md"):
        return without_blocks(text, "swift")
    if not path.endswith(".swift"):
        return text
    prose = [letter if letter == "\n" else " " for letter in text]
    for part in re.finditer(r'//[^\n]*|"""(?:.|\n)*?"""|"(?:\\.|[^"\\\n])*"', text):
        prose[part.start() : part.end()] = text[part.start() : part.end()]
    return re.sub(r"\\\([^()\n]*\)", lambda code: "*" * len(code[0]), "".join(prose))


def faults():
    keys = documented()
    sections = sorted({key.split(".")[0] for key in keys if "." in key})
    variables = {variable(key) for key in keys} | {"PUSHSERVER_CONFIG"}
    setting = re.compile(rf"(?<![\w./*-])(?:{'|'.join(sections)})(?:\.[A-Za-z][\w-]*)+(?![\w(/*])")
    for name in tracked():
        if not (name.startswith(READ) or ("/" not in name and name.endswith(".md"))) or name.startswith(SQL):
            continue
        text = texts(name, read(name))
        for found in setting.finditer(text):
            if not is_known(found[0], keys) and not OTHERS.search(found[0]) and found[0] not in REMOVED:
                yield f"{place(name, found.start())}: there is no setting {found[0]}"
        for found in re.finditer(r"\bPUSHSERVER_[A-Z][A-Z0-9_]*[A-Z0-9]\b(?!\*)", text):
            if found[0] not in variables:
                yield f"{place(name, found.start())}: there is no setting for {found[0]}"
