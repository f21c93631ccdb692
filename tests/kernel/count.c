// SPDX-License-Identifier: BSD-2-Clause
// Runs a program under uprobes and says whether every one was hit as often as the program says:
//
//   count NAME FILE OFFSETS COMMAND...
//
// OFFSETS are file offsets in FILE with commas between, r before one for a return probe; "-": no probe, and the command's
// exit status alone counts. The command prints `hits N`. Prints `ok NAME: ...` or `FAIL NAME: ...`. It stands alone, so that it
// runs where our tools do not: in a guest of another architecture, without a shell.
#define _GNU_SOURCE
#include "uprobe.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { Max_probes = 64 };
static const char* name;

static int bad(const char* what, const char* detail)
{
    printf("FAIL %s: %s %s\n", name, what, detail);
    return 1;
}

int main(int argc, char** argv)
{
    if (argc < 5)
        return fprintf(stderr, "usage: count NAME FILE OFFSETS COMMAND...\n"), 2;
    setvbuf(stdout, NULL, _IOLBF, 0);
    name = argv[1];
    const char* file = argv[2];
    int cpus = sysconf(_SC_NPROCESSORS_ONLN), fds[Max_probes][16], probes = 0, type = uprobe_type();
    if (cpus > 16)
        return bad("more than 16 processors", "");
    if (type < 0)
        return bad("no uprobes", "");
    // The kernel looks at the instruction only where the file is mapped: a refusal has to show itself here.
    int fd = open(file, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || mmap(NULL, lseek(fd, 0, SEEK_END), PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0) == MAP_FAILED)
        return bad(file, strerror(errno));
    for (char* word = strtok(argv[3], ","); word && strcmp(word, "-") != 0; word = strtok(NULL, ",")) {
        int on_return = *word == 'r';
        if (probes == Max_probes)
            return bad("too many probes", "");
        uint64_t offset = strtoull(word + on_return, NULL, 0);
        for (int cpu = 0; cpu < cpus; cpu++) // for every process on every processor: children count too
            if ((fds[probes][cpu] = open_uprobe(type, file, offset, on_return, -1, cpu)) < 0)
                return bad(word, strerror(errno));
        probes++;
    }

    int ends[2], status;
    if (pipe2(ends, O_CLOEXEC) < 0)
        return bad("pipe", strerror(errno));
    pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], 1);
        dup2(ends[1], 2);
        execv(argv[4], argv + 4);
        perror(argv[4]);
        _exit(127);
    }
    close(ends[1]);
    FILE* out = fdopen(ends[0], "r");
    char line[512], last[512] = "";
    unsigned long long wanted = 0;
    while (fgets(line, sizeof line, out)) {
        line[strcspn(line, "\n")] = 0;
        sscanf(line, "hits %llu", &wanted);
        strcpy(last, line);
    }
    if (waitpid(child, &status, 0) != child || status != 0) {
        char how[64];
        snprintf(how, sizeof how, "the program %s %d:", WIFSIGNALED(status) ? "was killed by signal" : "ended with",
                 WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
        return bad(how, last);
    }
    if (probes && !wanted)
        return bad("the program does not say how many hits:", last);
    for (int i = 0; i < probes; i++) {
        unsigned long long hits = 0, here;
        for (int cpu = 0; cpu < cpus; cpu++)
            hits += read(fds[i][cpu], &here, sizeof here) == sizeof here ? here : 0;
        if (hits != wanted) {
            printf("FAIL %s: probe %d: %llu hits, expected %llu\n", name, i, hits, wanted);
            return 1;
        }
    }
    if (probes)
        printf("ok %s: %llu hits at each of %d\n", name, wanted, probes);
    else
        printf("ok %s: %s\n", name, last);
    return 0;
}
