# Sourced by scripts that trace unwound.c: what its calls are, by `@[ustack(dwarf)] = count()` and --folded.
UNWOUND_OPTIONS="-O2 -fomit-frame-pointer -fno-optimize-sibling-calls -pthread"
# folded [FILE]: what is in out, or in the file, without the frames of the C library below main() or a thread's first function, and those between
# sorts() and compare().
folded() {
    sed -En 's/^(.*;)?((main|once|on_own_stack);.* [0-9]+)$/\2/p' "${1:-out}" |
        sed -E 's/;sorts;.*;compare;/;sorts;compare;/; s/;raises;.*;handler;/;raises;handler;/' | sort
}
ways="all;aligned;plain;leaf
all;deep;deep;deep;deep;plain;leaf
all;large;plain;leaf
all;plain;leaf
all;raises;handler;plain;leaf
all;sorts;compare;plain;leaf
all;variable;plain;leaf"
# each BELOW COUNT: the ways from there, so often.
each() { printf '%s\n' "$ways" | sed "s/^/$1;/; s/\$/ $2/"; }
