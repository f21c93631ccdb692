// SPDX-License-Identifier: BSD-2-Clause
// A uprobe as a perf event, for the programs that run in guests, in C, and for tests in C++.
#pragma once
#include <linux/perf_event.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/// The type of perf events that uprobes have. -1: this kernel has no uprobes.
static inline int uprobe_type(void)
{
    int type = -1;
    FILE* f = fopen("/sys/bus/event_source/devices/uprobe/type", "r");
    if (f && fscanf(f, "%d", &type) != 1)
        type = -1;
    if (f)
        fclose(f);
    return type;
}

/// Counts hits of the instruction at file offset `offset`, or returns of the function there. `pid` and `cpu` as perf_event_open(2) has
/// them. Not inherited: docs/kernels.md. Returns a descriptor, or -1 with errno.
static inline int open_uprobe(int type, const char* path, uint64_t offset, int on_return, pid_t pid, int cpu)
{
    struct perf_event_attr attr;
    memset(&attr, 0, sizeof attr);
    attr.size = sizeof attr;
    attr.type = (uint32_t)type;
    attr.config = (uint64_t)on_return;
    attr.config1 = (uintptr_t)path;
    attr.config2 = offset;
    return (int)syscall(SYS_perf_event_open, &attr, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC);
}
