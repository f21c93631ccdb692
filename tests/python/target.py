"""Hits its probes N times for each line with a number N, and answers "did". For another line it says whether all of them are enabled."""
import os
import sys

import fastsdt

shop = fastsdt.provider("shop")
order = shop.probe("order", int, str, float, bool)
named = shop.probe("named", id=int, item=bytes)
twelve = shop.probe("twelve", *[int] * 12)
print(os.getpid(), flush=True)
for line in sys.stdin:
    if not line.strip().isdigit():
        print(order.enabled and named.enabled and twelve.enabled, flush=True)
        continue
    for i in range(int(line)):
        order(i, "tea" if i % 3 else "coffee", i / 2, i % 2 == 0)
        named(item=b"milk", id=-i)
        twelve(*range(i, i + 12))
    print("did", flush=True)
