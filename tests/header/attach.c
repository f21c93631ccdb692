/* attach BPF-OBJECT BINARY PROVIDER:NAME... -- COMMAND...: libbpf's USDT attach on each probe, then the command, then a
 * line per probe: `PROVIDER:NAME hits argc values`. A probe that libbpf refuses: `PROVIDER:NAME refused errno`, status 1.
 * The values are those of the last hit, signed, 64 bits. */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

struct seen {
    long hits, argc, args[12];
};
static int quiet(enum libbpf_print_level level, const char *format, va_list arguments)
{
    return level == LIBBPF_WARN ? vfprintf(stderr, format, arguments) : 0;
}
int main(int argc, char **argv)
{
    static struct seen seen[128];
    struct bpf_link *links[128] = {0};
    int command = 3, status = 0, failed = 0, zero = 0;
    while (command < argc && strcmp(argv[command], "--"))
        command++;
    if (argc < 5 || command - 3 > 128 || command + 1 >= argc) {
        fprintf(stderr, "usage: attach BPF-OBJECT BINARY PROVIDER:NAME... -- COMMAND...\n");
        return 2;
    }
    libbpf_set_print(quiet);
    struct bpf_object *object = bpf_object__open_file(argv[1], NULL);
    if (!object || bpf_object__load(object)) {
        fprintf(stderr, "attach: the BPF program does not load: %s\n", strerror(errno));
        return 3;
    }
    struct bpf_program *program = bpf_object__find_program_by_name(object, "on_probe");
    for (int i = 3; i < command; i++) {
        char *provider = strdup(argv[i]), *name = strrchr(provider, ':');
        LIBBPF_OPTS(bpf_usdt_opts, options, .usdt_cookie = (unsigned long)(i - 3));
        *name++ = 0;
        links[i - 3] = bpf_program__attach_usdt(program, -1, argv[2], provider, name, &options);
        if (!links[i - 3]) {
            printf("%s refused %s\n", argv[i], strerror(errno));
            failed = 1;
        }
        free(provider);
    }
    pid_t child = fork();
    if (child == 0) {
        execv(argv[command + 1], argv + command + 1);
        _exit(127);
    }
    waitpid(child, &status, 0);
    if (status) {
        fprintf(stderr, "attach: the command ended with status %#x\n", status);
        failed = 1;
    }
    int map = bpf_object__find_map_fd_by_name(object, ".bss");
    if (bpf_map_lookup_elem(map, &zero, seen)) {
        fprintf(stderr, "attach: no results: %s\n", strerror(errno));
        return 3;
    }
    for (int i = 3; i < command; i++) {
        if (!links[i - 3])
            continue;
        printf("%s %ld %ld", argv[i], seen[i - 3].hits, seen[i - 3].argc);
        for (long a = 0; a < seen[i - 3].argc && a < 12; a++)
            printf(" %ld", seen[i - 3].args[a]);
        printf("\n");
        bpf_link__destroy(links[i - 3]);
    }
    bpf_object__close(object);
    return failed;
}
