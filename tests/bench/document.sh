#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Makes the performance document and its pictures again from the recorded run: no figure in them was typed by hand.
. "$FASTSDT_SOURCE/tests/common.sh"
docs=$FASTSDT_SOURCE/docs
python=python3
$python -c 'import matplotlib' 2>/dev/null || python=/usr/bin/python3
pictures=
$python -c 'import matplotlib' 2>/dev/null || pictures=--no-pictures
rm -rf new
mkdir new
cp "$docs/overview.md" new/
$python "$FASTSDT_SOURCE/bench/report.py" "$docs/recorded/performance.json" new/performance.md new/recorded new/overview.md $pictures ||
    fail "report.py"
diff -u "$docs/overview.md" new/overview.md ||
    fail "docs/overview.md has other figures than docs/recorded/performance.json: run scripts/bench.sh --redraw"
diff -u "$docs/recorded/performance.md" new/recorded/performance.md ||
    fail "docs/recorded/performance.md is not what bench/report.py makes of docs/recorded/performance.json"
diff -u "$docs/performance.md" new/performance.md || fail "docs/performance.md is not what bench/report.py makes of docs/recorded/performance.json"
for picture in $(sed -n 's/^!\[.*(\(recorded\/\)\{0,1\}\(.*\.svg\))$/\2/p' new/performance.md new/recorded/performance.md); do
    [ -n "$pictures" ] || [ -e "new/recorded/$picture" ] || fail "the document shows $picture, which nothing draws"
    [ -e "$docs/recorded/$picture" ] || fail "docs/recorded/$picture is missing"
done
[ -z "$pictures" ] || { echo "matplotlib is not installed (install-deps.sh bench does that): no pictures drawn" && exit; }
# Another version of matplotlib writes other bytes for the same picture: there the pictures are only drawn.
recorded=$(sed -n 's/^ *"matplotlib": "\(.*\)".*/\1/p' "$docs/recorded/performance.json")
here=$($python -c 'import matplotlib; print(matplotlib.__version__)')
if [ "$here" != "$recorded" ]; then
    echo "the pictures were recorded with matplotlib $recorded, here is $here: drawn, not compared"
    exit 0
fi
for picture in new/recorded/*.svg; do
    cmp "$docs/recorded/${picture##*/}" "$picture" || fail "docs/recorded/${picture##*/} is not what bench/pictures.py draws"
done
