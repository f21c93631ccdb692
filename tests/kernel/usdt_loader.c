// SPDX-License-Identifier: BSD-2-Clause
// libbpf's own USDT attach on fastsdt sites: `usdt_loader usdt_count.bpf.o`. One line per check, `ok ...` or `FAIL ...`.
// On a kernel that optimizes nop10 every site of nop1+nop10 has to end as the kernel's call; on others, at the nop1, none does.
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fastsdt.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

typedef void Site(void);
extern Site *const aligned_sites[4096], *const unaligned_sites[36];
enum { Aligned = 4096, Unaligned = 36, First_offset = 4060 };
static const uint8_t nop1_nop10[] = {0x90, 0x66, 0x2e, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0};

static struct bpf_program* program;
static long* totals;
static char path[4096];
static int failed, optimizes;

static void say(int good, const char* format, ...)
{
    va_list args;
    va_start(args, format);
    printf(good ? "ok " : "FAIL ");
    vprintf(format, args);
    putchar('\n');
    va_end(args);
    failed |= !good;
}

// The nop10 of the site that begins at, or a little behind, a function's first byte.
static const uint8_t* nop10_of(Site* function)
{
    const uint8_t* at = (const uint8_t*)function;
    while (memcmp(at, nop1_nop10, sizeof nop1_nop10) != 0)
        at++;
    return at + 1;
}

// lea -0x80(%rsp),%rsp; call
static int is_call(const uint8_t* at)
{
    return memcmp(at, (uint8_t[]){0x48, 0x8d, 0x64, 0x24, 0x80, 0xe8}, 6) == 0;
}

static struct bpf_link* attach(const char* provider, const char* name)
{
    memset(totals, 0, 4 * sizeof *totals);
    return bpf_program__attach_usdt(program, -1, path, provider, name, NULL);
}

static const uint8_t* all[Aligned];
static void every_offset(void)
{
    int calls = 0, crossing = 0, offsets = 0;
    static char seen[4096];
    for (int i = 0; i < Aligned; i++) {
        all[i] = nop10_of(aligned_sites[i]);
        seen[(uintptr_t)aligned_sites[i] % 4096] = 1;
        crossing += (uintptr_t)all[i] % 4096 > 4086;
    }
    for (int i = 0; i < 4096; i++)
        offsets += seen[i];
    say(offsets == 4096 && crossing == 0,
        "code before a site ends at %d offsets of a page; nop10s that cross a page: %d", offsets, crossing);
    struct bpf_link* link = attach("aligned", "all");
    if (!link && errno == E2BIG) { // without BPF cookies, before 5.15, libbpf has a table of 1,024 sites
        printf("SKIP attach to %d sites: %s\n", Aligned, strerror(errno));
        return;
    }
    if (!link) {
        say(0, "attach to the aligned sites: %s", strerror(errno));
        return;
    }
    for (int round = 0; round < 2; round++)
        for (int i = 0; i < Aligned; i++)
            aligned_sites[i]();
    for (int i = 0; i < Aligned; i++)
        calls += is_call(all[i]);
    say(totals[0] == 2 * Aligned, "aligned sites attached: %d, hits %ld of %d", Aligned, totals[0], 2 * Aligned);
    say(calls == (optimizes ? Aligned : 0), "aligned sites optimized: %d", calls);
    bpf_link__destroy(link);
    calls = 0;
    for (int i = 0; i < Aligned; i++)
        calls += is_call(all[i]) || all[i][-1] != 0x90;
    say(calls == 0, "after the detach, sites that are still patched: %d", calls);
}

__attribute__((noinline, noipa)) static void with_arguments(long a, int b)
{
    FASTSDT(tracers, arg, a, b);
}

static void arguments(void)
{
    long first = 0, second = 0;
    struct bpf_link* link = attach("tracers", "arg");
    if (!link) {
        say(0, "attach to the site with arguments: %s", strerror(errno));
        return;
    }
    for (int i = 1; i <= 100; i++) {
        // The first hit comes from the breakpoint, the others from the call where the kernel makes one.
        with_arguments(0x100000000l + i, -i);
        first += 0x100000000l + i;
        second -= i;
        if (totals[1] != first || totals[2] != second || totals[3]) {
            say(0, "arguments at hit %d: sums %ld and %ld, not %ld and %ld, unread %ld", i, totals[1], totals[2], first,
                second, totals[3]);
            bpf_link__destroy(link);
            return;
        }
    }
    bpf_link__destroy(link);
    say(1, "arguments right in %d hits, the first and the later ones", 100);
}

static void without_alignment(void)
{
    int refused = 0, wrong = 0;
    char offsets[512] = "";
    for (int i = 0; i < Unaligned; i++) {
        char name[16];
        snprintf(name, sizeof name, "at%d", First_offset + i);
        struct bpf_link* link = attach("unaligned", name);
        const uint8_t* nop10 = (const uint8_t*)unaligned_sites[i] + 1;
        wrong += (uintptr_t)nop10 % 4096 != (unsigned)(First_offset + i) % 4096;
        // Refused where fewer than ten bytes are left in the page, if the kernel optimizes and libbpf goes to the nop10.
        wrong += (link == NULL) != (optimizes && First_offset + i > 4086);
        if (!link) {
            refused++;
            snprintf(offsets + strlen(offsets), sizeof offsets - strlen(offsets), " %d", First_offset + i);
            continue;
        }
        unaligned_sites[i]();
        wrong += totals[0] != 1;
        bpf_link__destroy(link);
    }
    say(wrong == 0, "without the alignment, nop10 at page offsets %d to 4095: cannot be attached: %d%s%s", First_offset,
        refused, refused ? ", at offsets" : "", offsets);
    struct bpf_link* link = attach("unaligned", "all");
    say((link == NULL) == optimizes, "without the alignment, all %d sites as one probe: %s", Unaligned,
        link ? "attached" : strerror(errno));
    bpf_link__destroy(link);
}

int main(int argc, char** argv)
{
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (argc != 2)
        return fprintf(stderr, "usage: usdt_loader usdt_count.bpf.o\n"), 2;
    ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
    if (length < 0)
        return perror("/proc/self/exe"), 2;
    errno = 0;
    optimizes = syscall(336) < 0 && errno == EPROTO; // the system call `uprobe`, from outside a trampoline
    // Before 6.6 (uprobe_multi) libbpf needs one descriptor or two for each site.
    struct rlimit files = {3 * Aligned, 3 * Aligned};
    if (setrlimit(RLIMIT_NOFILE, &files))
        return perror("setrlimit"), 2;
    struct bpf_object* object = bpf_object__open_file(argv[1], NULL);
    if (!object || bpf_object__load(object)) {
        if (errno == E2BIG) // an attribute of bpf() that the kernel does not know: 5.10 and older
            return printf("SKIP this libbpf loads no program here: %s\n", strerror(errno)), 77;
        return perror("loading the BPF program"), 2;
    }
    program = bpf_object__find_program_by_name(object, "count");
    struct bpf_map* map;
    bpf_object__for_each_map(map, object)
    {
        size_t size;
        const char* name = bpf_map__name(map);
        if (strlen(name) > 4 && strcmp(name + strlen(name) - 4, ".bss") == 0)
            totals = bpf_map__initial_value(map, &size);
    }
    if (!program || !totals)
        return fprintf(stderr, "the BPF object is not usdt_count\n"), 2;
    printf("libbpf %s, kernel %s nop10\n", libbpf_version_string(), optimizes ? "optimizes" : "does not optimize");
    every_offset();
    arguments();
    without_alignment();
    return failed;
}
