#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""python.py: what a probe of a Python program costs (python/README.md). Needs the package in python/; the last line needs root and bpftrace."""
import os
import shutil
import subprocess
import timeit

import fastsdt

shop = fastsdt.provider("shop")
order, closed = shop.probe("order", int, str), shop.probe("closed")


def nothing(id, item):
    pass


def cost(what, statement):
    seconds = min(timeit.repeat(statement, globals=globals(), number=20000, repeat=50)) / 20000
    print(f"{what:44} {seconds * 1e9:6.0f} ns", flush=True)


cost("a function that does nothing", "nothing(5, 'tea')")
cost("a probe, disabled: order(5, 'tea')", "order(5, 'tea')")
cost("order.enabled", "order.enabled")
with fastsdt.trace("usdt:*:shop:closed { @ = count(); }"):
    cost("closed(), counted by fastsdt", "closed()")
with fastsdt.trace("usdt:*:shop:order { @ = sum(arg0); }"):
    cost("order(5, 'tea'), its sum by fastsdt", "order(5, 'tea')")
if os.geteuid() == 0 and shutil.which("bpftrace"):
    tracer = subprocess.Popen(["bpftrace", "-p", str(os.getpid()), "-e", "usdt:*:shop:order { @ = sum(arg0); }"], stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL)
    while not order.enabled and tracer.poll() is None:
        pass
    if order.enabled:
        cost("order(5, 'tea'), its sum by bpftrace", "order(5, 'tea')")
    tracer.kill()  # bpftrace 0.17 has missed other signals on a busy machine
    tracer.wait()
