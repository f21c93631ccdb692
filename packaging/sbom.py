#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Writes sbom.spdx.json of a release (scripts/release.sh): its files, and what is linked into the static ones.

    sbom.py FOLDER VERSION URL      FOLDER has the clone, source, and the release, fastsdt-VERSION

What a static file is made of is asked of its build: the archives on its link line, and the packages that these are of. Wheels have lists of their own
(auditwheel), Debian's packages and RPMs name what they depend on.
"""
import datetime
import hashlib
import os
import pathlib
import re
import subprocess
import sys

from spdx_tools.spdx.model import (Actor, ActorType, Checksum, ChecksumAlgorithm, CreationInfo, Document, ExternalPackageRef,
                                   ExternalPackageRefCategory, File, Package, PackageVerificationCode, Relationship, RelationshipType,
                                   SpdxNoAssertion)
from spdx_tools.spdx.validation.document_validator import validate_full_spdx_document
from spdx_tools.spdx.writer.write_anything import write_file

# What is compiled from its source package because Debian has no archive of it (static.sh); their headers' packages have the version.
FROM_SOURCE = {"libZydis.a": "libzydis-dev", "libfmt.a": "libfmt-dev", "libmicrohttpd.a": "libmicrohttpd-dev", "libcurl.a": "libcurl4-openssl-dev",
               "libvixl.a": "libvixl-dev"}
HEADERS_ONLY = ["libcli11-dev", "nlohmann-json3-dev", "libprotozero-dev"]


def output(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def of_package(package: str) -> tuple[str, str]:
    """Source package and its version of an installed package."""
    source, version = output("dpkg-query", "-W", "-f", "${source:Package} ${source:Version}\n", package).splitlines()[0].split()
    return source, version


def parts_of(build: pathlib.Path) -> set[tuple[str, str]]:
    """Source packages whose archives are on the link line of a build of the static file, or whose headers are compiled in."""
    line = output("ninja", "-C", str(build), "-t", "commands", "bin/fastsdt-static").splitlines()[-1]
    compiler = line.split()[2] if line.startswith(": &&") else line.split()[0]
    found = {of_package(name) for name in HEADERS_ONLY}
    archives = {os.path.basename(word) for word in re.findall(r"\S+\.a\b", line)} | {"libc.a", "libstdc++.a", "libgcc.a"}
    own = {os.path.basename(path) for path in output("ninja", "-C", str(build), "-t", "targets", "all").split() if path.endswith(".a:")}
    for name in sorted(archives - {one.rstrip(":") for one in own}):
        if name in FROM_SOURCE:
            found.add(of_package(FROM_SOURCE[name]))
            continue
        path = output(compiler, f"-print-file-name={name}").strip()
        if not os.path.isabs(path):  # of another architecture, taken from Debian's packages: the version is this machine's suite's
            path = output("gcc", f"-print-file-name={name}").strip()
        owner = subprocess.run(["dpkg", "-S", os.path.realpath(path)], capture_output=True, text=True).stdout.split(": ")[0].split(",")[0]
        if not owner:
            sys.exit(f"sbom.py: {name} is of no package ({path})")
        found.add(of_package(owner))
    return found


def page_parts(tree: pathlib.Path) -> set[tuple[str, str]]:
    """What the page of `fastsdt-trace report` has of others: its lock file names it."""
    text = (tree / "tools/fastsdt-trace/page/parts/LICENSES.txt").read_text()
    return set(re.findall(r"^(?:@[\w.-]+/)?([\w.-]+) (\d+\.\d+\.\d+)", text, re.M))


def package(identity: str, name: str, version: str, reference: str, **more) -> Package:
    return Package(spdx_id=identity, name=name, version=version, download_location=SpdxNoAssertion(), license_concluded=SpdxNoAssertion(),
                   copyright_text=SpdxNoAssertion(), license_declared=SpdxNoAssertion(),
                   external_references=[ExternalPackageRef(ExternalPackageRefCategory.PACKAGE_MANAGER, "purl", reference)], **more)


def main() -> None:
    folder, version, url = pathlib.Path(sys.argv[1]), sys.argv[2], sys.argv[3]
    out = folder / f"fastsdt-{version}"
    made = datetime.datetime.fromtimestamp(int(os.environ["SOURCE_DATE_EPOCH"]), datetime.timezone.utc).replace(tzinfo=None)
    files, relations, packages, sums = [], [], {}, []
    for path in sorted(out.iterdir()):
        if path.name in ("SHA256SUMS", "sbom.spdx.json"):
            continue
        data = path.read_bytes()
        sums.append(hashlib.sha1(data).hexdigest())
        identity = "SPDXRef-File-" + re.sub(r"[^\w.]", "-", path.name).replace("_", "-")
        files.append(File(name=f"./{path.name}", spdx_id=identity, license_concluded=SpdxNoAssertion(), copyright_text=SpdxNoAssertion(),
                          checksums=[Checksum(ChecksumAlgorithm.SHA1, sums[-1]),
                                     Checksum(ChecksumAlgorithm.SHA256, hashlib.sha256(data).hexdigest())]))
        relations.append(Relationship("SPDXRef-fastsdt", RelationshipType.CONTAINS, identity))
        build = folder / "source/build/static" / path.name.rpartition("-")[2]
        if path.name.startswith(f"fastsdt-{version}-") and (build / "build.ninja").exists():
            parts = [("deb/debian", *part) for part in parts_of(build)] + [("npm", *part) for part in page_parts(folder / "source")]
            for kind, name, of in sorted(parts):
                key = "SPDXRef-" + re.sub(r"[^\w.]", "-", f"{kind}-{name}").replace("_", "-")
                packages[key] = package(key, name, of, f"pkg:{kind}/{name}@{of}", files_analyzed=False)
                relations.append(Relationship(identity, RelationshipType.STATIC_LINK, key))
    whole = package("SPDXRef-fastsdt", "fastsdt", version, f"pkg:generic/fastsdt@{version}", files_analyzed=True,
                    verification_code=PackageVerificationCode(hashlib.sha1("".join(sorted(sums)).encode()).hexdigest()))
    relations.append(Relationship("SPDXRef-DOCUMENT", RelationshipType.DESCRIBES, "SPDXRef-fastsdt"))
    document = Document(CreationInfo(spdx_version="SPDX-2.3", spdx_id="SPDXRef-DOCUMENT", name=f"fastsdt-{version}",
                                     document_namespace=f"{url}/spdx/fastsdt-{version}-{sums[0]}",
                                     creators=[Actor(ActorType.TOOL, "fastsdt packaging/sbom.py")], created=made),
                        packages=[whole, *packages.values()], files=files, relationships=relations)
    wrong = validate_full_spdx_document(document)
    if wrong:
        sys.exit("sbom.py: " + "\n".join(message.validation_message for message in wrong))
    write_file(document, str(out / "sbom.spdx.json"), validate=False)


main()
