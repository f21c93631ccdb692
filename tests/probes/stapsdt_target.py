"""Hits its probes as tracers.py has it, through PyPI's stapsdt."""
import ctypes
import os
import struct
import sys

from stapsdt import ArgTypes, Provider

shop = Provider("shop")
order = shop.add_probe("order", ArgTypes.int32, ArgTypes.uint64, ArgTypes.uint64, ArgTypes.uint8)
named = shop.add_probe("named", ArgTypes.int32, ArgTypes.uint64)
twelve = shop.add_probe("twelve", *[ArgTypes.int32] * 6)
if shop.load():  # its load() is true when libstapsdt's fails
    sys.exit("it is not loaded")
print(os.getpid(), flush=True)
for line in sys.stdin:
    if not line.strip().isdigit():
        print(order.is_enabled and named.is_enabled and twelve.is_enabled, flush=True)
        continue
    for i in range(int(line)):
        order.fire(i, "tea" if i % 3 else "coffee", ctypes.c_uint64(struct.unpack("=Q", struct.pack("=d", i / 2))[0]), i % 2 == 0)
        named.fire(-i, "milk")
        twelve.fire(*range(i, i + 6))
    print("did", flush=True)
if shop.unload():
    sys.exit("it is not unloaded")
