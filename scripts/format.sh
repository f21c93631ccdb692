#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Formats C and C++ by .clang-format; `format.sh --check` changes nothing, names what would change and exits 1.
# Needs clang-format 19, because other versions format differently. FASTSDT_CLANG_FORMAT names another program.
set -euo pipefail
cd "$(dirname "$0")/.."
format=${FASTSDT_CLANG_FORMAT:-clang-format-19}
case ${1:-} in "" | --check) ;; *) sed -n '3,/^[^#]/s/^# //p' "$0" >&2; exit 2 ;; esac
command -v "$format" >/dev/null || { echo "format.sh: $format is not installed" >&2; exit 2; }
# Not formatted: the headers of macros full of assembly, whose columns are set by hand; test inputs, whose lines are part
# of the expectation; copies of kernel declarations; what is the kernel's, by the kernel's style.
by_hand='^include/(fastsdt|usdt|sys/sdt)\.h$|^tests/fastprobe/cases/|^tests/kernel_source/stubs/|^tests/header/|^kernel/recognize\.c$'
files=$(git ls-files --cached --others --exclude-standard -- '*.c' '*.h' '*.cpp' | grep -vE "$by_hand")
if [ -z "${1:-}" ]; then "$format" -i $files; else "$format" --dry-run --Werror $files; fi
