"""Proves that Sources/ keeps its floors: no module imports one of a higher floor.

The folders of Sources/ are the floors, from the top down as below. Client and Kit may import only themselves and the three lowest floors,
because apps and other servers' makers link them. Gateways may not import Network.

What an app links stays small and portable: its modules import none but the libraries below, and what differs between systems or
cryptographic libraries in one module each.
"""

import re

from checks.repository import ROOT, files, read

FLOORS = ["Programs", "Operation", "Kit", "Client", "Gateways", "Server", "Stores", "Network", "Protocol", "System"]
LOWEST = {"Network", "Protocol", "System"}
LIBRARIES = {"FoundationEssentials", "Synchronization", "Dispatch", "Logging", "CSecp256k1", "CLibCurl", "GRDB"}
PORTABLE = {"Platform": {"Darwin", "Musl", "Android", "Glibc"}, "CryptoLibrary": {"CLibCrypto"}}
IMPORT = re.compile(r"^\s*(?:@testable |@_exported )?(?:package |public |private )?import (?:struct |class |enum |func |protocol )?(\w+)", re.M)


def allowed(floor):
    """The floors that a module of this one may import."""
    if floor in ("Client", "Kit"):
        return {floor} | LOWEST
    lower = set(FLOORS[FLOORS.index(floor) :])
    return lower - {"Network"} if floor == "Gateways" else lower


def app_modules(imports):
    """The modules that an app can link: those of Client, and what they import of Sources/."""
    modules, found = set(), {path.name for path in (ROOT / "Sources/Client").iterdir()}
    while found:
        modules |= found
        found = {name for module in found for name in imports.get(module, {}) if name in imports} - modules
    return modules


def faults():
    imports = {}
    floors = {path.name: path.parent.name for path in (ROOT / "Sources").glob("*/*") if path.is_dir()}
    yield from (f"Sources/{floor}: not a floor" for floor in sorted({*floors.values()} - {*FLOORS}))
    for name in (name for name in files("Sources/", ".swift") if ".docc/" not in name):
        floor = name.split("/")[1]
        for module in IMPORT.findall(read(name)):
            imports.setdefault(name.split("/")[2], {}).setdefault(module, name)
            if module in floors and floor in FLOORS and floors[module] not in allowed(floor):
                yield f"{name}: imports {module} of {floors[module]}, which {floor} may not use"
    for module in sorted(app_modules(imports)):
        for name in sorted(imports[module].keys() - imports.keys() - LIBRARIES - PORTABLE.get(module, set())):
            yield f"{imports[module][name]}: imports {name}, which apps that link {module} should not have to link"
