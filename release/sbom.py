"""The software bill of materials, in CycloneDX 1.6: libraries, and what is shipped inside of the wheel."""

from __future__ import annotations

import hashlib
import json
import re
import uuid
from datetime import UTC, datetime
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

LICENSE = "MIT AND OFL-1.1"
# What is inside of the wheel and not ours: the folder, the name and the licence.
SHIPPED = [
    ("src/muxpilot/pictures/font", "GNU Unifont", "OFL-1.1"),
    ("src/muxpilot/view/page/xterm", "xterm.js", "MIT"),
]


def bill(root: Path, version: str, date: int) -> str:
    """Return the bill as JSON. Equal sources and libraries give an equal text."""
    own = f"pkg:pypi/muxpilot@{version}"
    libraries = _libraries("muxpilot", ["http"])
    components = [_library(each) for each in libraries]
    components += [_shipped(root, *row) for row in SHIPPED]
    content: dict[str, Any] = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "timestamp": datetime.fromtimestamp(date, UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "component": {
                "type": "application",
                "bom-ref": own,
                "name": "muxpilot",
                "version": version,
                "licenses": [{"expression": LICENSE}],
                "purl": own,
            },
        },
        "components": components,
        "dependencies": [{"ref": own, "dependsOn": sorted(row["bom-ref"] for row in components)}],
    }
    text = json.dumps(content, sort_keys=True)
    serial = uuid.uuid5(uuid.NAMESPACE_URL, text)
    return json.dumps({**content, "serialNumber": f"urn:uuid:{serial}"}, indent=2) + "\n"


def _libraries(name: str, extras: list[str]) -> list[Distribution]:
    """Return what a package requires, and what that requires, as it is installed here."""
    found: dict[str, Distribution] = {}
    waiting = _requirements(distribution(name), extras)
    while waiting:
        key = waiting.pop()
        try:
            each = distribution(key)
        except PackageNotFoundError:  # not required on this machine
            continue
        if key not in found:
            found[key] = each
            waiting += _requirements(each, [])
    return [found[key] for key in sorted(found)]


def _requirements(each: Distribution, extras: list[str]) -> list[str]:
    rows = (row.partition(";") for row in each.requires or ())
    return [
        re.split(r"[\s\[<>=!~(]", name, maxsplit=1)[0].lower()
        for name, _, marker in rows
        if "extra" not in marker or any(f"'{extra}'" in marker.replace('"', "'") for extra in extras)
    ]


def _library(each: Distribution) -> dict[str, Any]:
    name = re.sub(r"[-_.]+", "-", each.metadata["Name"]).lower()
    purl = f"pkg:pypi/{name}@{each.version}"
    expression = each.metadata["License-Expression"]
    row = {"type": "library", "bom-ref": purl, "name": name, "version": each.version, "purl": purl}
    return row | ({"licenses": [{"expression": expression}]} if expression else {})


def _shipped(root: Path, folder: str, name: str, licence: str) -> dict[str, Any]:
    """Describe files inside of the wheel, by a digest over all of them."""
    digest = hashlib.sha256()
    for path in sorted(each for each in (root / folder).rglob("*") if each.is_file()):
        digest.update(path.relative_to(root).as_posix().encode() + b"\0" + path.read_bytes())
    return {
        "type": "library",
        "bom-ref": f"shipped:{name}",
        "name": name,
        "licenses": [{"license": {"id": licence}}],
        "hashes": [{"alg": "SHA-256", "content": digest.hexdigest()}],
        "description": f"Shipped in {folder.removeprefix('src/')}",
    }
