"""Checks that the built programs accept every command that the pages show: its subcommand, options and arguments. Runs none of them.

Commands are in Markdown's blocks ```sh and in its inline code, and in the tutorial's *.sh. Programs of this package describe themselves
(--experimental-dump-help); flags of Waku nodes are listed below.
"""

import json
import re
import shlex
import subprocess

from checks.repository import ROOT, blocks, built, files, place, read, without_blocks

PROGRAMS = ("pushserver", "pushctl", "pushbench", "stubgorush")
COMMON = {"cluster-id", "relay", "rest", "rest-address", "rest-port", "rest-relay-cache-capacity", "max-msg-size", "nodekey", "store"}
NWAKU = COMMON | {"num-shards-in-network", "shard", "filter", "lightpush", "rendezvous", "dns-discovery-url", "discv5-discovery"}
NWAKU |= {"store-message-retention-policy", "store-message-db-url", "store-sync"}
# From the cli_args.nim of nwaku 0.35 to 0.38 and of logos-delivery 0.39 (autumn 2026, without what 0.42 removes), and from
# cmd/waku/flags.go of go-waku (October 2025).
NODES = {
    "wakunode2": NWAKU | {"staticnode", "store-resume"},
    "logosdeliverynode": NWAKU | {"entry-layer", "entry-node", "quic-support"},
    "waku": COMMON | {"pubsub-topic", "staticnode", "dns-discovery", "dns-discovery-url", "discv5-discovery"},
}


def shown():
    """Yields the file, offset and text of what pages show of shell commands: blocks, and inline code that begins with a program."""
    # The changelog has commands of earlier versions.
    for name in (name for name in files(end=".md") if name != "CHANGELOG.md"):
        yield from ((name, start, code) for start, code in blocks(read(name), "sh"))
        for code in re.finditer(rf"`((?:{'|'.join(PROGRAMS)}) [^`\n]+)`", without_blocks(read(name))):
            yield name, code.start(1), code[1]
    for name in files("Sources/Client/", ".sh"):
        yield name, 0, read(name)


def commands(text):
    """Yields the offset, program and arguments of each command of a program that is known here. Quotations may hold commands, too."""
    names = "|".join((*PROGRAMS, *NODES))
    for start in re.finditer(rf"(?m)(?:^|[\s(/])(?P<name>{names})(?= )", text):
        line = text[start.start("name") :].replace("\\\n", " ").split("\n")[0]
        lexer = shlex.shlex(line, posix=True, punctuation_chars="();<>|&")
        lexer.whitespace_split, lexer.commenters = True, "#"
        words = []
        try:
            for word in lexer:
                if set(word) <= set("();<>|&"):
                    break
                words.append("VALUE" if word == "$" else word)
        except ValueError:
            # The command ends at the quotation mark that it stands in.
            pass
        yield start.start("name"), words[0], words[1:]


def described(program):
    return json.loads(subprocess.run([program, "--experimental-dump-help"], check=True, capture_output=True, text=True).stdout)["command"]


def fault(command, words):
    """The fault that a program would report; None if it accepts the command."""
    names = [command["commandName"]]
    while words and not words[0].startswith("-"):
        child = next((child for child in command.get("subcommands", []) if child["commandName"] == words[0]), None)
        if child is None:
            break
        command, words = child, words[1:]
        names.append(child["commandName"])
    # Options without a subcommand belong to the default one.
    default = next((child for child in command.get("subcommands", []) if child["commandName"] == command.get("defaultSubcommand")), None)
    if default and words and words[0].startswith("-"):
        command = default
    arguments = command.get("arguments", [])
    options = {("-" if name["kind"] == "short" else "--") + name["name"]: a for a in arguments for name in a.get("names", [])}
    positionals = [argument for argument in arguments if argument["kind"] == "positional"]
    count, repeats = len(positionals), any(argument["isRepeating"] for argument in positionals)
    words = iter(words)
    for word in words:
        name, _, value = word.partition("=")
        if not word.startswith("-"):
            count -= 1
            if count < 0 and not repeats:
                return f"{' '.join(names)} takes no “{word}”"
        elif name not in options:
            return f"{' '.join(names)} has no option {name}"
        elif options[name]["kind"] == "option" and not value and next(words, None) is None:
            return f"{' '.join(names)}: {name} lacks its value"
    return None


def faults():
    programs = {name: described(built() / name) for name in PROGRAMS}
    found = 0
    for page, offset, text in shown():
        for start, name, words in commands(text):
            found += 1
            if name in programs:
                problem = fault(programs[name], words)
            else:
                flags = {word[2:].partition("=")[0] for word in words if word.startswith("--")}
                problem = ", ".join(f"{name} has no flag --{flag}" for flag in sorted(flags - NODES[name]))
            if problem:
                yield f"{place(page, offset + start)}: {problem}"
        for script in re.findall(r"(?m)^Scripts/([\w-]+)", text):
            if not (ROOT / "Scripts" / script).exists():
                yield f"{place(page, offset)}: there is no Scripts/{script}"
    if not found:
        yield "no page shows a command"
