// SPDX-License-Identifier: BSD-2-Clause
// Counts hits per probe name: the cookie is the name's number.
#include <linux/bpf.h>
#include <linux/ptrace.h>
#include <stdbool.h>

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <bpf/usdt.bpf.h>

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, 64);
    __type(key, __u32);
    __type(value, __u64);
} hits SEC(".maps");

SEC("usdt")
int hit(struct pt_regs* ctx)
{
    __u32 name = bpf_usdt_cookie(ctx);
    __u64* count = bpf_map_lookup_elem(&hits, &name);

    if (count)
        __sync_fetch_and_add(count, 1);
    return 0;
}

char _license[] SEC("license") = "GPL";
