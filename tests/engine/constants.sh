#!/bin/bash
# A program takes the rights of its constant data away, or unmaps it, and hands out addresses there: a stub reads what the file has, and the
# program goes on as without a tracer. Also where the constants stand beside the code, and where the file's name leads to another by now.
. "$FASTSDT_SOURCE/tests/common.sh"
. "$FASTSDT_SOURCE/tests/engine/common.sh"
need gcc setpriv python3
need_attachable
user_folder
cat >main.c <<'END_OF_C'
#define _GNU_SOURCE
#include <fastsdt.h>
#include <stdio.h>
#include <sys/mman.h>
#ifndef SIZE
#define SIZE 65536
#endif
__attribute__((aligned(SIZE))) static const char text[SIZE] = "constant text";
int main(void) /* a letter for each line */
{
    char line[16];
    while (fgets(line, sizeof line, stdin)) {
        if ((line[0] == 'n' && mprotect((void*)text, sizeof text, PROT_NONE) != 0) || (line[0] == 'x' && mprotect((void*)text, sizeof text, PROT_EXEC) != 0)
            || (line[0] == 'u' && munmap((void*)text, sizeof text) != 0))
            return 2;
        FASTSDT(app, line, text);
        puts("did");
        fflush(stdout);
    }
    return 0;
}
END_OF_C
# mapped: bytes by name, of all that is mapped.
mapped() { python3 -c "import sys, collections
sizes = collections.Counter()
for line in open(f'/proc/{sys.argv[1]}/maps'):
    words = line.split(maxsplit=5)
    start, end = (int(x, 16) for x in words[0].split('-'))
    sizes[words[5].strip() if len(words) == 6 else ''] += end - start
for name in sorted(sizes):
    print(sizes[name], name)" "$pid"; }
# tell LETTER
tell() { echo "$1" >&3 && read -r line <&4 && expect "the program" "$line" did; }
# run FLAGS LETTERS AGAIN: a text is counted for each letter, and nothing is left. AGAIN: whether its constants come to be mapped once more.
run() {
    rm -f app
    gcc -O2 -I"$INCLUDE" $1 main.c -o app
    rm -f in answers report
    driven ./app
    did
    [ "$3" = yes ] || { cp main.c other && mv other app; }
    mapped >before
    attach 'usdt:*:app:line { @[str(arg0)] = count(); @all = count(); }'
    for letter in $2; do tell "$letter"; done
    mapped >while
    grep -qF "/app" while || fail "$(cat while)"
    if grep -F "/app" while | diff -q - <(grep -F "/app" before) >/dev/null; then again=no; else again=yes; fi
    expect "$1, $2: mapped once more" "$again" "$3"
    kill -INT $tracer
    report
    mapped >after
    exec 3>&- 5<&-
    wait $pid || fail "$1, $2: the program has ended: $?"
    expect "$1, $2: texts" "$(sed -n 's/^@\[constant text\]: //p' maps)" "$(wc -w <<<"$2")"
    grep -qx "@all: $(wc -w <<<"$2")" maps || fail "$1, $2: $(cat maps err)"
    [[ $2 == *u* ]] || diff before after || fail "$1, $2: something is left mapped"
}
for flags in -Wl,-z,separate-code -Wl,-z,noseparate-code -static -no-pie; do
    run $flags "r n r r" yes
    run $flags "r x r r" yes
done
run "-DSIZE=4096 -Wl,-z,separate-code" "r n r r" yes # as small as what the file's head has
ld=$(compgen -c ld.lld | sort -V | tail -n 1 || true) # its first part has head and constants
if [ -n "$ld" ]; then
    mkdir lld
    ln -s "$(command -v "$ld")" lld/ld.lld
    run "-fuse-ld=lld -B./lld" "r n r r" yes
fi
run -Wl,-z,separate-code "r u r r" yes
run -Wl,-z,separate-code "r r" no # its name leads to another file
# A program that traces itself.
if [ -e "$FASTSDT_BUILD/lib/libfastsdt-trace.so" ]; then
    cat >self.c <<'END_OF_C'
#include <fastsdt.h>
#include <fastsdt/trace.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>
__attribute__((aligned(65536))) static const char text[65536] = "constant text";
__attribute__((noinline)) static void hit(const char* at) { FASTSDT(app, self, at); }
int main(void)
{
    fastsdt_trace_error error = {0};
    fastsdt_trace* trace = fastsdt_trace_open(getpid(), &error);
    fastsdt_trace_attachment* all = trace ? fastsdt_trace_attach(trace, "usdt:*:app:self { @[str(arg0)] = count(); }", &error) : NULL;
    fastsdt_trace_maps* maps;
    if (!all)
        return puts(error.text), 2;
    hit(text);
    if (mprotect((void*)text, sizeof text, PROT_NONE) != 0)
        return 3;
    hit(text);
    maps = fastsdt_trace_maps_read(all, &error);
    for (size_t i = 0; i < fastsdt_trace_maps_get(maps, 0)->entries; ++i)
        printf("%s %ld\n", fastsdt_trace_maps_entry(maps, 0, i)->key[0].text, (long)fastsdt_trace_maps_entry(maps, 0, i)->value.number);
    fastsdt_trace_maps_free(maps);
    return fastsdt_trace_close(trace, &error);
}
END_OF_C
    gcc -O2 -DFASTSDT_BOUND=4 -I"$INCLUDE" self.c -o self -L"$FASTSDT_BUILD/lib" -lfastsdt-trace -Wl,-rpath,"$FASTSDT_BUILD/lib"
    expect "itself" "$(./self)" "constant text 2"
fi
