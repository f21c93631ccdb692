#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# `filecheck.sh FILECHECK ENDS CASE NAME,...`: runs FileCheck with each NAME, followed by each of ENDS (",-X86,-GCC"), as a prefix.
# For lit, which treats groups in a substitution differently from version to version.
IFS=, read -ra names <<<"$4"
IFS=, read -ra ends <<<"$2"
prefixes=
for name in "${names[@]}"; do
    for end in "${ends[@]}"; do prefixes=$prefixes,$name$end; done
done
exec "$1" "$3" --allow-unused-prefixes --allow-deprecated-dag-overlap --dump-input=fail --check-prefixes="${prefixes#,}"
