// SPDX-License-Identifier: BSD-2-Clause
// Counts the hits of every USDT probe it is attached to, and adds up their first two arguments.
#include <stdbool.h>
#include <linux/types.h>
#include <linux/bpf.h>
#include <linux/ptrace.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <bpf/usdt.bpf.h>

long totals[4]; // hits, sum of first arguments, of second ones, arguments that could not be read

SEC("usdt")
int count(struct pt_regs* ctx)
{
    long value;
    __sync_fetch_and_add(&totals[0], 1);
    if (bpf_usdt_arg_cnt(ctx) < 2)
        return 0;
    if (bpf_usdt_arg(ctx, 0, &value) == 0)
        __sync_fetch_and_add(&totals[1], value);
    else
        __sync_fetch_and_add(&totals[3], 1);
    if (bpf_usdt_arg(ctx, 1, &value) == 0)
        __sync_fetch_and_add(&totals[2], value);
    else
        __sync_fetch_and_add(&totals[3], 1);
    return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
