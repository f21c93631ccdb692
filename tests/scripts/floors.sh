#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# A floor of the house includes only floors below it (docs/architecture.md), every folder that is committed is in the table of rooms
# there, and nothing that is committed leads elsewhere: FetchContent cannot copy a link to nothing.
. "$FASTSDT_SOURCE/tests/common.sh"
need python3
floors=$FASTSDT_SOURCE/tests/scripts/floors.py
python3 "$floors" "$FASTSDT_SOURCE" >log || fail "$(cat log)"
# It can fail: an arrow up within a house, and one between two.
for change in 'lib/base/printable.cpp report/plan.h' 'engine/script/parser.cpp code/stubs.h' 'lib/elf/image.cpp session.h'; do
    read -r file header <<<"$change"
    rm -rf tree && mkdir tree
    for house in lib reader engine uprobes linker probes include api tools docs; do cp -r "$FASTSDT_SOURCE/$house" tree/; done
    echo "#include \"$header\"" >>"tree/$file"
    if python3 "$floors" tree >log; then fail "$file may include $header"; fi
    matches "^$file:.*includes .*$header" <log || fail "not named: $(cat log)"
done

[ -e "$FASTSDT_SOURCE/.git" ] && have git || exit 0 # a tarball has what was committed only
unknown() { # what is committed, by `git ls-files -s`, but in no room
    awk '$1 == 120000 { print "link " $4 }' committed
    awk '{ print $4 }' committed | sed -n 's,/.*,,p' | sort -u | grep -v '^\.' | while read -r folder; do
        grep -qF "\`$folder/" "$FASTSDT_SOURCE/docs/architecture.md" || echo "folder $folder"
    done
    awk '{ print $4 }' committed | grep -v / | grep -vE '^[.]|^(CMakeLists.txt|CMakePresets.json|LICENSE|[A-Z]+[.]md)$' || true
}
git -C "$FASTSDT_SOURCE" ls-files -s >committed || fail "git cannot read the sources' repository"
expect "committed, but in no room" "$(unknown)" ""
rm -rf tree && mkdir -p tree/lib tree/stray && git -C tree init -q
touch tree/lib/a tree/stray/b tree/log && ln -s nowhere tree/lib/c && git -C tree add . && git -C tree ls-files -s >committed
expect "committed, but in no room" "$(unknown)" "$(printf '%s\n' 'link lib/c' 'folder stray' log)"
