#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The table of layouts in docs/format.md is that of FASTSDT_LAYOUTS in fastsdt.h: id, name, bytes, patchable bytes. What it has besides are the
# ids that are no row there.
. "$FASTSDT_SOURCE/tests/common.sh"
need gcc
cat >rows.c <<'END'
#include <fastsdt/note.h>
#include <stdio.h>
static void row(int id, int offset, int length, const char *name, const unsigned char *bytes, unsigned size)
{
    unsigned i;
    printf("| %d | %s | `", id, name);
    for (i = 0; i < size; i++)
        printf("%02x%s", bytes[i], i + 1 == size ? "`" : i + 1 == (unsigned)offset ? "` `" : " ");
    printf(" | %d, %d |\n", offset, length);
    if (size != (unsigned)(offset + length))
        printf("%s: %u bytes, and the shape says %d\n", name, size, offset + length);
}
#define PUT(shape, name, bytes, size) row(shape, name, bytes, size)
#define ROW(layout, rewritten, text) { static const unsigned char bytes[] = {FASTSDT_BYTES_##layout}; PUT(FASTSDT_SHAPE_##layout, text, bytes, sizeof bytes); }
int main(void)
{
    FASTSDT_LAYOUTS(ROW)
    printf("| %d | other |\n| %d | push |\n| %d | stp |\n", FASTSDT_LAYOUT_OTHER, FASTSDT_LAYOUT_PUSH, FASTSDT_LAYOUT_STP);
    return 0;
}
END
gcc -Wall -Werror -I"$INCLUDE" rows.c -o rows || fail "FASTSDT_LAYOUTS"
# compare TABLE: the document's rows, in its order; nop1 is named for all architectures there, and those without fixed bytes by id and name.
compare() {
    sed -n '/^### Layouts/,/^### /s/^| [0-9].*/&/p' "$1" |
        sed -E 's/^\| 1 \| nop \(x86: nop1\) \| .*; x86 `90` \| 0, its length \|$/| 1 | nop1 | `90` | 0, 1 |/; s/^(\| [0-9]+ \| (other|push|stp) \|).*/\1/' | sort >documented
    diff <(./rows | sort) documented
}
[ "$(./rows | wc -l)" -ge 9 ] || fail "$(./rows)"
compare "$FASTSDT_SOURCE/docs/format.md" || fail "docs/format.md has other layouts than fastsdt.h (< header, > document)"
# Other places that name all of them that are nops; nop1 is nop there.
./rows | cut -d' ' -f4 | sed -n 's/^nop1$/nop/; s/+/[+]/; /^nop/p' | while read -r name; do
    for file in docs/json.md docs/tracers.md tests/fastprobe/entries.py; do
        grep -qE -- "(^|[^a-z0-9+])$name([^a-z0-9+]|\$)" "$FASTSDT_SOURCE/$file" || echo "$file has no $name"
    done
done >missing
[ ! -s missing ] || fail "$(cat missing)"
# docs/json.md names the architectures that files may be for.
python3 - "$FASTSDT_SOURCE" <<'END' || fail "docs/json.md has other architectures than lib/base/arch.h"
import re, sys
header, document = (open(f"{sys.argv[1]}/{name}").read() for name in ("lib/base/arch.h", "docs/json.md"))
names = re.findall(r'"(\w+)"', re.search(r"names\[\] = \{(.*?)\}", header, re.S)[1])
sys.exit(len(names) < 5 or set(names) != set(re.search(r"^\| arch \| string \| (.*) \|$", document, re.M)[1].split(", ")))
END
# It can fail: another byte, another id, a row that is gone.
for change in 's/^\(| 2 .*\)40 00/\141 00/' 's/^| 6 /| 7 /' '/^| 4 | nop1/d' 's/^\(| 3 .*\)0, 5/\10, 4/'; do
    sed "$change" "$FASTSDT_SOURCE/docs/format.md" >changed.md
    ! compare changed.md >/dev/null || fail "not seen: $change"
done
