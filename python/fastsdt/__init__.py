# SPDX-License-Identifier: BSD-2-Clause
"""Probes of this process or of another one, in user space and without root: traces them,

    with fastsdt.trace("usdt:*:shop:order { @[str(arg1)] = count(); }", pid=4711) as t:
        ...
    print(t.maps)

and makes them.

    order = fastsdt.provider("shop").probe("order", int, str)
    order(5, "tea")

Linux on x86-64 and arm64.
"""
from ._library import BusyError, Error, MisuseError, RefusedError, ScriptError
from ._maps import Bucket, Histogram, Map, Maps, Site, Stats
from ._stacks import Frame, Stack
from ._probes import Probe, Provider, provider
from ._trace import Event, Trace, trace

__all__ = ["Bucket", "BusyError", "Error", "Event", "Frame", "Histogram", "Map", "Maps", "MisuseError", "Probe", "Provider", "RefusedError",
           "ScriptError", "Site", "Stack", "Stats", "Trace", "provider", "trace"]
