#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""report.py large|numbers|browser: for report.sh, in its folder. What pages of `fastsdt-trace report` say, and how a browser shows them."""
import collections, json, os, re, struct, sys

BUCKETS, MOST_DEPTH, MOST_LEVELS = 65, 200, 40


def data_of(page):
    """The page's data, found as a browser finds it: up to the first thing that ends a script."""
    text = open(page, encoding="utf-8").read()
    begin = text.index('<script type="application/json" id="data">') + len('<script type="application/json" id="data">')
    end = re.search("</script", text[begin:], re.I).start()
    return json.loads(text[begin:begin + end])


class Calls:
    """The same numbers from the file that `export` writes for Chrome: names, nested slices and nanoseconds."""

    def __init__(self, file):
        self.functions = collections.defaultdict(lambda: {"calls": 0, "total": 0, "self": 0, "times": []})
        self.places = collections.defaultdict(lambda: [0, 0])
        self.ends, self.events = [], 0
        stacks, last = collections.defaultdict(list), {}
        for event in json.load(open(file))["traceEvents"]:
            if event["ph"] not in "BE":
                continue
            stack, at = stacks[event["tid"]], round(event["ts"] * 1000)
            self.last = max(at, getattr(self, "last", 0))
            if event["ph"] == "B":
                stack.append([event["name"], at, 0])
                continue
            name, begin, inner = stack.pop()
            time, of = at - begin, self.functions[name]
            of["calls"] += 1
            of["times"].append(time)
            of["self"] += time - inner
            if name not in [one[0] for one in stack]: # a recursion counts once
                of["total"] += time
            if stack:
                stack[-1][2] += time
            if len(stack) < MOST_DEPTH:
                place = self.places[tuple(one[0] for one in stack) + (name,)]
                place[0] += 1
                place[1] += time
            self.ends.append((time.bit_length(), at))
        assert not any(stacks.values())


def histogram(times):
    return [list(one) for one in sorted(collections.Counter(time.bit_length() for time in times).items())]


def numbers():
    data, calls = data_of("page.html"), Calls("trace.json")
    shown = {one["name"]: one for one in data["functions"]}
    assert set(shown) == set(calls.functions) == {"leaf", "fib", "jumps", "pauses", "thread", "deep", "main"}, shown.keys()
    for name, of in calls.functions.items():
        one, times = shown[name], of["times"]
        got = [one[key] for key in ("calls", "total", "self", "min", "max", "histogram")]
        assert got == [of["calls"], of["total"], of["self"], min(times), max(times), histogram(times)], (name, one, of["calls"], of["total"])
        assert abs(one["mean"] - sum(times) / len(times)) < 1e-6 * max(times) + 1e-6
    # fib(10) is 177 calls, 89 of them of leaf(), nine times; what the program does stands in report.sh.
    assert [shown[name]["calls"] for name in ("fib", "leaf", "pauses", "jumps", "thread", "deep", "main")] == [1593, 801, 9, 9, 3, 301, 1]
    # `functions` counts cycles of the processor's counter, the trace has nanoseconds: each time differs by one at most.
    for row in map(json.loads, open("json")):
        if row.get("type") != "function":
            continue
        one, of = shown.pop(row["data"]["function"]), row["data"]
        assert one["calls"] == of["calls"] and os.path.realpath(one["file"]) == os.path.realpath(of["file"])
        inner = 301 if of["function"] == "deep" else sum(count for path, (count, _) in calls.places.items() if path[-2:-1] == (of["function"],))
        for key, most in (("total", of["calls"]), ("self", of["calls"] + inner), ("min", 1), ("mean", 1), ("max", 1)):
            assert abs(one[key] - of[key + "_ns"]) <= 1.01 * most + 1e-6 * of[key + "_ns"], (key, one, of)
    assert not shown
    # The flame graph's places.
    tree, paths = data["tree"], []
    for function, parent in zip(tree["functions"], tree["parents"]):
        paths.append((paths[parent] if parent >= 0 else ()) + (data["functions"][function]["name"],))
    assert {path: [count, time] for path, count, time in zip(paths, tree["calls"], tree["times"])} == calls.places
    # Heat maps: a call in the row of its time and the column of its end.
    def cells(rows):
        return {(row[0], column): count for row in rows for column, count in zip(row[1::2], row[2::2])}
    columns = data["heat"]["columns"]
    assert data["span"] == calls.last
    wanted = collections.Counter((bucket, min(columns - 1, int(end / (data["span"] + 1) * columns))) for bucket, end in calls.ends)
    assert cells(data["heat"]["all"]) == wanted
    assert data["heat"]["histogram"] == histogram([time for of in calls.functions.values() for time in of["times"]])
    for index, rows in data["heat"]["functions"].items():
        assert sum(cells(rows).values()) == data["functions"][int(index)]["calls"]
    # The timeline has each call, within slices; all but those that are too deep.
    assert len(data["timeline"]["rows"]) == len(data["threads"]) == 4
    drawn = sum(count for row in data["timeline"]["rows"] for level in row["levels"] for count in level[3::4])
    too_deep = 301 - (MOST_LEVELS - 1)
    assert drawn == len(calls.ends) - too_deep, (drawn, len(calls.ends))
    assert data["events"] == 5425 == sum(one["events"] for one in data["threads"])
    assert (data["unfinished"], data["unknown"], data["lost"]) == (9, 0, 0)
    assert sorted(data["cuts"]) == ["102 calls are not in the flame graph: more than 200 calls were open, or there are more than 1048576 places",
                                    f"{too_deep} calls are not in the timeline: more than 40 calls were open"], data["cuts"]
    notes = dict(data["notes"])
    assert notes["traced"] == "./calls" and notes["complete"] == "yes" and notes["summary"].startswith("sites 15 of 15 armed; dropped 0"), notes
    assert int(notes["since"]) <= int(data["begin"]) <= int(data["begin"]) + data["span"] <= int(notes["until"])

    assert {one["name"]: one["calls"] for one in data_of("command.html")["functions"]} == {one["name"]: one["calls"] for one in data["functions"]}
    probes = {one["name"]: one for one in data_of("probes.html")["functions"]}
    assert {name: (one["calls"], one.get("probe", False), "total" in one) for name, one in probes.items()} == {
        "fib": (1593, False, True), "thread": (3, False, True), "calls:leaf": (801, True, False)}, probes
    process = data_of("process.html")
    assert [(one["name"], one["calls"]) for one in process["functions"]] == [("fib", 1593)] and dict(process["notes"])["traced"].startswith("-p ")
    if os.path.exists("samples.html"):
        samples = data_of("samples.html")["samples"]
        assert {"main", "fib"} <= set(samples["names"]), samples["names"]
        roots = sum(time for parent, time in zip(samples["parents"], samples["times"]) if parent < 0)
        assert roots > 20 and f"samples {roots};" in dict(data_of("samples.html")["notes"])["summary"]
    for page in ("lost.html", "lost2.html"):
        lost = data_of(page)
        summary = dict(lost["notes"])["summary"]
        assert lost["lost"] == int(re.search(r"; lost (\d+)", summary).group(1)) > 0 and dict(lost["notes"])["complete"] == "no", summary
    large_numbers()
    # Names: as the tool prints them, and long ones cut.
    names = {one["name"] for one in data_of("hostile.html")["functions"]}
    assert "</script><script>document.documentElement.dataset.owned=1</script><!--" in names, names
    assert "<img src=x onerror=document.documentElement.dataset.owned=2>\"'&amp;$(id)" in names
    assert r"a\x0ab\x09\xe2\x80\xaec\xff\x1b[31m" in names, names # as the tool prints it: printable()
    assert any(name.startswith("ns::<<<") and name.endswith("<…") and len(name) == 1025 for name in names), names
    assert "1 name is cut to 1024 bytes" in data_of("hostile.html")["cuts"]
    for page in ("hostile.html", "hostile2.html"):
        text = open(page, encoding="utf-8").read()
        assert len(re.findall("<script", text, re.I)) == len(re.findall("</script", text, re.I)) == 2 and "<!--" not in text


LARGE = {"functions": 6000, "threads": 70, "rounds": 40_000}


def large_calls():
    """(thread, outer function, inner function, begin, inner's begin and end, end) of each round, each thread after its own clock."""
    clocks = [1000 + 7 * thread for thread in range(LARGE["threads"])]
    for i in range(LARGE["rounds"]):
        thread, outer = i % LARGE["threads"], i % 3000
        at = clocks[thread]
        times = at, at + 40, at + 50 + i % 97, at + 100 + i % 97
        clocks[thread] = times[3] + 30 + 50_000 * (i % 5 == 0)
        yield (thread, outer, 3000 + (i // 3000 + 11 * outer) % 3000, *times)


def large():
    """A trace of more than a page takes of anything, written here: the format is that of CTF 1.8 as fastsdt-trace writes it."""
    os.mkdir("large")
    kinds = ("uprobe", "uretprobe")
    with open("large/metadata", "w") as metadata:
        metadata.write('env { tracer_name = "fastsdt-trace"; tracer_version = "0.1.0"; };\n')
        metadata.write('clock { name = tsc; uuid = "x"; description = "the processor\'s counter"; freq = 1000000000; offset_s = 0; offset = 0; };\n')
        for number in range(2 * LARGE["functions"]):
            name = f"{kinds[number % 2]}:%sf{number // 2}"
            metadata.write(f'event {{ name = "{name % ""}"; id = {number}; stream_id = 0; model.emf.uri = "{name % "/bin/x:"}"; fields := struct {{ }}; }};\n')
    events = collections.defaultdict(list)
    for thread, outer, inner, *times in large_calls():
        events[thread] += zip((2 * outer, 2 * inner, 2 * inner + 1, 2 * outer + 1), times)
    for thread, of in events.items():
        body = b"x\0y\0" + b"".join(struct.pack("<HI", *event) for event in of)
        size = 8 * (88 + len(body))
        with open(f"large/stream_{thread}", "wb") as stream:
            stream.write(struct.pack("<I16sIQ6Qii", 0xC1FC1FC1, b"", 0, thread, of[0][1], of[-1][1], size, size, 0, 0, 77, 100 + thread) + body)


def large_numbers():
    data = data_of("large.html")
    times, places = collections.defaultdict(list), collections.defaultdict(list)
    for _, outer, inner, begin, inner_begin, inner_end, end in large_calls():
        times[f"f{inner}"].append(inner_end - inner_begin)
        times[f"f{outer}"].append(end - begin)
        places[(f"f{outer}",)].append(end - begin)
        places[f"f{outer}", f"f{inner}"].append(inner_end - inner_begin)
    assert data["events"] == 4 * LARGE["rounds"] and len(data["functions"]) == 5000 and os.path.getsize("large.html") < 6_000_000
    for one in data["functions"]:
        of = times[one["name"]]
        assert [one[key] for key in ("calls", "total", "min", "max")] == [len(of), sum(of), min(of), max(of)], one
    tree, paths = data["tree"], []
    assert len(tree["functions"]) == 20_000 < len(places)
    for function, parent in zip(tree["functions"], tree["parents"]):
        name = data["functions"][function]["name"] if function >= 0 else "?"
        paths.append((paths[parent] if parent >= 0 else ()) + (name,))
    least = sorted(map(sum, places.values()))[-20_000]
    for path, count, time in zip(paths, tree["calls"], tree["times"]):
        assert time >= least and ("?" in path or [count, time] == [len(places[path]), sum(places[path])]), (path, count, time)
    assert sum(count for _, count in data["heat"]["histogram"]) == 2 * LARGE["rounds"] and len(data["heat"]["functions"]) == 50
    rows = data["timeline"]["rows"]
    slices = [level[i:i + 4] for row in rows for level in row["levels"] for i in range(0, len(level), 4)]
    assert len(rows) == 64 and len(data["threads"]) == 70 and 30_000 < len(slices) <= 60_000, len(slices)
    of_rows = sum(2 for thread, *_ in large_calls() if thread in [row["thread"] for row in rows])
    assert sum(count for *_, count in slices) == of_rows
    # A slice of one call is that call's; what was joined is shorter than the page says.
    begins = collections.defaultdict(set)
    for thread, outer, inner, begin, inner_begin, inner_end, end in large_calls():
        begins[thread].update({(begin - 1000, end - begin, f"f{outer}"), (inner_begin - 1000, inner_end - inner_begin, f"f{inner}")})
    for row in rows:
        for level in row["levels"]:
            at = 0
            for begin, time, function, count in zip(*[iter(level)] * 4):
                at += begin
                if count == 1 and function >= 0:
                    assert (at, time, data["functions"][function]["name"]) in begins[row["thread"]], (at, time, function)
                assert count == 1 or time < data["timeline"]["shortest"], (time, count)
    said = [f"5000 of {len(times)} functions and probes", f"20000 of {len(places)} places", "64 of 70 threads",
            f"50 of {len(times)} functions have a heat map"]
    assert len(data["cuts"]) == 4 and all(one.startswith(start) for one, start in zip(sorted(data["cuts"]), sorted(said))), data["cuts"]
    assert [key for key, _ in data["notes"]] == ["tracer_version"]


SIZES = [(1280, 800), (390, 844)]
# The luminance of a colour, by WCAG.
LIGHT = """const light = text => {
  const [r, g, b] = text.match(/[\\d.]+/g).map(x => x / 255).map(x => x <= 0.04045 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4);
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
};"""


def browser():
    from browser import Browser
    data = data_of("page.html")
    program = Browser()

    def page(name, width, height, dark):
        url = "file://" + os.path.realpath(name)
        program.open(url, width, height, dark)
        assert program.ask("document.documentElement.dataset.drawn") == "yes", name
        return url

    def quiet(url, what):
        """No error, no message and no request but for the page itself."""
        for event in program.take():
            assert event["method"] not in ("Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded"), (what, event)
            if event["method"] == "Network.requestWillBeSent":
                assert event["params"]["request"]["url"] == url, (what, event["params"]["request"]["url"])

    def shown():
        rows = program.ask("[...document.querySelectorAll('#table-rows tr')].map(row => [row.querySelector('button').textContent, "
                           "[...row.querySelectorAll('td[data-value]')].map(cell => Number(cell.dataset.value))])")
        return rows

    def ordered(key, up):
        rows = sorted(((one[key], -index if not up else index, one["name"]) for index, one in enumerate(data["functions"])), reverse=not up)
        return [name for _, _, name in rows]

    def click(selector):
        program.ask(f"document.querySelector({json.dumps(selector)}).scrollIntoView({{block: 'center'}})")
        x, y = program.ask(f"(box => [box.x + box.width / 2, box.y + box.height / 2])(document.querySelector({json.dumps(selector)}).getBoundingClientRect())")
        program.mouse(x, y)

    backs = {}
    for width, height in SIZES:
        for dark in (False, True):
            what = f"{width}x{height} {'dark' if dark else 'light'}"
            url = page("page.html", width, height, dark)
            assert program.ask("document.documentElement.scrollWidth") <= width, what
            # Colours, by the contrast that WCAG's AA wants.
            contrast = program.ask(f"(() => {{ {LIGHT}" + """
              const back = one => { while (one && /rgba\\(.*, 0\\)|transparent/.test(getComputedStyle(one).backgroundColor)) one = one.parentElement;
                                    return getComputedStyle(one || document.body).backgroundColor; };
              const all = [...document.querySelectorAll("h1, h2, h3, p, a, th, td, li, label, button, figcaption, output, input, select")];
              return Math.min(...all.map(one => { const [a, b] = [light(getComputedStyle(one).color), light(back(one))].sort((x, y) => y - x);
                                                  return (a + 0.05) / (b + 0.05); }));
            })()""")
            assert contrast >= 4.5, (what, contrast)
            frames = program.ask(f"(() => {{ {LIGHT}" + """
              return Math.min(...[...document.querySelectorAll("g.frame")].map(one => { const [a, b] = [light(getComputedStyle(one.querySelector("rect")).fill),
                light(getComputedStyle(one.querySelector("div")).color)].sort((x, y) => y - x); return (a + 0.05) / (b + 0.05); })); })()""")
            assert frames >= 4.5, (what, frames)
            backs[dark] = program.ask("getComputedStyle(document.body).backgroundColor")
            # The table's numbers are the data's, and it sorts: the largest own time first; with a click and with keys.
            assert [name for name, _ in shown()] == ordered("self", False), (what, shown())
            for name, values in shown():
                one = next(one for one in data["functions"] if one["name"] == name)
                assert values == [one[key] for key in ("calls", "total", "self", "min", "mean", "max")], (what, name)
            click("[data-column=calls] button")
            assert [name for name, _ in shown()] == ordered("calls", False), (what, shown())
            program.key("Enter")
            assert [name for name, _ in shown()] == ordered("calls", True), (what, shown())
            assert program.ask("[...document.querySelectorAll('[aria-sort]')].map(one => one.dataset.column + ' ' + one.getAttribute('aria-sort')).join()"
                               ) == "calls ascending"
            click("[data-column=name] button")
            assert [name for name, _ in shown()] == sorted(one["name"] for one in data["functions"]), what
            # Names with a text; then up and down, and a function is chosen.
            click("#table-find")
            program("Input.insertText", text="EA") # of whatever case
            assert [name for name, _ in shown()] == ["leaf", "thread"], (what, shown())
            program.ask("document.querySelector('#table-rows button').focus()")
            program.key("ArrowDown")
            assert program.ask("document.activeElement.textContent") == "thread", what
            program.key("Enter")
            assert program.ask("document.querySelector('tr[aria-current=true] button').textContent") == "thread", what
            assert program.ask("document.querySelector('#latency-of').selectedOptions[0].textContent") == "thread", what
            program.key("ArrowUp")
            assert program.ask("document.activeElement.textContent") == "leaf", what
            # The flame graph by its keys: all calls, those of thread(), the largest of what it calls; Enter enlarges it, Escape shows all.
            root = program.ask("document.querySelector('#flame-at').textContent")
            assert root.startswith("all calls: "), (what, root)
            program.ask("document.querySelector('#flame-graph').focus()")
            program.key("ArrowDown")
            tree = data["tree"]
            of = [data["functions"][function]["name"] for function in tree["functions"]]
            first = next(i for i in range(len(of)) if tree["parents"][i] < 0 and of[i] == "thread")
            # It is beside main(), which waits for the threads: the larger of both is the left one.
            if program.ask("document.querySelector('#flame-at').textContent").startswith("main: "):
                program.key("ArrowRight")
                program.key("ArrowLeft")
                program.key("ArrowRight")
            assert program.ask("document.querySelector('#flame-at').textContent").startswith("thread: "), what
            program.key("ArrowDown")
            second = max((i for i in range(len(of)) if tree["parents"][i] == first), key=lambda i: tree["times"][i])
            at = program.ask("document.querySelector('#flame-at').textContent")
            assert at.startswith(of[second] + ": ") and f"{tree['calls'][second]} call" in at, (what, at)
            program.key("Enter")
            here = "(() => { const [rect, all] = [document.querySelector('g.here rect'), document.querySelector('#flame-graph svg')]; " \
                "return rect.getBoundingClientRect().width / all.getBoundingClientRect().width; })()"
            program.ask(f"new Promise(done => {{ const look = () => {here} > 0.99 ? done() : requestAnimationFrame(look); look(); }})")
            program.key("ArrowUp")
            assert program.ask("document.querySelector('#flame-at').textContent").startswith(of[first] + ": "), what
            program.key("Escape")
            assert program.ask("document.querySelector('#flame-at').textContent") == root, what
            click("#flame-find")
            program("Input.insertText", text="pauses")
            found = [i for i in range(len(of)) if of[i] == "pauses"]
            whole = sum(time for time, parent in zip(tree["times"], tree["parents"]) if parent < 0)
            said = program.ask("document.querySelector('#flame-found').textContent")
            share = float(re.fullmatch(r"1 place, ([\d.]+) %", said).group(1))
            assert len(found) == 1 and abs(share - 100 * tree["times"][found[0]] / whole) <= 0.051, (what, said)
            # The charts are not empty: a canvas has more than one colour; the cursor tells what is there.
            click("#latency-of")
            program.key("Escape")
            program.ask("(select => { select.value = -1; select.dispatchEvent(new Event('change')); })(document.querySelector('#latency-of'))")
            for chart in ("histogram", "heat", "timeline-chart"):
                colors = program.ask(f"""(canvas => {{ const {{ data }} = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
                  return new Set(new Uint32Array(data.buffer)).size; }})(document.querySelector("#{chart} canvas"))""")
                assert colors > 10, (what, chart, colors)
            program.ask("document.querySelector('#histogram').scrollIntoView({block: 'center'})")
            x, y, w, h = program.ask("(box => [box.x, box.y, box.width, box.height])(document.querySelector('#histogram .u-over').getBoundingClientRect())")
            bars = data["heat"]["histogram"]
            buckets = bars[-1][0] - bars[0][0] + 1
            bucket, count = max(bars, key=lambda one: one[1])
            program.mouse(x + w * (bucket - bars[0][0] + 0.5) / buckets, y + h / 2, "mouseMoved")
            program.ask("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
            said = program.ask("document.querySelector('#histogram-at').textContent")
            assert f": {count:,} calls, " in said, (what, said)
            # The timeline: keys enlarge and move it.
            program.ask("document.querySelector('#timeline-chart').focus()")
            program.key("+")
            half = program.ask("document.querySelector('#timeline-at').textContent")
            program.key("ArrowLeft")
            moved = program.ask("document.querySelector('#timeline-at').textContent")
            program.key("Home")
            assert half != moved and program.ask("document.querySelector('#timeline-at').textContent").startswith("0 ns to "), (what, half, moved)
            # Each thing that takes keys can be reached by Tab.
            reached = program.ask("[...document.querySelectorAll('a, button:not([hidden]), input, select, [tabindex]')].every(one => one.tabIndex >= 0)")
            assert reached, what
            unseen = program.ask("[...document.querySelectorAll('#unseen-list li')].map(one => one.textContent)")
            assert any("9 calls did not return" in one for one in unseen) and any("102 calls are not in the flame graph" in one
                for one in unseen), unseen
            assert program.ask("document.querySelectorAll('#threads tr').length") == 4
            assert program.ask("document.querySelector('#state').className") == "complete", what
            quiet(url, what)
    assert backs[False] != backs[True]

    # Names stay text: nothing of them runs, and no element is made of them.
    for name in ("hostile.html", "hostile2.html"):
        for width, height in SIZES:
            url = page(name, width, height, False)
            names = program.ask("[...document.querySelectorAll('#table-rows button')].map(one => one.textContent)")
            assert sorted(names) == sorted(one["name"] for one in data_of(name)["functions"]), names
            assert program.ask("document.documentElement.scrollWidth") <= width, (name, width, program.ask("document.documentElement.scrollWidth"))
            assert program.ask("document.documentElement.dataset.owned") is None
            assert program.ask("document.querySelectorAll('img, iframe, svg[onload], script').length") == 2, name
            quiet(url, name)
    # Such a script would not run even if it stood in the page.
    program.ask("document.body.append(Object.assign(document.createElement('script'), { textContent: 'document.documentElement.dataset.owned = 5' }))")
    assert program.ask("document.documentElement.dataset.owned") is None
    program.take()

    # The largest page; whoever killed the tool, or an older one, left no word on what is missing.
    url = page("large.html", 390, 844, True)
    assert program.ask("document.querySelectorAll('#table-rows tr').length") == 15
    assert program.ask("document.querySelector('#table-more').textContent") == "150 more rows"
    click("#table-more")
    assert program.ask("document.querySelectorAll('#table-rows tr').length") == 165
    assert "was killed" in program.ask("document.querySelector('#state').textContent") and program.ask("document.documentElement.scrollWidth") <= 390
    quiet(url, "large")

    # One without a single event.
    url = page("there.html", 1280, 800, True)
    assert "nothing matched" in program.ask("document.querySelector('#unseen-list').textContent")
    assert program.ask("document.querySelectorAll('#table-rows tr').length") == 0
    assert program.ask("document.querySelector('#state').className") == "incomplete"
    quiet(url, "no events")

    # What a page says where there is less: events were lost; no calls; samples.
    url = page("lost.html", 1280, 800, False)
    assert program.ask("document.querySelector('#state').className") == "incomplete"
    quiet(url, "lost")
    if os.path.exists("samples.html"):
        url = page("samples.html", 390, 844, True)
        assert program.ask("[...document.querySelectorAll('#flame-kinds button')].map(one => one.textContent + ' ' + one.getAttribute('aria-pressed')).join()"
                           ) == "Calls true,Samples false"
        click("#flame-kinds button:nth-child(2)")
        assert re.match(r"all samples: [\d,]+ samples?, 100.0 %", program.ask("document.querySelector('#flame-at').textContent"))
        quiet(url, "samples")
    program.close()


if __name__ == "__main__":
    {"large": large, "numbers": numbers, "browser": browser}[sys.argv[1]]()
