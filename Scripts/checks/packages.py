"""Proves that an app outside this repository resolves few packages, and builds: with `traits: []` from swift-log alone, with the trait
FileState from GRDB as well. One use of another package in Package.swift that has no trait would make every app download it.
"""

import json
import subprocess
import tempfile
from pathlib import Path

from checks.repository import ROOT

MODULES = ["PushClient", "PushClientREST", "PushPayload", "PushClientTesting"]
APPS = {"": (["swift-log"], MODULES), '"FileState"': (["grdb.swift", "swift-log"], [*MODULES, "PushClientFileState"])}
MANIFEST = """\
// swift-tools-version: 6.2
import PackageDescription

let package = Package(
    name: "App",
    dependencies: [.package(name: "pushserver", path: "{root}", traits: [{traits}])],
    targets: [.target(name: "App", dependencies: [{products}], path: "App")]
)
"""


def swift(app, command, *arguments):
    """The errors of a command of SwiftPM, or nothing."""
    result = subprocess.run(["swift", command, "--package-path", app, *arguments], capture_output=True, text=True)
    lines = (result.stdout + result.stderr).splitlines() if result.returncode else []
    return "\n".join([line for line in lines if "error:" in line] or lines[-20:])


def faults():
    with tempfile.TemporaryDirectory() as folder:
        app = Path(folder)
        (app / "App").mkdir()
        for traits, (packages, modules) in APPS.items():
            products = ", ".join(f'.product(name: "{module}", package: "pushserver")' for module in modules)
            (app / "App/App.swift").write_text("".join(f"import {module}\n" for module in modules))
            (app / "Package.swift").write_text(MANIFEST.format(root=ROOT, traits=traits, products=products))
            (app / "Package.resolved").unlink(missing_ok=True)
            problem = swift(app, "package", "resolve")
            if not problem:
                pins = json.loads((app / "Package.resolved").read_text())["pins"]
                resolved = sorted(pin["identity"] for pin in pins)
                problem = f"resolves {', '.join(resolved)}" if resolved != packages else swift(app, "build")
            if problem:
                yield f"an app with traits: [{traits}]: {problem}"
