/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A server that exports the hits of its own probes as Prometheus text, without root and without the kernel:
 *
 *     cc -O2 metrics.c $(pkg-config --cflags --libs fastsdt fastsdt-trace) -pthread -o metrics
 *     ./metrics 9100
 *     curl localhost:9100/orders?n=1000; curl localhost:9100/metrics
 *
 * The code that is measured has probes and no counters. The scripts below say what is counted, so other figures need no
 * change of that code. While nothing is attached, a probe is two nops. With port 0 the server takes any free port and
 * prints its number.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fastsdt.h>
#include <fastsdt/trace.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* ---- The program: it takes orders, and knows nothing of metrics. */

static void take_order(unsigned shop, unsigned cents)
{
    FASTSDT(shop, order, shop, cents);
}

static void take_orders(unsigned long count)
{
    unsigned long i;

    FASTSDT(shop, begin, count);
    for (i = 0; i < count; ++i)
        take_order((unsigned)(i % 3), (unsigned)(i * 37 % 5000));
    FASTSDT(shop, end, count);
}

/* ---- What is counted. */

static const char orders_script[] =
    "usdt:*:shop:order { @orders[arg0] = count(); @cents = hist(arg1); @sum = sum(arg1); }";
static const char duration_script[] = "usdt:*:shop:begin { @start[tid] = nsecs; }"
                                      "usdt:*:shop:end /@start[tid]/ { @us = hist((nsecs - @start[tid]) / 1000); @sum "
                                      "= sum((nsecs - @start[tid]) / 1000);"
                                      " delete(@start[tid]); }";

static fastsdt_trace_attachment *orders, *durations;

static fastsdt_trace_attachment* attach(fastsdt_trace* self, const char* script)
{
    fastsdt_trace_error error;
    fastsdt_trace_attachment* attached = self ? fastsdt_trace_attach(self, script, &error) : NULL;
    fastsdt_trace_sites* sites;
    const fastsdt_trace_site* site;
    size_t i;

    if (self && !attached)
        fprintf(stderr, "metrics: %u:%u: %s\n", error.line, error.column, error.text);
    if (!attached || !(sites = fastsdt_trace_sites_read(attached, &error)))
        return attached;
    for (i = 0; (site = fastsdt_trace_sites_get(sites, i)); ++i)
        if (!site->armed)
            fprintf(stderr, "metrics: %s at %#" PRIxPTR " %s\n", site->probe, site->address, site->reason);
    fastsdt_trace_sites_free(sites);
    return attached;
}

/* ---- Prometheus' text format. */

struct text {
    char* bytes;
    size_t size, room;
};

static void add(struct text* text, const char* format, ...)
{
    va_list arguments;
    int length;

    for (;;) {
        va_start(arguments, format);
        length = vsnprintf(text->bytes + text->size, text->room - text->size, format, arguments);
        va_end(arguments);
        if (length < 0)
            return;
        if ((size_t)length < text->room - text->size)
            break;
        text->room = 2 * text->room + (size_t)length + 1;
        if (!(text->bytes = realloc(text->bytes, text->room)))
            abort();
    }
    text->size += (size_t)length;
}

static void add_counter(struct text* out, const fastsdt_trace_maps* maps, size_t map, const char* name,
                        const char* help, const char* label)
{
    const fastsdt_trace_entry* entry;
    size_t i;

    add(out, "# HELP %s %s\n# TYPE %s counter\n", name, help, name);
    for (i = 0; (entry = fastsdt_trace_maps_entry(maps, map, i)); ++i)
        add(out, "%s{%s=\"%" PRId64 "\"} %" PRId64 "\n", name, label, entry->key[0].number, entry->value.number);
}

/* A hist, and the sum that it does not have. Buckets are cumulative in Prometheus; `le` is the largest value in one. `unit`: what a 1 of the
 * maps is, in the unit of the name. */
static void add_histogram(struct text* out, const fastsdt_trace_maps* maps, size_t hist, size_t sum, const char* name,
                          const char* help, double unit)
{
    const fastsdt_trace_map* map = fastsdt_trace_maps_get(maps, hist);
    const fastsdt_trace_entry* entry = fastsdt_trace_maps_entry(maps, hist, 0);
    const fastsdt_trace_entry* total = fastsdt_trace_maps_entry(maps, sum, 0);
    uint64_t so_far = 0, all = entry ? entry->count : 0;
    int64_t low, high;
    size_t i;

    add(out, "# HELP %s %s\n# TYPE %s histogram\n", name, help, name);
    for (i = 0; entry && i < map->buckets && so_far < all; ++i) {
        so_far += entry->bucket[i];
        if (so_far && fastsdt_trace_maps_bucket(maps, hist, i, &low, &high) == 0)
            add(out, "%s_bucket{le=\"%.15g\"} %" PRIu64 "\n", name, (double)high * unit, so_far);
    }
    add(out, "%s_bucket{le=\"+Inf\"} %" PRIu64 "\n%s_sum %.15g\n%s_count %" PRIu64 "\n", name, all, name,
        total ? (double)total->total * unit : 0.0, name, all);
}

static void add_metrics(struct text* out)
{
    fastsdt_trace_maps* maps = orders ? fastsdt_trace_maps_read(orders, NULL) : NULL;
    uint64_t dropped = fastsdt_trace_maps_dropped(maps);

    add_counter(out, maps, 0, "shop_orders_total", "Orders by shop.", "shop");
    add_histogram(out, maps, 1, 2, "shop_order_cents", "What an order costs.", 1);
    fastsdt_trace_maps_free(maps);
    if (durations && (maps = fastsdt_trace_maps_read(durations, NULL))) {
        dropped += fastsdt_trace_maps_dropped(maps);
        add_histogram(out, maps, 1, 2, "shop_request_seconds", "How long a request takes.", 1e-6);
        fastsdt_trace_maps_free(maps);
    }
    add(out,
        "# HELP shop_dropped_total Hits that found no room.\n# TYPE shop_dropped_total counter\nshop_dropped_total "
        "%" PRIu64 "\n",
        dropped);
}

/* ---- HTTP, as much as the server needs. */

static void answer(int client, const char* status, const char* body, size_t size)
{
    char head[256];
    int length = snprintf(
        head, sizeof head,
        "HTTP/1.1 %s\r\nContent-Type: text/plain; version=0.0.4\r\nContent-Length: %zu\r\nConnection: close\r\n\r\n",
        status, size);

    if (write(client, head, (size_t)length) == length)
        while (size > 0) {
            ssize_t wrote = write(client, body, size);
            if (wrote <= 0)
                break;
            body += wrote;
            size -= (size_t)wrote;
        }
}

static void serve(int client)
{
    char request[4096];
    size_t size = 0;
    unsigned long count;
    struct text out = {NULL, 0, 0};

    request[0] = 0;
    while (size + 1 < sizeof request && !strstr(request, "\r\n\r\n")) {
        ssize_t got = read(client, request + size, sizeof request - 1 - size);
        if (got <= 0)
            break;
        request[size += (size_t)got] = 0;
    }
    if (!strncmp(request, "GET /metrics ", 13)) {
        add_metrics(&out);
        answer(client, "200 OK", out.bytes, out.size);
        free(out.bytes);
    } else if (sscanf(request, "GET /orders?n=%7lu ", &count) == 1) {
        take_orders(count);
        answer(client, "200 OK", "thank you\n", 10);
    } else {
        answer(client, "404 Not Found", "/metrics or /orders?n=N\n", 24);
    }
    close(client);
}

static void* work(void* listener)
{
    int client;

    while ((client = accept(*(int*)listener, NULL, NULL)) >= 0 || errno == EINTR || errno == ECONNABORTED)
        if (client >= 0)
            serve(client);
    perror("metrics: accept");
    return NULL;
}

int main(int argc, char** argv)
{
    struct sockaddr_in address;
    socklen_t size = sizeof address;
    fastsdt_trace_error error;
    fastsdt_trace* self;
    sigset_t ends;
    pthread_t thread;
    int listener, signal_number, i;
    char* rest = NULL;
    unsigned long port = argc == 2 ? strtoul(argv[1], &rest, 10) : 65536;

    if (port > 65535 || *rest) {
        fprintf(stderr, "usage: metrics PORT\n");
        return 2;
    }
    signal(SIGPIPE, SIG_IGN);
    sigemptyset(&ends);
    sigaddset(&ends, SIGINT);
    sigaddset(&ends, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &ends, NULL);

    memset(&address, 0, sizeof address);
    address.sin_family = AF_INET;
    address.sin_port = htons((unsigned short)port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (listener < 0 || bind(listener, (struct sockaddr*)&address, sizeof address) < 0 || listen(listener, 64) < 0
        || getsockname(listener, (struct sockaddr*)&address, &size) < 0) {
        perror("metrics");
        return 1;
    }

    /* Without metrics the server serves all the same. */
    self = fastsdt_trace_open(0, &error);
    if (!self)
        fprintf(stderr, "metrics: none: %s\n", error.text);
    orders = attach(self, orders_script);
    durations = attach(self, duration_script);

    for (i = 0; i < 4; ++i)
        if (pthread_create(&thread, NULL, work, &listener) != 0)
            return 1;
    printf("listening on port %d\n", ntohs(address.sin_port));
    fflush(stdout);
    sigwait(&ends, &signal_number);
    if (self && fastsdt_trace_close(self, &error) < 0)
        fprintf(stderr, "metrics: %s\n", error.text);
    return 0;
}
