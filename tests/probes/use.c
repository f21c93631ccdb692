/* SPDX-License-Identifier: BSD-2-Clause
 *
 * libfastsdt-probes, rightly and wrongly used: use.sh. Compiled as C89 and as C++ too.
 */
#include <fastsdt/probes.h>

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static fastsdt_probes_error error;

static void die(const char* what)
{
    printf("%s: %d|%s|%s|%s\n", what, error.kind, error.where, error.what, error.cure);
    exit(1);
}

static void refused(const char* what, int is_refused)
{
    if (!is_refused)
        die(what);
    printf("%s: %d|%s|%s|%s\n", what, error.kind, error.where, error.what, error.cure);
}

static fastsdt_probes* provider(unsigned flags)
{
    fastsdt_probes* made = fastsdt_probes_new("shop", flags, &error);
    if (!made)
        die("new");
    return made;
}

static fastsdt_probe* probe(fastsdt_probes* of, const char* name, const char* arguments)
{
    fastsdt_probe* made = fastsdt_probes_add(of, name, arguments, &error);
    if (!made)
        die("add");
    return made;
}

static void load(fastsdt_probes* one)
{
    if (fastsdt_probes_load(one, &error) != 0 || error.kind != 0)
        die("load");
}

/* What a number of /proc/self/status is, in KiB, or how many lines another file there has. */
static long number(const char* file, const char* key)
{
    char line[4096];
    long found = 0;
    FILE* in = fopen(file, "r");
    while (in && fgets(line, sizeof line, in))
        if (!key)
            ++found;
        else if (strncmp(line, key, strlen(key)) == 0)
            found = atol(line + strlen(key));
    if (in)
        fclose(in);
    return found;
}

static void misuse(void)
{
    char name[300], text[200];
    fastsdt_probes* shop = provider(0);
    fastsdt_probe* order = probe(shop, "order", "long id");
    int i;
    memset(name, 'x', sizeof name);
    name[256] = '\0';
    refused("no name", !fastsdt_probes_new(NULL, 0, &error));
    refused("an empty name", !fastsdt_probes_new("", 0, &error));
    refused("a colon", !fastsdt_probes_new("a:b", 0, &error));
    refused("a blank", !fastsdt_probes_add(shop, "a b", NULL, &error));
    refused("a line's end", !fastsdt_probes_add(shop, "a\n", NULL, &error));
    refused("a long name", !fastsdt_probes_new(name, 0, &error));
    refused("a flag", !fastsdt_probes_new("shop", 2, &error));
    refused("no provider", !fastsdt_probes_add(NULL, "order", NULL, &error));
    refused("no provider to load", fastsdt_probes_load(NULL, &error) == FASTSDT_PROBES_MISUSE);
    text[0] = '\0';
    for (i = 0; i < 13; ++i)
        strcat(text, i ? ",int" : "int");
    refused("13 arguments", !fastsdt_probes_add(shop, "many", text, &error));
    load(shop);
    refused("added late", !fastsdt_probes_add(shop, "late", NULL, &error));
    refused("loaded twice", fastsdt_probes_load(shop, &error) == FASTSDT_PROBES_MISUSE);
    if (fastsdt_probes_new("a b", 0, NULL) || fastsdt_probes_load(shop, NULL) != FASTSDT_PROBES_MISUSE)
        die("without an error to fill in");
    fastsdt_probe_fire(NULL, NULL);
    if (fastsdt_probe_is_active(NULL) || fastsdt_probe_site(NULL) || fastsdt_probes_path(NULL))
        die("no probe");
    if (fastsdt_probes_unload(shop, &error) != 0 || fastsdt_probes_unload(shop, &error) != 0)
        die("unload");
    fastsdt_probe_fire(order, NULL);
    if (fastsdt_probe_is_active(order) || fastsdt_probe_site(order) || fastsdt_probes_path(shop))
        die("unloaded, and something is left");
    fastsdt_probes_free(shop);
    fastsdt_probes_free(NULL);
    if (fastsdt_probes_version() < 100)
        die("version");
}

/* For each line of input what the arguments become. */
static void arguments(void)
{
    char line[1000];
    while (fgets(line, sizeof line, stdin)) {
        fastsdt_probes* shop = provider(0);
        line[strcspn(line, "\n")] = '\0';
        if (fastsdt_probes_add(shop, "order", line, &error))
            puts("ok");
        else
            printf("%s\n", error.what);
        fastsdt_probes_free(shop);
    }
}

/* Copies the object of some probes into a file. */
static void object(const char* to, unsigned flags)
{
    static const char* const types = "long,long,long,long,long,long,long,long,long,long,long,long";
    char buffer[65536];
    fastsdt_probes* shop = provider(flags);
    int i;
    FILE *in, *out;
    for (i = 0; i <= FASTSDT_PROBES_MOST; ++i) {
        char name[20], some[100];
        sprintf(name, "n%d", i);
        sprintf(some, "%.*s", i ? 5 * i - 1 : 0, types);
        probe(shop, name, some);
    }
    probe(shop, "sizes",
          "signed char a, short b, int c, long d, unsigned char e, unsigned short f, unsigned g, unsigned long h");
    probe(shop, "named", "long id, const char *item, double price, bool paid");
    load(shop);
    in = fopen(fastsdt_probes_path(shop), "rb");
    out = fopen(to, "wb");
    if (!in || !out || fwrite(buffer, 1, fread(buffer, 1, sizeof buffer, in), out) == 0 || fclose(out) != 0)
        die("the object");
    fclose(in);
    puts(fastsdt_probes_path(shop));
    fastsdt_probes_free(shop);
}

/* Many providers, one after the other and all at once: nothing grows, nothing is left. */
static void growth(unsigned flags)
{
    fastsdt_probes* all[100];
    long mappings = 0, memory = 0;
    int i, round, next = open("/dev/null", O_RDONLY);
    close(next);
    for (round = 0; round < 1100; ++round) {
        fastsdt_probes* shop = provider(flags);
        fastsdt_probe* order = probe(shop, "order", "long id, const char *item");
        uint64_t values[2] = {1, 2};
        probe(shop, "closed", NULL);
        load(shop);
        fastsdt_probe_fire(order, values);
        ((void (*)(uint64_t, uint64_t))fastsdt_probe_site(order))(1, 2);
        fastsdt_probes_free(shop);
        if (round == 100) { /* the heap has its size by now */
            mappings = number("/proc/self/maps", NULL);
            memory = number("/proc/self/status", "VmRSS:");
        }
    }
    if (number("/proc/self/maps", NULL) > mappings || number("/proc/self/status", "VmRSS:") > memory + 256)
        die("it grows");
    for (i = 0; i < 100; ++i) {
        all[i] = provider(flags);
        probe(all[i], "order", "long id, const char *item");
        load(all[i]);
    }
    for (i = 0; i < 100; ++i)
        fastsdt_probes_free(all[i]);
    if (number("/proc/self/maps", NULL) > mappings)
        die("100 at once: something is left");
    if (open("/dev/null", O_RDONLY) != next)
        die("a descriptor is left");
    puts("growth");
}

static void* makes(void* shared)
{
    fastsdt_probe* order = (fastsdt_probe*)shared;
    int i;
    for (i = 0; i < 200; ++i) {
        uint64_t values[2] = {3, 4};
        fastsdt_probes* own = provider(0);
        fastsdt_probe* mine = probe(own, "mine", "long a, long b");
        fastsdt_probes_error ignored;
        if (fastsdt_probes_load(own, &ignored) != 0)
            die("a thread");
        fastsdt_probe_fire(mine, values);
        fastsdt_probe_fire(order, values);
        ((void (*)(uint64_t, uint64_t))fastsdt_probe_site(order))(1, 2);
        fastsdt_probes_free(own);
    }
    return NULL;
}

static fastsdt_probes* contended;
static int contentions;
static void* changes(void* unused)
{
    int i;
    (void)unused;
    for (i = 0; i < 2000; ++i) {
        fastsdt_probes_error own;
        const int kind = i % 2 ? fastsdt_probes_unload(contended, &own) : fastsdt_probes_load(contended, &own);
        if (kind == FASTSDT_PROBES_MISUSE && strstr(own.what, "another thread"))
            __atomic_fetch_add(&contentions, 1, __ATOMIC_RELAXED);
        else if (kind && !strstr(own.what, "loaded already"))
            die("one provider, many threads");
    }
    return NULL;
}

static void threads(void)
{
    pthread_t all[8];
    fastsdt_probes* shop = provider(0);
    fastsdt_probe* order = probe(shop, "order", "long a, long b");
    int i;
    load(shop);
    for (i = 0; i < 8; ++i)
        pthread_create(all + i, NULL, makes, order);
    for (i = 0; i < 8; ++i)
        pthread_join(all[i], NULL);
    fastsdt_probes_free(shop);
    contended = provider(0);
    probe(contended, "order", NULL);
    for (i = 0; i < 4; ++i)
        pthread_create(all + i, NULL, changes, NULL);
    for (i = 0; i < 4; ++i)
        pthread_join(all[i], NULL);
    fastsdt_probes_free(contended);
    puts("threads");
}

/* A child has the probes, may free them and make others; its parent's are as they were. */
static void forks(unsigned flags)
{
    fastsdt_probes* shop = provider(flags);
    fastsdt_probe* order = probe(shop, "order", "long id");
    uint64_t value = 1;
    int status, i;
    load(shop);
    for (i = 0; i < 3; ++i) {
        pid_t child = fork();
        if (child == 0) {
            fastsdt_probes* own = provider(flags);
            fastsdt_probe_fire(order, &value);
            fastsdt_probe_fire(probe(own, "own", "long id"), &value);
            load(own);
            ((void (*)(uint64_t))fastsdt_probe_site(order))(1);
            fastsdt_probes_free(shop);
            fastsdt_probes_free(own);
            _exit(0);
        }
        if (waitpid(child, &status, 0) != child || status != 0)
            die("a child");
    }
    ((void (*)(uint64_t))fastsdt_probe_site(order))(1);
    if (access(fastsdt_probes_path(shop), R_OK) != 0)
        die("the file has gone with the child");
    fastsdt_probes_free(shop);
    puts("forks");
}

/* Children that are forked while other threads load and free: they may do so too. */
static int enough;
static void* loads(void* unused)
{
    (void)unused;
    while (!__atomic_load_n(&enough, __ATOMIC_RELAXED)) {
        fastsdt_probes* shop = fastsdt_probes_new("shop", 0, NULL);
        fastsdt_probes_add(shop, "order", "long id", NULL);
        if (fastsdt_probes_load(shop, NULL) != 0)
            die("a thread");
        fastsdt_probes_free(shop);
    }
    return NULL;
}

static void forks_of_many(void)
{
    pthread_t all[3];
    int i, status;
    for (i = 0; i < 3; ++i)
        pthread_create(all + i, NULL, loads, NULL);
    for (i = 0; i < 300; ++i) {
        pid_t child = fork();
        if (child == 0) {
            fastsdt_probes* shop = provider(0);
            alarm(60);
            probe(shop, "order", "long id");
            load(shop);
            fastsdt_probes_free(shop);
            _exit(0);
        }
        if (waitpid(child, &status, 0) != child || status != 0)
            die("a child of many threads");
    }
    __atomic_store_n(&enough, 1, __ATOMIC_RELAXED);
    for (i = 0; i < 3; ++i)
        pthread_join(all[i], NULL);
    puts("forks of many");
}

/* A program that closes all descriptors, and opens others by their numbers: those are not ours to close, and names that the dynamic
 * linker still knows are not used for others. */
static void descriptors(void)
{
    fastsdt_probes *first = provider(0), *second = provider(0);
    fastsdt_probe *a = probe(first, "a", NULL), *b = probe(second, "b", NULL);
    int own, i;
    load(first);
    for (i = 3; i < 100; ++i)
        close(i);
    load(second);
    if (strcmp(fastsdt_probes_path(first), fastsdt_probes_path(second)) == 0
        || fastsdt_probe_site(a) == fastsdt_probe_site(b))
        die("two providers by one name");
    own = open("/dev/null", O_RDONLY);
    fastsdt_probes_free(first);
    if (fcntl(own, F_GETFD) < 0)
        die("somebody else's descriptor");
    fastsdt_probes_free(second);
    if (fcntl(own, F_GETFD) < 0)
        die("somebody else's descriptor, the second time");
    close(0);
    close(1);
    first = provider(0);
    load(first);
    if (open("/dev/null", O_RDONLY) != 0 || open("out", O_WRONLY | O_APPEND | O_CREAT, 0644) != 1)
        die("a standard descriptor is ours");
    fastsdt_probes_free(first);
    if (write(1, "descriptors\n", 12) != 12)
        exit(1);
}

int main(int argc, char** argv)
{
    const char* const what = argc > 1 ? argv[1] : "";
    const unsigned flags = argc > 2 && strcmp(argv[argc - 1], "file") == 0 ? FASTSDT_PROBES_FILE : 0;
    if (strcmp(what, "misuse") == 0)
        misuse();
    else if (strcmp(what, "arguments") == 0)
        arguments();
    else if (strcmp(what, "object") == 0)
        object(argv[2], flags);
    else if (strcmp(what, "growth") == 0)
        growth(flags);
    else if (strcmp(what, "threads") == 0)
        threads();
    else if (strcmp(what, "forks") == 0)
        forks(flags);
    else if (strcmp(what, "forks_of_many") == 0)
        forks_of_many();
    else if (strcmp(what, "descriptors") == 0)
        descriptors();
    else if (strcmp(what, "load") == 0 || strcmp(what, "full") == 0) {
        fastsdt_probes* shop = provider(flags);
        const struct rlimit none = {3, 3}; /* descriptors */
        if (strcmp(what, "full") == 0)
            setrlimit(RLIMIT_NOFILE, &none);
        probe(shop, "order", NULL);
        if (fastsdt_probes_load(shop, &error) == 0)
            puts(fastsdt_probes_path(shop));
        else
            printf("%d|%s|%s|%s\n", error.kind, error.where, error.what, error.cure);
        fflush(stdout);
        if (argc > 3) /* nobody frees it; a child that ends leaves its parent's file */
            return fork() ? wait(NULL) < 0 || access(fastsdt_probes_path(shop), R_OK) != 0 : 0;
        fastsdt_probes_free(shop);
    } else
        return 2;
    return 0;
}
