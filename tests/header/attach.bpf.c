// Counts hits of USDT probes and keeps the arguments of the last one; attach.c loads it.
#include <linux/bpf.h>
#include <linux/ptrace.h>
#include <stdbool.h>
#include <bpf/bpf_helpers.h>
#include <bpf/usdt.bpf.h>

struct seen {
    long hits, argc, args[12];
};
struct seen seen[128];

SEC("usdt")
int on_probe(struct pt_regs *ctx)
{
    unsigned long which = bpf_usdt_cookie(ctx);
    if (which >= 128)
        return 0;
    struct seen *s = &seen[which];
    __sync_fetch_and_add(&s->hits, 1);
    s->argc = bpf_usdt_arg_cnt(ctx);
    for (int i = 0; i < 12; i++) {
        long value = 0;
        if (bpf_usdt_arg(ctx, i, &value) == 0)
            s->args[i] = value;
    }
    return 0;
}
char _license[] SEC("license") = "GPL";
