# shellcheck shell=bash
# SPDX-License-Identifier: BSD-2-Clause
# Sourced by scripts/package.sh: the recipe for Conan.
if [ $until != source ]; then
    needs python3
    echo "== Conan"
    python3 -m venv "$work/venv"
    logged conan-install "$work/venv/bin/pip" install conan==2.34.0
    export CONAN_HOME=$work/conan
    conan=$work/venv/bin/conan
    logged conan-profile "$conan" profile detect
    # Nothing else is needed, so no server is asked. From the tarball's files, as somebody has them who got it.
    tar -C "$work" -xf "$out/$tree.tar.gz"
    logged conan-headers "$conan" create "$work/$tree/packaging/conan" --no-remote --build=missing
    echo "the headers: created and used"
    if [ $until = proof ]; then
        logged conan-tools "$conan" create "$work/$tree/packaging/conan" --no-remote -o 'fastsdt/*:with_tools=True'
        folder=$("$conan" cache path "$("$conan" list 'fastsdt/*:*' --format=json | python3 -c 'import json, sys
for reference, recipe in json.load(sys.stdin)["Local Cache"].items():
    for revision in recipe["revisions"].values():
        for package, what in revision["packages"].items():
            if what["info"].get("options", {}).get("with_tools") == "True":
                print(f"{reference}:{package}")')")
        "$folder/bin/fastsdt-check" "$(find "$CONAN_HOME" "$work/$tree/packaging/conan" -name app -type f | sed -n 1p)" ||
            fail "the tools of the package"
        echo "the tools: created and used"
    fi
fi
