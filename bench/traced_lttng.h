/* SPDX-License-Identifier: BSD-2-Clause
   The probes of traced.c as LTTng's tracepoints of two integers. LTTng includes this file several times. */
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER bench
#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "traced_lttng.h"
#if !defined(TRACED_LTTNG_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define TRACED_LTTNG_H
#include <lttng/tracepoint.h>
#define EVENT(name)                                                                                                    \
    LTTNG_UST_TRACEPOINT_EVENT(                                                                                        \
        bench, name, LTTNG_UST_TP_ARGS(int, a, int, b),                                                                \
        LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(int, a, a) lttng_ust_field_integer(int, b, b)))
EVENT(hit)
EVENT(begin)
EVENT(end)
#undef EVENT
#endif
#include <lttng/tracepoint-event.h>
