/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A program that traces itself by fastsdt/trace.h, C89 and C++98. `api WHAT` is one test; api.sh runs them and checks
 * what they print.
 * strchr() and strrchr() are in parentheses: as macros, glibc 2.43 has them in C11.
 */
#ifndef _GNU_SOURCE /* g++ has it */
#define _GNU_SOURCE
#endif
#include <fastsdt.h>
#include <fastsdt/trace.h>

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static fastsdt_trace_error error;

static void failed(int line, const char* what)
{
    fprintf(stderr, "api.c:%d: %s; the last error: %d, %u:%u, %s\n", line, what, error.kind, error.line, error.column,
            error.text);
    exit(1);
}
#define WANT(x) ((x) ? (void)0 : failed(__LINE__, #x))

/* ---- The probes */

static void order(long shop, int items, const char* text)
{
    FASTSDT(app, order, shop, items, text);
}

static void plain(long n)
{
    FASTSDT_WITH(nop, none, app, plain, n);
}

static void twice(long n)
{
    FASTSDT_WITH(default, implicit, app, twice, n);
}

/* -DPASSES: a multiple of 1000; a slow machine takes fewer. */
#ifndef PASSES
#define PASSES 20000
#endif
enum { threads = 8, passes = PASSES };

static void* orders(void* first)
{
    long i;

    for (i = 0; i < passes; ++i)
        order((long)(size_t)first % 4, (int)(i % 1000), "text");
    return NULL;
}

static void all_orders(void)
{
    pthread_t all[threads];
    size_t i;

    for (i = 0; i < threads; ++i)
        WANT(pthread_create(&all[i], NULL, orders, (void*)i) == 0);
    for (i = 0; i < threads; ++i)
        pthread_join(all[i], NULL);
}

/* ---- Results that are read */

static size_t site_count(fastsdt_trace_attachment* a, int armed)
{
    fastsdt_trace_sites* sites = fastsdt_trace_sites_read(a, &error);
    size_t i, count = 0;

    WANT(sites);
    for (i = 0; i < fastsdt_trace_sites_count(sites); ++i) {
        const fastsdt_trace_site* site = fastsdt_trace_sites_get(sites, i);
        WANT(site && site->address && site->armed == !strcmp(site->reason, "armed"));
        if (site->armed == armed)
            ++count;
        if (!site->armed)
            printf("%s %s\n", (strrchr)(site->probe, ':') + 1, site->reason);
    }
    WANT(!fastsdt_trace_sites_get(sites, i));
    fastsdt_trace_sites_free(sites);
    return count;
}

/* Of the first entry of a map. */
static int64_t number(fastsdt_trace_attachment* a, size_t map)
{
    fastsdt_trace_maps* maps = fastsdt_trace_maps_read(a, &error);
    const fastsdt_trace_entry* entry;
    int64_t value;

    WANT(maps);
    entry = fastsdt_trace_maps_entry(maps, map, 0);
    value = entry ? entry->value.number : 0;
    fastsdt_trace_maps_free(maps);
    return value;
}

static fastsdt_trace* self(void)
{
    fastsdt_trace* trace = fastsdt_trace_open(0, &error);

    WANT(trace && error.kind == 0 && !*error.text);
    return trace;
}

/* ---- The tests */

/* Prints all maps: MAP KIND KEYS VALUE COUNT [LOW HIGH N]... */
static void print_maps(fastsdt_trace_attachment* a)
{
    fastsdt_trace_maps* maps = fastsdt_trace_maps_read(a, &error);
    const fastsdt_trace_map* map;
    const fastsdt_trace_entry* entry;
    size_t m, e, k;
    int64_t low, high;

    WANT(maps);
    for (m = 0; (map = fastsdt_trace_maps_get(maps, m)) != NULL; ++m)
        for (e = 0; (entry = fastsdt_trace_maps_entry(maps, m, e)) != NULL; ++e) {
            printf("%s %d", map->name, map->kind);
            for (k = 0; k < map->keys; ++k)
                if (entry->key[k].text)
                    printf(" [%s]", entry->key[k].text);
                else
                    printf(" [%ld]", (long)entry->key[k].number);
            if (entry->value.text)
                printf(" %s", entry->value.text);
            else
                printf(" %ld", (long)entry->value.number);
            printf(" %ld %lu", (long)entry->total, (unsigned long)entry->count);
            for (k = 0; k < map->buckets; ++k)
                if (entry->bucket[k]) {
                    WANT(fastsdt_trace_maps_bucket(maps, m, k, &low, &high) == 0);
                    printf(" %ld..%ld=%lu", (long)low, (long)high, (unsigned long)entry->bucket[k]);
                }
            printf("\n");
            WANT(fastsdt_trace_maps_bucket(maps, m, map->buckets, &low, &high) == -1);
        }
    WANT(m == fastsdt_trace_maps_count(maps) && fastsdt_trace_maps_dropped(maps) == 0);
    fastsdt_trace_maps_free(maps);
}

static void maps(void)
{
    fastsdt_trace* trace = self();
    fastsdt_trace_attachment* a = fastsdt_trace_attach(
        trace,
        "usdt:*:app:order { @n[arg0] = count(); @sum = sum(arg1); @min = min(arg1); @max = max(arg1); @avg = avg(arg1);"
        " @stats = stats(arg1); @h = hist(arg1); @l = lhist(arg1, 100, 300, 100); @last = arg1; @text[arg0] = "
        "str(arg2); }",
        &error);

    WANT(a && site_count(a, 0) == 0);
    all_orders();
    print_maps(a);
    WANT(fastsdt_trace_close(trace, &error) == 0);
}

/* A function gets every hit, with its values. */
static long calls[4], items_sum;
static fastsdt_trace_attachment* of_function;
static fastsdt_trace* own;

static void called(const fastsdt_trace_hit* hit, void* context)
{
    fastsdt_trace_error inside;
    char text[64];
    double x = (double)hit->argument[1];
    volatile double floating;

    WANT(context == (void*)&calls && hit->arguments == 3 && hit->readable == 7);
    WANT(!strcmp((strrchr)(hit->probe, ':'), ":order") && hit->address);
    WANT(!strcmp((const char*)hit->argument[2], "text"));
    __sync_fetch_and_add(&calls[hit->argument[0]], 1);
    __sync_fetch_and_add(&items_sum, (long)hit->argument[1]);
    /* Vector registers and the like, as a C library uses them. */
    sprintf(text, "%f", x / 3);
    memset(text, 1, sizeof text);
    floating = x * x;
    (void)floating;
    errno = ERANGE;
    order(0, 600, "from inside"); /* not delivered */
    WANT(fastsdt_trace_update(of_function, &inside) == -1 && inside.kind == FASTSDT_TRACE_MISUSE);
    WANT(fastsdt_trace_detach(of_function, NULL) == -1);
    WANT(!fastsdt_trace_open(0, NULL));
}

static void function(void)
{
    fastsdt_trace_maps* read;
    long i;

    own = self();
    of_function = fastsdt_trace_attach_function(own, "usdt:*:app:order /arg1 >= 500/", called, calls, &error);
    WANT(of_function && site_count(of_function, 1) > 0);
    errno = 0;
    all_orders();
    for (i = 0; i < 1000; ++i) {
        order(3, 500, "text");
        WANT(errno == 0);
    }
    WANT((read = fastsdt_trace_maps_read(of_function, &error)) != NULL && fastsdt_trace_maps_count(read) == 0);
    printf("%ld %ld %ld %ld sum %ld dropped %lu\n", calls[0], calls[1], calls[2], calls[3], items_sum,
           (unsigned long)fastsdt_trace_maps_dropped(read));
    fastsdt_trace_maps_free(read);
    WANT(fastsdt_trace_detach(of_function, &error) == 0);
    order(0, 999, "text");
    printf("%ld\n", calls[0]);
    WANT(fastsdt_trace_close(own, &error) == 0);
}

/* An attachment stays while a call of its function lasts. */
static int entered[2], leave[2];

static void waits(const fastsdt_trace_hit* hit, void* context)
{
    char byte = 0;

    (void)context;
    WANT(hit->arguments == 1 && hit->argument[0] == 42);
    WANT(write(entered[1], &byte, 1) == 1 && read(leave[0], &byte, 1) == 1);
}

static void* one_plain(void* unused)
{
    twice(42);
    return unused;
}

static void busy(void)
{
    fastsdt_trace* trace = self();
    fastsdt_trace_attachment* a = fastsdt_trace_attach_function(trace, "usdt:*:app:twice", waits, NULL, &error);
    fastsdt_trace_attachment* b = fastsdt_trace_attach(trace, "usdt:*:app:order { @ = count(); }", &error);
    pthread_t thread;
    char byte;

    WANT(b);
    order(0, 0, "text");
    WANT(a && pipe(entered) == 0 && pipe(leave) == 0);
    WANT(FASTSDT_IS_ACTIVE(app, twice));
    WANT(pthread_create(&thread, NULL, one_plain, NULL) == 0 && read(entered[0], &byte, 1) == 1);
    WANT(fastsdt_trace_detach(a, &error) == -1 && error.kind == FASTSDT_TRACE_BUSY);
    WANT(!FASTSDT_IS_ACTIVE(app, twice));
    twice(1); /* not counted */
    WANT(fastsdt_trace_close(trace, &error) == -1 && error.kind == FASTSDT_TRACE_BUSY);
    WANT(number(b, 0) == 1); /* still there */
    WANT(write(leave[1], &byte, 1) == 1);
    pthread_join(thread, NULL);
    WANT(fastsdt_trace_close(trace, &error) == 0);
    printf("%s\n", error.text);
}

/* A thread is cancelled while it attaches and detaches. What it does is done first, and it ends behind it. */
static void* attaches(void* trace)
{
    for (;;) {
        fastsdt_trace_attachment* a =
            fastsdt_trace_attach((fastsdt_trace*)trace, "usdt:*:app:order { @ = count(); }", NULL);
        char byte = 0;

        if (!a || fastsdt_trace_detach(a, NULL) != 0)
            return NULL;
        if (write(entered[1], &byte, 1) != 1)
            return NULL;
    }
}

static void cancelled(void)
{
    int i;

    WANT(pipe(entered) == 0);
    for (i = 0; i < 20; ++i) {
        fastsdt_trace* trace = self();
        pthread_t thread;
        void* result;
        char byte;

        WANT(pthread_create(&thread, NULL, attaches, trace) == 0 && read(entered[0], &byte, 1) == 1);
        WANT(pthread_cancel(thread) == 0 && pthread_join(thread, &result) == 0 && result == PTHREAD_CANCELED);
        WANT(fastsdt_trace_close(trace, &error) == 0);
    }
}

/* A site without a nop10 is reported and not armed. */
static void refused(void)
{
    size_t armed = 0;
    fastsdt_trace* trace = self();
    fastsdt_trace_attachment *a = fastsdt_trace_attach(trace, "usdt:*:app:plain,usdt:*:app:twice { @ = count(); }",
                                                       &error),
                             *b;

    WANT(a && (armed = site_count(a, 1)) > 0);
    plain(1);
    twice(1);
    WANT(number(a, 0) == 1);
    b = fastsdt_trace_attach(trace, "usdt:*:app:twice { @b = count(); }", &error);
    WANT(b && site_count(b, 1) == 0);
    WANT(fastsdt_trace_detach(a, &error) == 0 && fastsdt_trace_update(b, &error) == 0);
    WANT(site_count(b, 1) == armed);
    WANT(fastsdt_trace_close(trace, &error) == 0);
}

static void module(const char* path)
{
    fastsdt_trace* trace = self();
    fastsdt_trace_attachment* a = fastsdt_trace_attach(trace, "usdt:*:module:s1_run { @ = count(); }", &error);
    void* handle;
    union {
        void* object;
        long (*function)(void);
    } run;
    int i;

    WANT(a && site_count(a, 1) == 0);
    for (i = 0; i < 3; ++i) {
        WANT((handle = dlopen(path, RTLD_NOW)) != NULL && (run.object = dlsym(handle, "run")) != NULL);
        WANT(fastsdt_trace_update(a, &error) == 0);
        run.function();
        WANT(dlclose(handle) == 0);
    }
    printf("%ld\n", (long)number(a, 0));
    WANT(fastsdt_trace_close(trace, &error) == 0);
}

/* A forked child is not counted, and may trace itself. */
static void forked(void)
{
    fastsdt_trace* trace = self();
    fastsdt_trace_attachment *a = fastsdt_trace_attach(trace, "usdt:*:app:twice { @ = count(); }", &error), *b;
    int status = -1;
    pid_t child;

    WANT(a);
    twice(1);
    fflush(stdout);
    if ((child = fork()) == 0) {
        twice(2);
        WANT(fastsdt_trace_update(a, &error) == -1 && error.kind == FASTSDT_TRACE_MISUSE);
        WANT(fastsdt_trace_close(trace, &error) == -1);
        trace = self();
        WANT((b = fastsdt_trace_attach(trace, "usdt:*:app:twice { @ = count(); }", &error)) && site_count(b, 1) > 0);
        twice(3);
        twice(4);
        WANT(number(b, 0) == 2 && fastsdt_trace_close(trace, &error) == 0);
        _exit(0);
    }
    WANT(child > 0 && waitpid(child, &status, 0) == child && status == 0);
    printf("%ld\n", (long)number(a, 0));
    WANT(fastsdt_trace_close(trace, &error) == 0);
}

/* Another process, from outside. */
static void outside(void)
{
    int go[2], done[2], status;
    fastsdt_trace* trace;
    fastsdt_trace_attachment* a;
    pid_t child;
    char byte = 0;
    long i;

    WANT(pipe(go) == 0 && pipe(done) == 0);
    if ((child = fork()) == 0) {
        close(go[1]);
        while (read(go[0], &byte, 1) == 1) {
            for (i = 0; i < 1000; ++i)
                order(7, (int)i, "text");
            WANT(write(done[1], &byte, 1) == 1);
        }
        _exit(0);
    }
    WANT((trace = fastsdt_trace_open(child, &error)) != NULL);
    WANT(!fastsdt_trace_attach_function(trace, "usdt:*:app:order", called, NULL, &error)
         && error.kind == FASTSDT_TRACE_MISUSE);
    WANT((a = fastsdt_trace_attach(trace, "usdt:*:app:order { @[arg0] = sum(arg1); }", &error)) != NULL
         && site_count(a, 0) == 0);
    WANT(write(go[1], &byte, 1) == 1 && read(done[0], &byte, 1) == 1);
    printf("%ld\n", (long)number(a, 0));
    WANT(fastsdt_trace_detach(a, &error) == 0);
    WANT((a = fastsdt_trace_attach(trace, "usdt:*:app:order { @[arg0] = count(); }", &error)) != NULL);
    WANT(write(go[1], &byte, 1) == 1 && read(done[0], &byte, 1) == 1);
    close(go[1]);
    WANT(waitpid(child, &status, 0) == child && status == 0);
    printf("%ld\n", (long)number(a, 0)); /* the process has ended; its counts are still there */
    WANT(fastsdt_trace_close(trace, &error) == 0);
    WANT(!fastsdt_trace_open(child, &error) && error.kind == FASTSDT_TRACE_REFUSED);
    printf("%s\n", (strchr)(error.text, ':') + 2);
}

/* Texts that make no sense: each gives an error with its place. */
static size_t count_of(fastsdt_trace_events* events)
{
    const size_t count = fastsdt_trace_events_count(events);

    WANT(events);
    fastsdt_trace_events_free(events);
    return count;
}

static void events(void)
{
    static const char script[] =
        "usdt:*:app:order {\n @n = count(); printf(\"%d %s\", arg1, str(arg2));\n print(@n); }";
    fastsdt_trace* trace = self();
    fastsdt_trace_attachment* a = fastsdt_trace_attach(trace, script, &error);
    fastsdt_trace_events* batch;
    fastsdt_trace_maps* read;
    uint64_t clock = 0;
    size_t i, count;

    WANT(a);
    for (i = 0; i < 5; ++i)
        order(1, (int)i - 2, "text");
    WANT((batch = fastsdt_trace_events_read(a, &error)) != NULL);
    WANT(fastsdt_trace_events_count(batch) == 10 && !fastsdt_trace_events_get(batch, 10));
    for (i = 0; i < 10; ++i) {
        const fastsdt_trace_event* event = fastsdt_trace_events_get(batch, i);
        WANT(event && event->clock >= clock);
        clock = event->clock;
        if (i % 2) {
            WANT(event->kind == FASTSDT_TRACE_EVENT_PRINT && event->line == 3 && event->column == 2);
            WANT(event->values == 0 && event->map == 0);
        } else {
            WANT(event->kind == FASTSDT_TRACE_EVENT_PRINTF && event->line == 2 && event->values == 2);
            WANT(event->value[0].number == (int)(i / 2) - 2 && !event->value[0].text);
            WANT(!strcmp(event->value[1].text, "text"));
        }
    }
    WANT(fastsdt_trace_events_lost(batch) == 0);
    fastsdt_trace_events_free(batch);
    WANT(count_of(fastsdt_trace_events_read(a, &error)) == 0);

    all_orders(); /* more than the buffers have room for: each is there or counted */
    WANT((batch = fastsdt_trace_events_read(a, &error)) != NULL);
    count = fastsdt_trace_events_count(batch);
    WANT(count > 0 && fastsdt_trace_events_lost(batch) > 0);
    WANT(count + fastsdt_trace_events_lost(batch) == 2 * threads * passes);
    fastsdt_trace_events_free(batch);

    WANT((read = fastsdt_trace_maps_read(a, &error)) != NULL);
    WANT(fastsdt_trace_maps_entry(read, 0, 0)->count == threads * passes + 5);
    fastsdt_trace_maps_free(read);
    WANT(fastsdt_trace_clear(a, 0, &error) == 0);
    order(1, 1, "text");
    WANT((read = fastsdt_trace_maps_read(a, &error)) != NULL);
    WANT(fastsdt_trace_maps_entry(read, 0, 0)->count == 1);
    fastsdt_trace_maps_free(read);
    WANT(fastsdt_trace_clear(a, 1, &error) == -1 && error.kind == FASTSDT_TRACE_MISUSE);

    /* What the attachment before has left is not the next one's. */
    WANT(fastsdt_trace_detach(a, &error) == 0);
    WANT((a = fastsdt_trace_attach(trace, script, &error)) != NULL);
    WANT((batch = fastsdt_trace_events_read(a, &error)) != NULL);
    WANT(fastsdt_trace_events_count(batch) == 0 && fastsdt_trace_events_lost(batch) == 0);
    fastsdt_trace_events_free(batch);
    order(1, 1, "text");
    WANT(count_of(fastsdt_trace_events_read(a, &error)) == 2);
    WANT(fastsdt_trace_detach(a, &error) == 0);
    WANT(!fastsdt_trace_attach(trace, "usdt:*:app:order { printf(\"%r\", buf(arg2, 4)); }", &error));
    WANT(error.kind == FASTSDT_TRACE_TEXT);
    WANT(fastsdt_trace_close(trace, &error) == 0);
}

static void texts(void)
{
    static const char* const wrong[] = {
        "",
        "usdt",
        "usdt:*:app:order",
        "usdt:*:app:order { @ = count()",
        "usdt:*:app:order { @ = count(); @ = hist(arg0); }",
        "usdt:*:app:order\n{ @ = no_such(arg0); }",
        "usdt:*:app:order /arg0 +/ { @ = count(); }",
        "BEGIN { printf(\"hello\"); }",
        "usdt:*:app:order { system(\"rm -rf /\"); }",
        "usdt:*:app:order { @[arg99999999999999999999] = count(); }",
        "\033[31m\377\001",
        "usdt:*:app:order { print(@x); }",
    };
    fastsdt_trace* trace = self();
    char* deep;
    size_t i;

    for (i = 0; i < sizeof wrong / sizeof *wrong; ++i) {
        WANT(!fastsdt_trace_attach(trace, wrong[i], &error) && error.kind == FASTSDT_TRACE_TEXT && error.line
             && error.column);
        printf("%u:%u %s\n", error.line, error.column, error.text);
        for (deep = error.text; *deep; ++deep)
            WANT((unsigned char)*deep >= ' ');
    }
    WANT(!fastsdt_trace_attach_function(trace, "usdt:*:app:order { @ = count(); }", called, NULL, &error));
    printf("%u:%u %s\n", error.line, error.column, error.text);
    WANT(!fastsdt_trace_attach_function(trace, "usdt:*:app:order { @ = count(); } usdt:*:app:twice", called, NULL,
                                        &error));
    WANT(!fastsdt_trace_attach_function(trace, "END", called, NULL, &error) && error.kind == FASTSDT_TRACE_TEXT);
    /* Long and deep. */
    WANT((deep = (char*)malloc(1000000)) != NULL);
    memset(deep, '(', 999999);
    deep[999999] = 0;
    memcpy(deep, "usdt:*:app:order /", 18);
    WANT(!fastsdt_trace_attach(trace, deep, &error) && error.kind == FASTSDT_TRACE_TEXT);
    memset(deep, 'a', 999999);
    WANT(!fastsdt_trace_attach(trace, deep, &error) && strlen(error.text) < sizeof error.text);
    free(deep);
    /* Nothing where something is wanted. */
    WANT(!fastsdt_trace_attach(NULL, "usdt:*:app:order { @ = count(); }", &error)
         && error.kind == FASTSDT_TRACE_MISUSE);
    WANT(!fastsdt_trace_attach(trace, NULL, NULL)
         && !fastsdt_trace_attach_function(trace, "usdt:*:app:order", NULL, NULL, NULL));
    WANT(fastsdt_trace_detach(NULL, &error) == -1 && fastsdt_trace_close(NULL, NULL) == -1
         && !fastsdt_trace_maps_read(NULL, NULL));
    WANT(!fastsdt_trace_sites_read(NULL, NULL) && !fastsdt_trace_sites_count(NULL) && !fastsdt_trace_maps_count(NULL));
    WANT(!fastsdt_trace_maps_get(NULL, 0) && !fastsdt_trace_maps_entry(NULL, 0, 0)
         && !fastsdt_trace_sites_get(NULL, 0));
    fastsdt_trace_maps_free(NULL);
    fastsdt_trace_sites_free(NULL);
    WANT(fastsdt_trace_version() == FASTSDT_VERSION);
    WANT(fastsdt_trace_close(trace, &error) == 0);
}

static long mappings(void)
{
    FILE* file = fopen("/proc/self/maps", "r");
    long lines = 0;
    int c;

    WANT(file);
    while ((c = getc(file)) != EOF)
        lines += c == '\n';
    fclose(file);
    return lines;
}

/* Attached and detached again and again, while threads pass: no memory grows, and no hit is lost in between. */
static int stop;

static void* passes_on(void* unused)
{
    long n = 0;

    while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
        twice(n);
        ++n;
    }
    return unused;
}

static void ignores(const fastsdt_trace_hit* hit, void* context)
{
    __sync_fetch_and_add((long*)context, hit->readable);
}

static void loop(long times)
{
    fastsdt_trace_attachment *a, *b, *c;
    fastsdt_trace* trace;
    pthread_t all[threads];
    long i, before = 0, hits;
    size_t t;

    for (t = 0; t < threads; ++t)
        WANT(pthread_create(&all[t], NULL, passes_on, NULL) == 0);
    for (i = 0; i < times; ++i) {
        trace = self();
        hits = 0;
        WANT((a = fastsdt_trace_attach(trace, "usdt:*:app:order { @[arg0] = count(); }", &error)) != NULL);
        WANT((b = fastsdt_trace_attach(trace, "usdt:*:app:plain { @ = count(); }", &error)) != NULL);
        WANT((c = fastsdt_trace_attach_function(trace, "usdt:*:app:twice", ignores, &hits, &error)) != NULL);
        order(i, 1, "text");
        order(i, 1, "text");
        WANT(number(a, 0) == 2); /* from zero each time */
        twice(1);
        WANT(__sync_fetch_and_add(&hits, 0) > 0);
        WANT(fastsdt_trace_detach(c, &error) == 0); /* nobody uses `hits` any more */
        WANT(fastsdt_trace_detach(b, &error) == 0);
        WANT(fastsdt_trace_close(trace, &error) == 0);
        if (i == 2)
            before = mappings();
    }
    __atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
    for (t = 0; t < threads; ++t)
        pthread_join(all[t], NULL);
    printf("%s\n", mappings() <= before + 2 ? "no more mappings" : "mappings grow");
}

/* Functions of a program that was built without fastsdt; options, and a descriptor that tells of events. */
static int to_plain[2], from_plain[2];

static void tell_plain(const char* line)
{
    char answer[4];
    size_t got = 0;

    WANT(write(to_plain[1], line, strlen(line)) == (ssize_t)strlen(line));
    while (got < sizeof answer) {
        ssize_t more = read(from_plain[0], answer + got, sizeof answer - got);
        WANT(more > 0);
        got += (size_t)more;
    }
}

static pid_t start_plain(const char* program)
{
    pid_t child;

    WANT(pipe(to_plain) == 0 && pipe(from_plain) == 0);
    if ((child = fork()) == 0) {
        dup2(to_plain[0], 0);
        dup2(from_plain[1], 1);
        close(to_plain[1]);
        execl(program, program, (char*)NULL);
        _exit(127);
    }
    tell_plain("go\n");
    return child;
}

static int is_readable(int descriptor, int wait_ms)
{
    struct pollfd one;

    one.fd = descriptor;
    one.events = POLLIN;
    return poll(&one, 1, wait_ms) == 1;
}

static void wrong_options(fastsdt_trace* trace, const char* script)
{
    struct {
        fastsdt_trace_options known;
        long later;
    } options;

    memset(&options, 0, sizeof options);
    WANT(!fastsdt_trace_attach_with(trace, script, &options.known, &error) && error.kind == FASTSDT_TRACE_MISUSE);
    WANT((strstr)(error.text, "its size is not set"));
    options.known.size = sizeof options.known;
    options.known.flags = 1u << 20;
    WANT(!fastsdt_trace_attach_with(trace, script, &options.known, &error) && error.kind == FASTSDT_TRACE_MISUSE);
    WANT((strstr)(error.text, "one of its flags"));
    options.known.flags = 0;
    options.known.buffer = 5;
    WANT(!fastsdt_trace_attach_with(trace, script, &options.known, &error) && error.kind == FASTSDT_TRACE_MISUSE);
    options.known.buffer = 0;
    options.known.size = sizeof options;
    options.later = 1;
    WANT(!fastsdt_trace_attach_with(trace, script, &options.known, &error) && error.kind == FASTSDT_TRACE_MISUSE);
    WANT((strstr)(error.text, "one of its members"));
}

/* What became of the one site of a script. */
static fastsdt_trace_site only_site(fastsdt_trace_attachment* a, char* reason)
{
    fastsdt_trace_sites* sites = fastsdt_trace_sites_read(a, &error);
    fastsdt_trace_site site;

    WANT(sites && fastsdt_trace_sites_count(sites) == 1);
    site = *fastsdt_trace_sites_get(sites, 0);
    strcpy(reason, site.reason);
    fastsdt_trace_sites_free(sites);
    return site;
}

static void plain_maps(fastsdt_trace_attachment* a, const char* profile)
{
    fastsdt_trace_maps* maps = fastsdt_trace_maps_read(a, &error);
    const fastsdt_trace_entry* entry;
    const void* bytes;
    size_t size = 0, i;
    FILE* file;

    WANT(maps && fastsdt_trace_maps_dropped(maps) == 0);
    for (i = 0; i < 4; ++i)
        WANT((entry = fastsdt_trace_maps_entry(maps, 0, i)) != NULL && entry->key[0].number == (int64_t)i
             && entry->count == 250);
    WANT(fastsdt_trace_maps_key_kind(maps, 0, 0) == FASTSDT_TRACE_VALUE_NUMBER);
    WANT(fastsdt_trace_maps_key_kind(maps, 0, 1) == 0 && fastsdt_trace_maps_value_kind(maps, 0) == 0);
    WANT(fastsdt_trace_maps_key_kind(maps, 1, 0) == FASTSDT_TRACE_VALUE_STACK);
    WANT((entry = fastsdt_trace_maps_entry(maps, 1, 0)) != NULL && entry->count == 1000);
    WANT((strstr)(entry->key[0].text, " work") && (strstr)(entry->key[0].text, "\n"));
    WANT((entry = fastsdt_trace_maps_entry(maps, 2, 0)) != NULL);
    printf("%ld\n", (long)entry->value.number);
    WANT((bytes = fastsdt_trace_maps_pprof(maps, &size, &error)) != NULL && size > 0);
    WANT((file = fopen(profile, "w")) != NULL && fwrite(bytes, 1, size, file) == size && fclose(file) == 0);
    fastsdt_trace_maps_free(maps);
}

/* Why there is no profile: of several reasons the one that holds. */
static void no_profiles(fastsdt_trace* trace, const char* program, fastsdt_trace_options options)
{
    static const struct {
        const char *actions, *why;
        unsigned flags;
    } cases[] = {
        {"@ = count();", "a profile is of counts and sums by stack, @[ustack] = count(), and the script has none",
         FASTSDT_TRACE_ADDRESSES},
        {"@[ustack] = count();",
         "a profile needs the stacks' addresses: attach the script with FASTSDT_TRACE_ADDRESSES", 0},
        {"@[ustack(raw)] = count();",
         "a profile needs stacks with addresses and files, and the script says ustack(raw): ustack alone, or "
         "ustack(perf), has them",
         FASTSDT_TRACE_ADDRESSES},
    };
    char script[1000];
    fastsdt_trace_attachment* a;
    fastsdt_trace_maps* maps;
    size_t size = 0, i;

    for (i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        options.flags = cases[i].flags;
        sprintf(script, "uprobe:%s:work { %s }", program, cases[i].actions);
        WANT((a = fastsdt_trace_attach_with(trace, script, &options, &error)) != NULL);
        WANT((maps = fastsdt_trace_maps_read(a, &error)) != NULL);
        WANT(!fastsdt_trace_maps_pprof(maps, &size, &error) && error.kind == FASTSDT_TRACE_MISUSE);
        WANT(strcmp(error.text, cases[i].why) == 0);
        fastsdt_trace_maps_free(maps);
        WANT(fastsdt_trace_detach(a, &error) == 0);
    }
}

static void plain_program(const char* program, const char* profile)
{
    char script[1000], reason[200];
    fastsdt_trace_options options;
    pid_t child = start_plain(program);
    fastsdt_trace* trace = fastsdt_trace_open(child, &error);
    fastsdt_trace_attachment* a;
    fastsdt_trace_events* events;
    fastsdt_trace_sites* sites;
    const char* missing;
    int descriptor, status;
    size_t seen = 0, i;

    WANT(trace);
    wrong_options(trace, "usdt:*:app:order { @ = count(); }");
    memset(&options, 0, sizeof options);
    options.size = sizeof options;
    options.flags = FASTSDT_TRACE_ADDRESSES;
    options.buffer = 1 << 20;
    sprintf(script,
            "uprobe:%s:work { @n[arg0 %% 4] = count(); @[ustack] = count(); printf(\"%%d %%s\", arg0, ustack); }"
            " uretprobe:%s:work { @r = sum(retval); }",
            program, program);
    WANT((a = fastsdt_trace_attach_with(trace, script, &options, &error)) != NULL && site_count(a, 0) == 0);
    WANT((descriptor = fastsdt_trace_events_descriptor(a, &error)) >= 0);
    WANT(fastsdt_trace_events_descriptor(a, &error) == descriptor && !is_readable(descriptor, 0));
    tell_plain("go\n");
    while (seen < 1000) {
        WANT(is_readable(descriptor, -1));
        WANT((events = fastsdt_trace_events_read(a, &error)) != NULL && fastsdt_trace_events_lost(events) == 0);
        for (i = 0; i < fastsdt_trace_events_count(events); ++i, ++seen) {
            WANT(fastsdt_trace_events_get(events, i)->value[0].number == (int64_t)seen);
            WANT(fastsdt_trace_events_value_kind(events, i, 0) == FASTSDT_TRACE_VALUE_NUMBER);
            WANT(fastsdt_trace_events_value_kind(events, i, 1) == FASTSDT_TRACE_VALUE_STACK);
        }
        WANT(fastsdt_trace_events_value_kind(events, i, 0) == 0);
        fastsdt_trace_events_free(events);
    }
    WANT(!is_readable(descriptor, 0));
    plain_maps(a, profile);
    WANT(fastsdt_trace_detach(a, &error) == 0);
    WANT(!is_readable(descriptor, 0) || fcntl(descriptor, F_GETFD) == -1); /* it was closed */

    no_profiles(trace, program, options);
    options.flags = FASTSDT_TRACE_NO_MOVE;
    sprintf(script, "uprobe:%s:reads { @ = count(); }", program);
    WANT((a = fastsdt_trace_attach_with(trace, script, &options, &error)) != NULL);
    WANT(site_count(a, 0) == 0 && site_count(a, 1) == 0 && fastsdt_trace_detach(a, &error) == 0);

    /* What is misspelt. */
    sprintf(script, "uprobe:%s:work { @ = count(); } uprobe:%s:wrok { @ = count(); }", program, program);
    WANT((a = fastsdt_trace_attach(trace, script, &error)) != NULL && site_count(a, 0) == 0);
    WANT((sites = fastsdt_trace_sites_read(a, &error)) != NULL);
    WANT((missing = fastsdt_trace_sites_missing(sites, 0)) != NULL && !fastsdt_trace_sites_missing(sites, 1));
    WANT((strstr)(missing, "nothing matches uprobe:") && (strstr)(missing, "did you mean \"work\"?"));
    fastsdt_trace_sites_free(sites);
    WANT(fastsdt_trace_detach(a, &error) == 0);
    sprintf(script, "uprobe:%s:reads { @ = count(); }", program);

    /* Without being asked the library gives up what a handler of the process would see. */
    WANT((a = fastsdt_trace_attach(trace, script, &error)) != NULL && only_site(a, reason).armed);
    tell_plain("go\n");
    WANT(number(a, 0) == 1000);
    tell_plain("handle\n");
    while (only_site(a, reason).armed)
        continue;
    printf("%s\n", reason);
    WANT(only_site(a, reason).state == FASTSDT_TRACE_SITE_HANDLES_FAULTS);
    tell_plain("go\n");
    WANT(number(a, 0) == 1000);
    WANT(fastsdt_trace_close(trace, &error) == 0);
    close(to_plain[1]);
    WANT(waitpid(child, &status, 0) == child && status == 0);

    /* This process moves none of its own instructions, and says so. */
    WANT((trace = fastsdt_trace_open(0, &error)) != NULL);
    WANT((a = fastsdt_trace_attach(trace, "uprobe:*/api:main { @ = count(); }", &error)) != NULL);
    WANT(only_site(a, reason).state == FASTSDT_TRACE_SITE_NOT_BY_ITSELF);
    printf("%s\n", reason);
    WANT(fastsdt_trace_close(trace, &error) == 0);
}

/* What fastsdt_trace_update() arms first is watched as what was there at the beginning: a handler may see no stub's address. */
static void late(const char* program)
{
    char reason[200];
    pid_t child = start_plain(program);
    fastsdt_trace* trace = fastsdt_trace_open(child, &error);
    fastsdt_trace_attachment* a = fastsdt_trace_attach(trace, "uprobe:*/libplain.so:reads { @ = count(); }", &error);
    int status;

    WANT(a && site_count(a, 0) == 0 && site_count(a, 1) == 0);
    tell_plain("load\n");
    WANT(fastsdt_trace_update(a, &error) == 0 && only_site(a, reason).armed);
    tell_plain("handle\n");
    while (only_site(a, reason).armed)
        continue;
    WANT(only_site(a, reason).state == FASTSDT_TRACE_SITE_HANDLES_FAULTS);
    WANT(fastsdt_trace_close(trace, &error) == 0);
    close(to_plain[1]);
    WANT(waitpid(child, &status, 0) == child && status == 0);
}

/* In this process too. */
static void descriptor(void)
{
    fastsdt_trace* trace = self();
    fastsdt_trace_attachment* a = fastsdt_trace_attach(trace, "usdt:*:app:order { printf(\"%d\", arg1); }", &error);
    fastsdt_trace_events* events;
    int number, round;

    WANT(a);
    for (round = 0; round < 3; ++round) {
        WANT((number = fastsdt_trace_events_descriptor(a, &error)) >= 0 && !is_readable(number, 0));
        order(1, round, "text");
        WANT(is_readable(number, -1));
        WANT((events = fastsdt_trace_events_read(a, &error)) != NULL && fastsdt_trace_events_count(events) == 1);
        WANT(fastsdt_trace_events_get(events, 0)->value[0].number == round && !is_readable(number, 0));
        fastsdt_trace_events_free(events);
        if (round == 1) {
            order(1, 77, "text"); /* nobody reads it */
            WANT(fastsdt_trace_detach(a, &error) == 0);
            WANT((a = fastsdt_trace_attach(trace, "usdt:*:app:order { printf(\"%d\", arg1); }", &error)) != NULL);
        }
    }
    exit(0); /* while the library's thread looks for more */
}

int main(int argc, char** argv)
{
    const char* what = argc > 1 ? argv[1] : "";

    if (!strcmp(what, "maps"))
        maps();
    else if (!strcmp(what, "function"))
        function();
    else if (!strcmp(what, "busy"))
        busy();
    else if (!strcmp(what, "cancelled"))
        cancelled();
    else if (!strcmp(what, "refused"))
        refused();
    else if (!strcmp(what, "module") && argc > 2)
        module(argv[2]);
    else if (!strcmp(what, "forked"))
        forked();
    else if (!strcmp(what, "outside"))
        outside();
    else if (!strcmp(what, "events"))
        events();
    else if (!strcmp(what, "descriptor"))
        descriptor();
    else if (!strcmp(what, "plain") && argc > 3)
        plain_program(argv[2], argv[3]);
    else if (!strcmp(what, "late") && argc > 2)
        late(argv[2]);
    else if (!strcmp(what, "texts"))
        texts();
    else if (!strcmp(what, "loop") && argc > 2)
        loop(atol(argv[2]));
    else
        return 2;
    return 0;
}
