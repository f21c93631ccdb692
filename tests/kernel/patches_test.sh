#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The patches in kernel/patches are mails that `git am` and the kernel's developers take. Whether they apply and work is what
# kernel/build.sh tells; the answers of the kernels that it built are among tests/kernel/results, which kernel.recorded compares.
. "$FASTSDT_SOURCE/tests/common.sh"
need git
found=0
for patch in "$FASTSDT_SOURCE"/kernel/patches/[0-9]*.patch; do
    name=${patch##*/}
    mail=$(git mailinfo message diff <"$patch") || fail "$name is no mail"
    subject=$(sed -n 's/^Subject: //p' <<<"$mail")
    grep -qE '^(arm64|uprobes/x86): .*[A-Z]' <<<"$subject" || fail "$name: the subject names no subsystem: $subject"
    [ ${#subject} -le 75 ] || fail "$name: the subject has ${#subject} characters"
    if grep -q TODO message; then fail "$name: the message is not written"; fi
    grep -qE '^Signed-off-by: .* <.*@.*>$' message || fail "$name has no Signed-off-by"
    ! awk 'length > 75 && !/^(    |Signed|Link)/' message | matches . || fail "$name: the message has lines of more than 75 characters"
    git apply --numstat <diff >files || fail "$name: git cannot parse the patch"
    ! grep -nE '^\+.*[[:blank:]]$|^\+ {8}' diff || fail "$name adds blanks at the end of a line, or in place of a tab"
    ! grep '^+' diff | expand | awk 'length > 101' | matches . || fail "$name adds lines of more than 100 columns"
    found=$((found + 1))
done
expect "patches" "$found" "$(grep -c '^| `\(arm64\|uprobes/x86\): ' "$FASTSDT_SOURCE/kernel/README.md")"
