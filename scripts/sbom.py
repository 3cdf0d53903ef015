#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the software bill of materials as CycloneDX 1.5 JSON: the Debian packages of versions.sh with their
dependencies, the Python wheels of libtorch and Node.js, and the npm packages of the page's lock file.

Usage: scripts/sbom.py [FILE]      default: out/loci.cdx.json

It lists installed versions, so run it after scripts/bootstrap. The output is checked against the requirements
of CycloneDX. SOURCE_DATE_EPOCH sets its date."""

import base64
import datetime
import email
import json
import os
import pathlib
import re
import subprocess
import sys
import uuid

ROOT = pathlib.Path(__file__).resolve().parent.parent
HASH_LENGTHS = {"SHA-256": 64, "SHA-512": 128}


def debian_names():
    """Yields (array, package) for the arrays of versions.sh."""
    text = (ROOT / "scripts" / "versions.sh").read_text()
    for array, body in re.findall(r"^(DEBIAN_\w*PACKAGES)=\((.*?)^\)", text, re.M | re.S):
        for line in body.splitlines():
            name = line.split("#")[0].strip()
            if name:
                yield array, name


def debian_components():
    """Yields the installed packages of versions.sh and their dependencies, each with its direct dependencies."""
    query = subprocess.run(
        ["dpkg-query", "-W", "-f", "${db:Status-Abbrev}\t${Package}\t${Version}\t${Architecture}\t${Depends}\t${Provides}\n"],
        capture_output=True, text=True, check=False).stdout
    installed, provided = {}, {}
    for line in query.splitlines():
        # Fields may contain "|" between alternatives, but no tabs.
        state, name, version, architecture, depends, provides = line.split("\t")
        if not state.startswith("ii"):
            continue
        installed[name] = (version, architecture, depends)
        for virtual in provides.split(","):
            provided.setdefault(virtual.split("(")[0].strip(), name)
    runtime = {name for array, name in debian_names() if array == "DEBIAN_PACKAGES"}
    waiting = [name for _, name in debian_names()]
    needs = {}
    while waiting:
        name = waiting.pop()
        name = name if name in installed else provided.get(name, name)
        if name in needs or name not in installed:
            continue
        # Of alternatives, the first installed one.
        needs[name] = set()
        for group in installed[name][2].split(","):
            for choice in group.split("|"):
                wanted = re.split(r"[\s(:]", choice.strip())[0]
                wanted = wanted if wanted in installed else provided.get(wanted, wanted)
                if wanted in installed:
                    needs[name].add(wanted)
                    waiting.append(wanted)
                    break
    reached, waiting = set(), [n for n in runtime if n in needs]
    while waiting:
        name = waiting.pop()
        if name not in reached:
            reached.add(name)
            waiting.extend(needs[name])
    release = "debian-12"
    for line in pathlib.Path("/etc/os-release").read_text().splitlines():
        if line.startswith("VERSION_ID="):
            release = "debian-" + line.split("=")[1].strip('"')

    def reference(name):
        version, architecture, _ = installed[name]
        quoted = version.replace("+", "%2B").replace(":", "%3A")
        return f"pkg:deb/debian/{name}@{quoted}?arch={architecture}&distro={release}"

    for name in sorted(needs):
        yield {"type": "library", "bom-ref": reference(name), "name": name, "version": installed[name][0],
               "purl": reference(name), "scope": "required" if name in reached else "optional",
               "properties": [{"name": "loci:origin", "value": "Debian"}]}, sorted(map(reference, needs[name]))


def pinned_hashes(file):
    """Hashes of a requirements file, by package name."""
    found, name = {}, None
    for line in file.read_text().splitlines():
        if match := re.match(r"([\w.-]+)==", line):
            name = normal(match[1])
        if (match := re.search(r"--hash=sha256:([0-9a-f]{64})", line)) and name:
            found.setdefault(name, []).append(match[1])
    return found


def normal(name):
    return re.sub(r"[-_.]+", "-", name).lower()


def wheel_components():
    for folder, lock in (("venv", "requirements-torch.txt"), ("node", "requirements-node.txt")):
        hashes = pinned_hashes(ROOT / "scripts" / lock)
        for metadata in sorted((ROOT / "build" / folder).glob("lib/python3*/site-packages/*.dist-info/METADATA")):
            fields = email.message_from_string(metadata.read_text(errors="replace"))
            name, version = normal(fields["Name"]), fields["Version"]
            if name in ("pip", "setuptools") and name not in hashes:
                continue  # part of the virtual environment itself
            reference = f"pkg:pypi/{name}@{version.replace('+', '%2B')}"
            component = {"type": "library", "bom-ref": reference, "name": name, "version": version,
                         "purl": reference, "scope": "required" if name == "torch" else "optional",
                         "properties": [{"name": "loci:origin", "value": "wheel"}]}
            if licence := fields.get("License-Expression"):
                component["licenses"] = [{"expression": licence}]
            if len(hashes.get(name, [])) == 1:
                component["hashes"] = [{"alg": "SHA-256", "content": hashes[name][0]}]
            yield component, []


def npm_components():
    lock = json.loads((ROOT / "web" / "package-lock.json").read_text())
    for path, entry in sorted(lock["packages"].items()):
        if not path:
            continue
        name = path.rsplit("node_modules/", 1)[1]
        reference = f"pkg:npm/{name.replace('@', '%40', 1)}@{entry['version']}"
        component = {"type": "library", "bom-ref": reference, "name": name, "version": entry["version"],
                     "purl": reference,
                     "scope": "optional" if entry.get("dev") or entry.get("optional") else "required",
                     "properties": [{"name": "loci:origin", "value": "npm"}]}
        if "license" in entry:
            component["licenses"] = [{"expression": entry["license"]}]
        algorithm, _, digest = entry.get("integrity", "").partition("-")
        if algorithm == "sha512":
            component["hashes"] = [{"alg": "SHA-512", "content": base64.b64decode(digest).hex()}]
        yield component, []


def make():
    version = re.search(r"project\(loci VERSION ([\d.]+)", (ROOT / "CMakeLists.txt").read_text())[1]
    seconds = int(os.environ.get("SOURCE_DATE_EPOCH", datetime.datetime.now().timestamp()))
    date = datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    root = f"pkg:generic/loci@{version}"
    components, dependencies, seen = [], [], set()
    for part in (debian_components, wheel_components, npm_components):
        for component, needs in part():
            if component["bom-ref"] in seen:
                continue
            seen.add(component["bom-ref"])
            components.append(component)
            dependencies.append({"ref": component["bom-ref"], "dependsOn": needs})
    dependencies.insert(0, {"ref": root, "dependsOn": sorted(seen)})
    return {
        "bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1,
        "serialNumber": "urn:uuid:" + str(uuid.uuid5(uuid.NAMESPACE_OID, root + "".join(sorted(seen)))),
        "metadata": {"timestamp": date,
                     "tools": {"components": [{"type": "application", "name": "scripts/sbom.py", "version": version}]},
                     "component": {"type": "application", "bom-ref": root, "name": "loci", "version": version,
                                   "purl": root, "licenses": [{"license": {"id": "Apache-2.0"}}]}},
        "components": components, "dependencies": dependencies}


def check(bom):
    """Checks the requirements of the CycloneDX 1.5 schema for the used fields, and that no URL is included."""
    assert bom["bomFormat"] == "CycloneDX" and bom["specVersion"] == "1.5"
    assert isinstance(bom["version"], int) and bom["version"] >= 1
    assert re.fullmatch(r"urn:uuid:[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", bom["serialNumber"])
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", bom["metadata"]["timestamp"])
    references = set()
    for component in [bom["metadata"]["component"], *bom["components"]]:
        assert component["type"] in ("application", "library") and component["name"] and component["version"]
        assert component["purl"].startswith("pkg:") and " " not in component["purl"], component["purl"]
        assert component.get("scope", "required") in ("required", "optional", "excluded")
        assert component["bom-ref"] not in references, component["bom-ref"]
        references.add(component["bom-ref"])
        for digest in component.get("hashes", []):
            assert re.fullmatch(r"[0-9a-f]{%d}" % HASH_LENGTHS[digest["alg"]], digest["content"]), component
        for licence in component.get("licenses", []):
            assert licence.get("expression") or licence["license"]["id"]
    refs = [dependency["ref"] for dependency in bom["dependencies"]]
    assert len(refs) == len(set(refs)) and set(refs) == references
    for dependency in bom["dependencies"]:
        assert set(dependency["dependsOn"]) <= references, dependency
        assert len(set(dependency["dependsOn"])) == len(dependency["dependsOn"])
    assert "://" not in json.dumps(bom), "the output contains a URL"


def main():
    file = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "out" / "loci.cdx.json")
    bom = make()
    check(bom)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(bom, indent=1) + "\n")
    kinds = [c["properties"][0]["value"] for c in bom["components"]]
    hashed = sum("hashes" in c for c in bom["components"])
    print(f"{file}: {len(kinds)} components ({', '.join(f'{kinds.count(k)} {k}' for k in dict.fromkeys(kinds))}), "
          f"{hashed} with hashes")


if __name__ == "__main__":
    main()
