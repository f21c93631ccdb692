// SPDX-License-Identifier: BSD-2-Clause
// hits BPF_OBJECT: reads lines "FILE PROVIDER COMMAND NAME..." from standard input. For each, attaches libbpf to the names
// in FILE, runs COMMAND (one word, @ for a blank) and prints "name=hits" for each name, or "name=error" where the attach failed. One line out per
// line in, so that a whole matrix pays for loading once.
#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int quiet(enum libbpf_print_level level, const char* format, va_list args)
{
    if (level == LIBBPF_WARN && getenv("HITS_VERBOSE"))
        return vfprintf(stderr, format, args);
    return 0;
}

int main(int argc, char** argv)
{
    struct bpf_object* object;
    struct bpf_program* program;
    char line[4096];
    int map;

    libbpf_set_print(quiet);
    object = argc == 2 ? bpf_object__open_file(argv[1], NULL) : NULL;
    if (!object || bpf_object__load(object)) {
        fprintf(stderr, "hits: cannot load the BPF program: %s\n", strerror(errno));
        return 1;
    }
    program = bpf_object__find_program_by_name(object, "hit");
    map = bpf_object__find_map_fd_by_name(object, "hits");
    setvbuf(stdout, NULL, _IOLBF, 0);
    while (fgets(line, sizeof line, stdin)) {
        char *file = strtok(line, " \n"), *provider = strtok(NULL, " \n"), *command = strtok(NULL, " \n"), *name;
        struct bpf_link* links[64];
        const char* names[64];
        unsigned n = 0, i;

        if (!file || !provider || !command)
            return 2;
        while (n < 64 && (name = strtok(NULL, " \n"))) {
            LIBBPF_OPTS(bpf_usdt_opts, options, .usdt_cookie = n);
            __u64 zero = 0;

            bpf_map_update_elem(map, &n, &zero, 0);
            names[n] = name;
            links[n] = bpf_program__attach_usdt(program, -1, file, provider, name, &options);
            if (!links[n])
                printf("(%s: %s) ", name, strerror(errno));
            ++n;
        }
        for (i = 0; command[i]; ++i)
            if (command[i] == '@')
                command[i] = ' ';
        if (system(command) != 0)
            printf("(%s failed) ", command);
        for (i = 0; i < n; ++i) {
            __u64 count = 0;

            bpf_map_lookup_elem(map, &i, &count);
            if (links[i])
                printf("%s=%llu ", names[i], (unsigned long long)count);
            else
                printf("%s=error ", names[i]);
            bpf_link__destroy(links[i]);
        }
        printf("\n");
    }
    return 0;
}
