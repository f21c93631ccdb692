/* SPDX-License-Identifier: BSD-2-Clause
 *
 * use TEST [FILE]: libfastsdt where files are not sound, callers are wrong, memory is short and threads are many. Each test prints what
 * tests/reader/use.sh expects.
 */
#include <fastsdt/reader.h>

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fastsdt.h>

FASTSDT_DEFINE_SEMA(wanted);

static __attribute__((noinline)) int probed(int value)
{
    FASTSDT_WITH(default, explicit(wanted), use, own, value);
    return value + 1;
}

static const char* shortened; /* this file loses its end when it is read */

/* Takes the place of the C library's for libfastsdt too. */
ssize_t pread(int file, void* to, size_t size, off_t at);
ssize_t pread(int file, void* to, size_t size, off_t at)
{
    if (shortened && truncate(shortened, 4096) != 0)
        abort();
    return syscall(SYS_pread64, file, to, size, at);
}

static void print(const char* what, const fastsdt_reader* reader, const fastsdt_reader_error* error)
{
    if (reader)
        printf("%s: read\n", what);
    else
        printf("%s: %d|%s|%s|%s\n", what, error->kind, error->where, error->what, error->cure);
}

static void try_options(const char* what, const char* path, const fastsdt_reader_options* options)
{
    fastsdt_reader_error error;
    fastsdt_reader* reader = fastsdt_reader_open(path, options, &error);
    print(what, reader, &error);
    fastsdt_reader_close(reader);
}

static void misuse(const char* path)
{
    fastsdt_reader_options options;
    fastsdt_reader_error error;
    fastsdt_reader* reader;
    struct {
        fastsdt_reader_options known;
        long newer[4];
    } longer;

    memset(&options, 0, sizeof options);
    try_options("no size", path, &options);
    options.size = sizeof options;
    options.flags = 1u << 31;
    try_options("a flag", path, &options);
    options.flags = 0;
    options.kernels = "6.1,nonsense";
    try_options("kernels", path, &options);
    options.kernels = NULL;
    options.size = offsetof(fastsdt_reader_options, kernels); /* as if it had ended there */
    try_options("a shorter structure", path, &options);
    memset(&longer, 0, sizeof longer);
    longer.known.size = sizeof longer;
    try_options("a newer structure", path, &longer.known);
    longer.newer[3] = 1;
    try_options("a newer member", path, &longer.known);
    try_options("no path", NULL, NULL);
    print("no memory", fastsdt_reader_open_memory(NULL, 5, NULL, &error), &error);
    print("an empty vector", fastsdt_reader_open_memory(NULL, 0, NULL, &error), &error);
    print("empty memory", fastsdt_reader_open_memory("", 0, NULL, &error), &error);
    print("no descriptor", fastsdt_reader_open_descriptor(-1, NULL, &error), &error);
    print("no process", fastsdt_reader_open_process(0x7ffffff0, NULL, &error), &error);
    if (fastsdt_reader_open("/nonexistent", NULL, NULL)) /* nobody asks why */
        printf("opened\n");
    fastsdt_reader_close(NULL);
    reader = fastsdt_reader_open(path, NULL, &error);
    if (fastsdt_reader_image_at(reader, 1) || fastsdt_reader_image_at(reader, (size_t)-1)
        || fastsdt_reader_image_at(NULL, 0) || fastsdt_reader_probe_at(NULL, 0)
        || fastsdt_reader_probe_at(fastsdt_reader_image_at(reader, 0), (size_t)-1)
        || fastsdt_reader_argument_at(NULL, 0) || fastsdt_reader_reading_at(NULL, 0)
        || fastsdt_reader_verdict_at(NULL, 0) || fastsdt_reader_function_at(NULL, 0)
        || fastsdt_reader_function_at(fastsdt_reader_image_at(reader, 0), 0) || fastsdt_reader_alias_at(NULL, 0)
        || fastsdt_reader_exit_at(NULL, 0) || fastsdt_reader_kernel_at(NULL, 0)
        || fastsdt_reader_kernel_at(reader, 1000) || fastsdt_reader_trouble_at(NULL, 0)
        || fastsdt_reader_trouble_at(reader, 0) || fastsdt_reader_image_finding_at(NULL, 0)
        || fastsdt_reader_probe_finding_at(NULL, 0) || fastsdt_reader_function_finding_at(NULL, 0)
        || fastsdt_reader_exit_finding_at(NULL, 0))
        printf("something where nothing is\n");
    fastsdt_reader_close(reader);
    if (fastsdt_reader_version() != FASTSDT_VERSION)
        printf("another version\n");
}

/* Files that are refused, archives; by path, and by descriptor or as memory where that differs. */
static void files(char** paths)
{
    fastsdt_reader_error error;
    fastsdt_reader* reader;
    const fastsdt_reader_error* trouble;
    char bytes[4096];
    const char* path;
    for (; (path = *paths); ++paths) {
        const int thin = strstr(path, "thin") != NULL;
        int way;
        for (way = 0; way < (thin ? 3 : 1); ++way) {
            const int file = thin ? open(path, O_RDONLY) : -1;
            const ssize_t size = thin ? read(file, bytes, sizeof bytes) : 0;
            reader = way == 0 ? fastsdt_reader_open(path, NULL, &error)
                : way == 1    ? fastsdt_reader_open_descriptor(file, NULL, &error)
                              : fastsdt_reader_open_memory(bytes, (size_t)size, NULL, &error);
            if (reader)
                printf("%s: %s\n", path, fastsdt_reader_image_at(reader, 0) ? "read" : "no image");
            else
                print(path, reader, &error);
            if ((trouble = fastsdt_reader_trouble_at(reader, 0)))
                printf("  %s|%s\n", trouble->what, trouble->cure);
            fastsdt_reader_close(reader);
            close(file);
        }
    }
}

static size_t probes_of(const fastsdt_reader* reader)
{
    const fastsdt_reader_image* image;
    size_t i, count = 0;
    for (i = 0; (image = fastsdt_reader_image_at(reader, i)); ++i)
        count += image->probes;
    return count;
}

static void shrink(const char* path)
{
    fastsdt_reader_error error;
    fastsdt_reader* reader;
    shortened = path;
    reader = fastsdt_reader_open(path, NULL, &error);
    shortened = NULL;
    if (reader)
        printf("%d probes\n", (int)probes_of(reader));
    else
        print("shortened", NULL, &error);
    fastsdt_reader_close(reader);
}

static void gone(const char* path)
{
    fastsdt_reader_error error;
    fastsdt_reader* reader = fastsdt_reader_open(path, NULL, &error);
    const fastsdt_reader_probe* probe = fastsdt_reader_probe_at(fastsdt_reader_image_at(reader, 0), 0);
    if (truncate(path, 0) != 0 || unlink(path) != 0)
        abort();
    printf("%s:%s\n", probe->provider, probe->name);
    fastsdt_reader_close(reader);
}

/* With every amount of memory it is read, or there is an error and all that was taken is given back. */
static void memory(const char* path, unsigned long step)
{
    unsigned long more;
    int failed = 0, read_once = 0;
    for (more = 0; more < 256ul << 20 && !read_once; more += step) {
        int status;
        pid_t child = fork();
        if (child == 0) {
            fastsdt_reader_options options;
            fastsdt_reader_error error;
            fastsdt_reader* reader;
            struct rlimit limit;
            unsigned long pages = 0;
            FILE* statm = fopen("/proc/self/statm", "r");
            if (!statm || fscanf(statm, "%lu", &pages) != 1)
                _exit(9);
            fclose(statm);
            limit.rlim_cur = limit.rlim_max = pages * 4096 + more;
            setrlimit(RLIMIT_AS, &limit);
            memset(&options, 0, sizeof options);
            options.size = sizeof options;
            options.flags = FASTSDT_READER_FUNCTIONS;
            reader = fastsdt_reader_open(path, &options, &error);
            if (reader)
                _exit(fastsdt_reader_function_at(fastsdt_reader_image_at(reader, 0), 0) ? 2 : 8);
            _exit(error.kind == FASTSDT_READER_MEMORY || (error.kind == FASTSDT_READER_UNUSABLE && *error.what) ? 1
                                                                                                                : 7);
        }
        waitpid(child, &status, 0);
        if (!WIFEXITED(status) || WEXITSTATUS(status) > 2) {
            printf("with %lu bytes more: status %#x\n", more, status);
            return;
        }
        failed += WEXITSTATUS(status) == 1;
        read_once = WEXITSTATUS(status) == 2;
    }
    printf("%s\n", read_once && failed > 10 ? "read, or an error" : "never read, or always");
    fprintf(stderr, "%d failed, read with %lu\n", failed, more);
}

static fastsdt_reader* shared;
static const char* its_path;

static void* look(void* unused)
{
    size_t i, sum = 0;
    fastsdt_reader_error error;
    fastsdt_reader* own = fastsdt_reader_open(its_path, NULL, &error);
    (void)unused;
    for (i = 0; i < 1000; ++i)
        sum += probes_of(shared);
    sum += probes_of(own);
    fastsdt_reader_close(own);
    return (void*)sum;
}

static void threads(const char* path)
{
    pthread_t all[8];
    int i;
    its_path = path;
    shared = fastsdt_reader_open(path, NULL, NULL);
    for (i = 0; i < 8; ++i)
        pthread_create(&all[i], NULL, look, NULL);
    for (i = 0; i < 8; ++i) {
        void* sum;
        pthread_join(all[i], &sum);
        if ((size_t)sum != 1001 * probes_of(shared))
            printf("thread %d: %lu\n", i, (unsigned long)(size_t)sum);
    }
    printf("%d probes\n", (int)probes_of(shared));
    fastsdt_reader_close(shared);
}

static void process(void)
{
    fastsdt_reader_error error;
    const fastsdt_reader_image* image;
    const fastsdt_reader_probe* probe;
    fastsdt_reader* reader;
    size_t i, j;
    _FASTSDT_SEMA_NAME(wanted).active = 3; /* as a tracer does */
    reader = fastsdt_reader_open_process(getpid(), NULL, &error);
    if (!reader)
        print("this process", reader, &error);
    for (i = 0; (image = fastsdt_reader_image_at(reader, i)); ++i)
        for (j = 0; (probe = fastsdt_reader_probe_at(image, j)); ++j)
            if (strcmp(probe->provider, "use") == 0) {
                const unsigned char* here = (const unsigned char*)(size_t)probe->place->runtime;
                printf("%s %s value %d, %s, bytes %s\n", probe->name, probe->argument_string, probe->semaphore_value,
                       probe->place->change_name,
                       memcmp(here, probe->place->bytes, probe->place->byte_count) == 0
                               && memcmp(here, probe->place->live_bytes, probe->place->live_byte_count) == 0
                           ? "as they are here"
                           : "of another place");
            }
    fastsdt_reader_close(reader);
}

int main(int argc, char** argv)
{
    const char* test = argc > 1 ? argv[1] : "";
    if (probed(argc) == 0)
        return 1;
    if (strcmp(test, "misuse") == 0)
        misuse(argv[2]);
    else if (strcmp(test, "files") == 0)
        files(argv + 2);
    else if (strcmp(test, "shrink") == 0)
        shrink(argv[2]);
    else if (strcmp(test, "gone") == 0)
        gone(argv[2]);
    else if (strcmp(test, "memory") == 0)
        memory(argv[2], strtoul(argv[3], NULL, 0));
    else if (strcmp(test, "threads") == 0)
        threads(argv[2]);
    else if (strcmp(test, "process") == 0)
        process();
    else
        return 2;
    return 0;
}
