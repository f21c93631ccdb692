#!/bin/bash
# ustack(dwarf) in the kernel's engine: the same stacks.
engine=kernel
. "$FASTSDT_SOURCE/tests/engine/ustack_dwarf.sh"
