# SPDX-License-Identifier: BSD-2-Clause
"""The pictures of a recorded run, as SVG that can be read on a light and on a dark page."""
import os
import re
import statistics

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plot  # noqa: E402  after use()
from matplotlib.backends.backend_agg import FigureCanvasAgg  # noqa: E402

GREY, OPTIMIZED, EMULATED, STEPPED, REFUSED = "#7d8590", "#2da44e", "#3b82d0", "#d9822b", "#cf4a4a"
LINES = (GREY, OPTIMIZED, EMULATED, STEPPED, REFUSED, "#8957e5")  # where colours mean no verdict
OF_VERDICT = {"optimize": OPTIMIZED, "emulate": EMULATED, "xol": STEPPED, "reject": REFUSED}
plot.rcParams.update({
    "svg.fonttype": "none", "svg.hashsalt": "fastsdt", "font.family": "sans-serif", "font.size": 10, "text.color": GREY, "axes.labelcolor": GREY,
    "axes.edgecolor": GREY, "xtick.color": GREY, "ytick.color": GREY, "axes.spines.top": False, "axes.spines.right": False, "legend.frameon": False,
    "figure.facecolor": "none", "axes.facecolor": "none", "savefig.transparent": True})


def color(verdict):
    """An unsafe verdict has the colour of what can be seen of it."""
    return REFUSED if "unsafe" in verdict else OF_VERDICT.get(verdict, GREY)


def check(figure, name):
    """Texts may not overlap; nor may one leave the picture, if that is not cut to what is in it."""
    figure.canvas.draw()
    renderer = FigureCanvasAgg(figure).get_renderer()
    outside = set()  # labels of ticks beyond what an axis shows, which are not drawn
    for axis in (axis for axes in figure.axes for axis in (axes.xaxis, axes.yaxis)):
        low, high = sorted(axis.get_view_interval())
        for tick in (*axis.get_major_ticks(), *axis.get_minor_ticks()):
            if not low <= tick.get_loc() <= high:
                outside |= {tick.label1, tick.label2}
    texts = [(text, text.get_window_extent(renderer)) for text in figure.findobj(matplotlib.text.Text)
             if text not in outside and text.get_visible() and text.get_text().strip()]
    width, height = figure.canvas.get_width_height()
    for text, box in texts:
        if box.x0 < -1 or box.y0 < -1 or box.x1 > width + 1 or box.y1 > height + 1:
            raise ValueError(f"{name}: \"{text.get_text()}\" leaves the picture")
    level = [(text, box) for text, box in texts if text.get_rotation() % 90 == 0]  # the box of a slanted one is larger than itself
    for i, (a, box) in enumerate(level):
        for b, other in level[i + 1:]:
            if min(box.x1, other.x1) - max(box.x0, other.x0) > 1 and min(box.y1, other.y1) - max(box.y0, other.y0) > 1:
                raise ValueError(f"{name}: \"{a.get_text()}\" and \"{b.get_text()}\" overlap")


def save(figure, folder, name, layout=True):
    if layout:
        figure.tight_layout()
    check(figure, name)
    figure.savefig(os.path.join(folder, name + ".svg"), metadata={"Date": None})
    plot.close(figure)


def redis(rows, folder):
    rows = [r for r in rows if r["program"] == "Redis" and "CET" not in r["build"]]
    compiler = rows[0]["compiler"]
    builds = list(dict.fromkeys(r["build"] for r in rows if r["compiler"] == compiler))
    figure, axes = plot.subplots(figsize=(8, 3.2))
    labels = []
    for test in ("SET", "GET"):
        for place in ("", "entry"):
            for build in builds:
                row = next(r for r in rows if (r["compiler"], r["test"], r["probe_at"], r["build"]) == (compiler, test, place, build))
                value = max(row["values"])
                at = len(labels)
                axes.barh(at, value, color=GREY if not place else STEPPED if build == "plain" else EMULATED)
                axes.text(value, at, f" {value:,.0f}", va="center")
                labels.append(f"{test}, {'probed' if place else 'no probe'}, {build}")
    axes.set_yticks(range(len(labels)), labels)
    axes.invert_yaxis()
    axes.xaxis.set_major_formatter("{x:,.0f}")
    axes.set_xlabel(f"requests a second, best of {len(row['values'])} rounds; one counting uprobe on siphash\n({compiler} -O2, 50 clients, 16 requests at a time)")
    axes.margins(x=0.2)  # room for the numbers
    save(figure, folder, "redis")


def hits(rows, folder):
    rows = [r for r in rows if r["threads"] == 1 and r["by"] == "bpf" and "ns" in r and r["site"] != "unprobed"]
    kernels = list(dict.fromkeys(r["kernel"] for r in rows))
    sites = list(dict.fromkeys(r["site"] for r in rows))
    figure, all_axes = plot.subplots(1, len(kernels), figsize=(2.4 + 2.4 * len(kernels), 4), sharey=True, squeeze=False)
    for axes, kernel in zip(all_axes[0], kernels):
        for row in (r for r in rows if r["kernel"] == kernel):
            axes.barh(sites.index(row["site"]), min(row["ns"]), color=color(row["verdict"]))
        axes.set_xscale("log")
        axes.set_xlim(left=100)
        axes.set_yticks(range(len(sites)), sites)
        emulated = next(r for r in rows if r["kernel"] == kernel)["hardware"] == "emulated"
        axes.set_title(kernel + (" (guest)" if emulated else ""), fontsize=10)
        axes.set_xlabel("ns, emulated hardware" if emulated else "ns")
    all_axes[0][0].invert_yaxis()
    legend = [matplotlib.patches.Patch(color=c, label=t)
              for t, c in (("optimized", OPTIMIZED), ("emulated", EMULATED), ("stepped", STEPPED), ("unsafe", REFUSED))]
    figure.legend(handles=legend, loc="lower center", ncol=4)
    figure.tight_layout(rect=(0, 0.08, 1, 1))
    save(figure, folder, "hits", layout=False)


def disabled(rows, folder):
    compiler = rows[0]["compiler"]
    rows = [r for r in rows if r["compiler"] == compiler]
    base = {r["arguments"]: r for r in rows if r["header"] == "none"}
    headers = [h for h in dict.fromkeys(r["header"] for r in rows) if h != "none"]
    figure, (left, right) = plot.subplots(1, 2, figsize=(9, 0.9 + 0.42 * len(headers)), sharey=True)
    for axes, what, label in ((left, "instructions", "instructions a site"), (right, "bytes", "bytes of code a site")):
        for i, (count, shade) in enumerate(zip(base, (0.45, 0.7, 1))):
            values = [next(r for r in rows if r["header"] == h and r["arguments"] == count)[what] - base[count][what] for h in headers]
            axes.barh([k + (i - 1) * 0.27 for k in range(len(headers))], values, 0.25, color=EMULATED, alpha=shade, label=f"{count} arguments")
        axes.set_xlabel(f"{label} ({compiler} -O2)")
    left.set_yticks(range(len(headers)), headers)
    left.invert_yaxis()
    right.legend(fontsize=8)
    save(figure, folder, "disabled")


def growth(rows, folder):
    rows = [r for r in rows if r["what"] == "growth"]
    tools = [k for k in rows[0] if k.endswith("_s")]
    headers = list(dict.fromkeys(r["header"] for r in rows))
    figure, all_axes = plot.subplots(1, len(headers), figsize=(4.2 * len(headers), 3.2), sharey=True, squeeze=False)
    for axes, header in zip(all_axes[0], headers):
        for tool, tint in zip(tools, LINES):
            mine = [r for r in rows if r["header"] == header and tool in r]
            axes.plot([r["sites"] for r in mine], [max(r[tool], 0.001) for r in mine], marker="o", markersize=3, color=tint,
                      label=tool[:-2].replace("bfd", "ld.bfd"))
        axes.set(xscale="log", yscale="log", title=header, xlabel="sites in one file")
    all_axes[0][0].set_ylabel("processor seconds")
    all_axes[0][0].legend(fontsize=8)
    save(figure, folder, "growth")


def tools(rows, folder):
    rows = [{**r, "probes": int(r["file"].split()[0].replace(",", ""))} for r in rows if r.get("file", "").endswith(" probes")]
    figure, (left, right) = plot.subplots(1, 2, figsize=(9, 3.4))
    for axes, value, label in ((left, lambda r: statistics.median(r["seconds"]), "processor seconds"),
                               (right, lambda r: r["megabytes"], "peak memory, MB")):
        for tool, tint in zip(dict.fromkeys(r["tool"] for r in rows), LINES):
            mine = [r for r in rows if r["tool"] == tool]
            axes.plot([r["probes"] for r in mine], [value(r) for r in mine], marker="o", markersize=3, color=tint, label=tool)
        axes.set(xscale="log", yscale="log", xlabel="probes in the file", ylabel=label)
    left.legend(fontsize=8)
    save(figure, folder, "tools")


def kernels(document, folder):
    """The x86-64 table of docs/kernels.md as a grid."""
    text = open(document).read().split("### x86_64")[1]
    lines = [[cell.strip() for cell in line.strip("| \n").split("|")] for line in text.splitlines() if line.startswith("|")]
    head, body = lines[0][1:], []
    for line in lines[2:]:
        if len(line) != len(head) + 1 or line[0] == "pattern":
            break
        body.append(line)
    figure, axes = plot.subplots(figsize=(9, 0.28 * len(body) + 1.2))
    for y, line in enumerate(body):
        for x, cell in enumerate(line[1:]):
            verdict = cell.strip("*")
            axes.add_patch(plot.Rectangle((x + 0.03, y + 0.06), 0.94, 0.88, color=color(verdict), linewidth=0))
            axes.text(x + 0.5, y + 0.5, verdict.replace("optimize, unsafe", "unsafe"), ha="center", va="center", fontsize=7, color="white")
    axes.set(xlim=(0, len(head)), ylim=(len(body), 0))
    axes.set_xticks([x + 0.5 for x in range(len(head))], head, rotation=30, ha="left", rotation_mode="anchor")
    axes.set_yticks([y + 0.5 for y in range(len(body))], [re.sub("`", "", line[0]) for line in body], fontsize=8)
    axes.tick_params(length=0, labeltop=True, labelbottom=False)
    for side in axes.spines.values():
        side.set_visible(False)
    figure.tight_layout(rect=(0, 0, 0.9, 1))  # the last head reaches beyond its column
    save(figure, folder, "kernels", layout=False)


def trace(rows, folder, idle_of):
    """What one event costs, a picture for each job: ours in colour. All rows of a job are of one part of the run, beside each other; one thread.

    @param rows  by part
    """
    jobs = (("a probe, counted", "trace", ("count",)),
            ("a probe, two integers written", "events",
             ("two integers, to a file", "two integers into a snapshot's buffer", "printf of two integers")),
            ("the time between two probes, as a histogram", "trace", ("latency between two probes",)),
            ("a function's entry and exit, counted", "trace", ("count of entries and of exits", "entries and exits, a handler that counts")),
            ("a function's entry and exit, written", "events", ("entries and exits, to a file",)))
    bars = []
    for _, part, actions in jobs:
        least = {}
        for row in rows.get(part, ()):
            if row["what"] == "hit" and row["threads"] == 1 and row["action"] in actions:
                ns = min(row["ns"]) - min(idle_of(rows[part], row)[0]["ns"])
                tool = row["tool"].split()[0] if row["tool"].startswith("fastsdt") else row["tool"]
                least[tool] = min(ns, least.get(tool, ns))
        bars.append(sorted(least.items(), key=lambda bar: bar[1]))
    figure, all_axes = plot.subplots(len(jobs), 1, sharex=True, figsize=(8, 0.3 * sum(map(len, bars)) + 0.45 * len(jobs) + 0.6),
                                     gridspec_kw={"height_ratios": [len(job) for job in bars]})
    for axes, (what, _, _), job in zip(all_axes, jobs, bars):
        for y, (tool, ns) in enumerate(job):
            axes.barh(y, ns, color=OPTIMIZED if tool.startswith("fastsdt") else GREY)
            axes.text(ns, y, f" {ns:,.1f}" if ns < 100 else f" {ns:,.0f}", va="center")
        axes.set(xscale="log", xlim=(0.5, 40000), ylim=(len(job) - 0.4, -0.6))
        axes.set_title(what, loc="left", fontsize=10)
        axes.set_yticks(range(len(job)), [tool for tool, _ in job])
        axes.tick_params(which="both", length=0)
    all_axes[-1].set_xlabel("processor nanoseconds, one thread, logarithmic")
    save(figure, folder, "trace")


def draw(results, folder, idle_of):
    rows = {name: part["rows"] for name, part in results["parts"].items()}
    for part, picture in (("programs", redis), ("hits", hits), ("disabled", disabled), ("build", growth), ("tools", tools)):
        if rows.get(part):
            picture(rows[part], folder)
    if rows.get("trace"):
        trace(rows, folder, idle_of)
    kernels(os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "docs/kernels.md"), folder)
