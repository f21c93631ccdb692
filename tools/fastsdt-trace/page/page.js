// SPDX-License-Identifier: BSD-2-Clause
// Draws the page of `fastsdt-trace report`. `parts` has what others made (parts/). Every text goes into the page as text, never as HTML.
"use strict";
(() => {
const { flamegraph, select, uPlot } = parts;
const byId = id => document.getElementById(id);
const nothing = { functions: [], notes: [], threads: [], cuts: [], events: 0, span: 0, tree: { functions: [] }, timeline: { rows: [] },
  heat: { functions: [] } };
const data = { ...nothing, ...JSON.parse(byId("data").textContent) };
const functions = data.functions;
const notes = Object.fromEntries(data.notes.filter(([key]) => !key.startsWith("said")));
const said = data.notes.filter(([key]) => key.startsWith("said")).map(([, text]) => text);

// ---- Texts

const number = value => value.toLocaleString("en");
const compact = value => Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 2 }).format(value); // "1.5M"
const plural = (count, one, many) => `${number(count)} ${count === 1 ? one : many || one + "s"}`;
const durations = [["s", 1e9], ["ms", 1e6], ["us", 1e3], ["ns", 1]];
function duration(ns, digits = 3) {
  const [unit, size] = durations.find(([, least]) => ns >= least) || durations[3];
  return `${(ns / size).toFixed(size === 1 ? 0 : digits)} ${unit}`;
}
// At an axis: no more digits than it takes. short: of what need not be exact.
function tick(ns, shorten = value => value.toFixed(6)) {
  const [unit, size] = durations.find(([, least]) => ns >= least) || durations[3];
  return `${Number(shorten(ns / size))} ${unit}`;
}
const short = ns => tick(ns, value => value.toPrecision(3));
const percent = part => `${(100 * part).toFixed(part < 0.1 ? 2 : 1)} %`;
const least = bucket => bucket === 0 ? 0 : 2 ** (bucket - 1); // of a power of two's times
const range = bucket => bucket < 2 ? `${bucket} ns` : `${short(least(bucket))} to ${short(2 ** bucket)}`;
const nameOf = index => index < 0 ? "(others)" : functions[index].name;
const date = ns => new Date(Number(BigInt(ns) / 1000000n)).toISOString().replace("T", " ").replace("Z", " UTC");
const style = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

function element(name, properties = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(properties))
    if (key in made)
      made[key] = value;
    else
      made.setAttribute(key, value);
  made.append(...children);
  return made;
}

// The same function has the same colour everywhere.
function color(name) {
  let hash = 0x811c9dc5; // FNV-1a
  for (let i = 0; i < name.length; ++i)
    hash = Math.imul(hash ^ name.charCodeAt(i), 0x01000193) >>> 0;
  return `hsl(${(hash ^ hash >>> 15) % 360}, ${style("--frame-saturation")}, ${style("--frame-lightness")})`;
}
let colors = new Map();
function colorOf(index) {
  if (!colors.has(index))
    colors.set(index, index < 0 ? style("--line") : color(functions[index].name));
  return colors.get(index);
}

// ---- What is selected

let selected = -1; // a function, or all
const listeners = [];
function choose(index) {
  selected = index;
  for (const listener of listeners)
    listener();
}

// ---- Head

const calls = functions.reduce((sum, one) => sum + (one.probe ? 0 : one.calls), 0);
const pids = new Set(data.threads.map(one => one.pid));
const programs = [...new Set(data.threads.map(one => one.process))].slice(0, 3).join(", ");
byId("title").textContent = [programs, notes.traced].filter(Boolean).join(": ") || "a trace";
document.title = `${byId("title").textContent} - fastsdt-trace report`;
byId("facts").textContent = [plural(data.events, "event"), plural(calls, "call"), plural(data.threads.length, "thread") + " of "
  + plural(pids.size, "process", "processes"), duration(data.span), data.events ? `from ${date(data.begin)}` : ""].filter(Boolean).join(", ");
byId("made").textContent = `Made by fastsdt-trace ${data.version}. This file needs no network.`;

// The Python package shows a flame graph alone, of a script's map.
if (data.only) {
  for (const part of document.querySelectorAll("header, footer, .skip, section:not(#flame)"))
    part.hidden = true;
  document.title = byId("flame-heading").textContent = data.only.title;
  byId("flame-hint").textContent = byId("flame-hint").textContent.replace(/^[^.]*\. /, "");
}

// ---- What was not seen

const unseen = [];
if (notes.summary)
  unseen.push(`The report: ${notes.summary}`);
else
  unseen.push("The trace does not say how the recording ended: the tool was killed, or it is of an older version");
unseen.push(...said);
if (data.lost)
  unseen.push(`${plural(data.lost, "event was", "events were")} lost when the trace was recorded`
    + (data.interrupted ? `: ${plural(data.interrupted, "call")} that had begun end there, and are in no column but calls, total and self` : ""));
if (data.unfinished)
  unseen.push(`${plural(data.unfinished, "call")} did not return, by longjmp(), an exception or the end: each ends where a call further out returned, `
    + "or with its thread");
if (data.unknown)
  unseen.push(`${plural(data.unknown, "return has", "returns have")} no entry, and ${data.unknown === 1 ? "is" : "are"} not counted`);
const untimed = functions.filter(one => !one.probe && one.total === undefined);
if (untimed.length)
  unseen.push(`${plural(untimed.length, "function has", "functions have")} calls and no times: their exits are not armed, `
    + "and their time is in their caller's own");
if (notes.since)
  unseen.push(`Nothing from before ${date(notes.since)} and after ${date(notes.until)}; only the processes below`);
for (const cut of data.cuts)
  unseen.push(`For the size of this page: ${cut}`);
byId("unseen-list").append(...unseen.map(text => element("li", { textContent: text })));
const complete = notes.complete === "yes" && !data.lost;
byId("state").textContent = complete ? `Nothing was lost: ${notes.summary}` : `Something is missing: ${notes.summary || unseen[0]}`;
byId("state").className = complete ? "complete" : "incomplete";
const threadName = ({ name, tid }) => tid ? `${name} ${tid}` : name; // a goroutine's name has its number
byId("threads").append(...data.threads.map(one => element("tr", {},
  element("td", { textContent: `${one.process} ${one.pid}` }), element("td", { textContent: threadName(one) }),
  ...[number(one.events), number(one.lost), duration(one.first), duration(one.last)].map(text => element("td", { className: "number", textContent: text })))));

// ---- Flame graph

const graph = byId("flame-graph");
const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
const narrowest = 1; // pixels of a frame that is drawn
let chart, root, here, kind = 0;
const kinds = [];
const known = new Map(functions.map((one, index) => [one.name, index]));
function treeOf({ functions: of, names, parents, calls: counts, times }, what) {
  const top = { name: what, value: 0, children: [], index: -2, calls: 0 };
  const nodes = of.map((index, i) => names
    ? { name: names[index], index: known.get(names[index]) ?? -1, value: times[i], calls: 0, children: [] }
    : { name: nameOf(index), index, value: times[i], calls: counts[i], children: [] });
  nodes.forEach((node, i) => {
    const parent = parents[i] < 0 ? top : nodes[parents[i]];
    parent.children.push(node);
    if (parent === top) {
      top.value += node.value;
      top.calls += node.calls;
    }
  });
  const sort = node => (node.children.sort((a, b) => b.value - a.value), node.children.forEach(sort));
  sort(top);
  return top;
}
if (data.tree.functions.length)
  kinds.push({ name: "Calls", top: treeOf(data.tree, "all calls"), text: duration });
if (data.samples)
  kinds.push({ name: "Samples", top: treeOf(data.samples, data.only ? "all" : "all samples"), text: value => plural(value, data.only?.unit || "sample") });

function textOf(node) {
  const { name, value, calls: count } = node.data;
  const { top, text } = kinds[kind];
  const self = value - node.data.children.reduce((sum, child) => sum + child.value, 0);
  return `${name}: ${text(value)}, ${percent(value / (top.value || 1))}; ${text(self)} of its own${count ? "; " + plural(count, "call") : ""}`;
}
function at(node) {
  here = node;
  byId("flame-at").textContent = textOf(node);
  mark();
}
function mark() {
  select(graph).selectAll("g.frame").classed("here", d => d === here);
  const frame = graph.querySelector("g.here");
  if (frame && document.activeElement === graph)
    frame.scrollIntoView({ block: "nearest", inline: "nearest" });
}
const isDrawn = node => node.x1 - node.x0 > narrowest / chart.width();
function zoom(node) {
  chart.zoomTo(node);
  at(node);
}
function drawFlame() {
  graph.textContent = "";
  if (!kinds.length) {
    graph.append(element("p", { textContent: "No calls were recorded: the flame graph is of functions' entries and exits (--functions)." }));
    return;
  }
  chart = flamegraph().width(Math.max(280, graph.clientWidth)).cellHeight(19).inverted(true).minFrameSize(narrowest).selfValue(false)
    .transitionDuration(still ? 0 : 250).resetHeightOnZoom(true)
    .label(textOf)
    .onClick(node => { at(node); if (node.data.index >= 0) choose(node.data.index); })
    .onHover(node => { byId("flame-at").textContent = textOf(node); })
    .setDetailsHandler(() => {})
    .setSearchMatch((node, text) => text !== "" && node.data.name.toLowerCase().includes(text.toLowerCase()))
    .setSearchHandler((found, sum) => {
      byId("flame-found").textContent = `${plural(found.length, "place")}, ${percent(sum / (kinds[kind].top.value || 1))}`;
    })
    .setColorMapper(({ highlight, data: { index, name } }) => highlight ? style("--mark") : index === -2 ? style("--line")
      : index >= 0 ? colorOf(index) : color(name));
  select(graph).datum(structuredClone(kinds[kind].top)).call(chart);
  root = select(graph).datum();
  at(root);
  find();
}
function find() {
  const text = byId("flame-find").value;
  if (!chart)
    return;
  if (text) {
    chart.search(text);
  } else {
    chart.clear();
    byId("flame-found").textContent = "";
  }
  mark();
}
byId("flame-find").addEventListener("input", find);
byId("flame-reset").addEventListener("click", () => chart && zoom(root));
graph.addEventListener("keydown", event => {
  if (!chart || event.ctrlKey || event.altKey || event.metaKey)
    return;
  const siblings = here.parent ? here.parent.children.filter(isDrawn) : [here];
  const next = {
    ArrowUp: () => here.parent,
    ArrowDown: () => (here.children || []).find(isDrawn),
    ArrowLeft: () => siblings[siblings.indexOf(here) - 1],
    ArrowRight: () => siblings[siblings.indexOf(here) + 1],
    Home: () => root,
  }[event.key];
  if (next) {
    const node = next();
    if (node)
      at(node);
  } else if (event.key === "Enter") {
    zoom(here);
  } else if (event.key === "Escape") {
    zoom(root);
  } else {
    return;
  }
  event.preventDefault();
});
if (kinds.length > 1)
  kinds.forEach((one, i) => {
    const button = element("button", { type: "button", textContent: one.name, onclick: () => { kind = i; pressed(); drawFlame(); } });
    byId("flame-kinds").append(button);
  });
function pressed() {
  [...byId("flame-kinds").children].forEach((button, i) => button.setAttribute("aria-pressed", i === kind));
}
pressed();

// ---- Table

const columns = [["name", "function or probe"], ["calls", "calls", number], ["total", "total", duration], ["self", "self", duration],
  ["min", "min", duration], ["mean", "mean", duration], ["max", "max", duration], ["file", "file"]];
const titles = { calls: "how often", total: "time with what it called; a recursion counts once", self: "time without what it called",
  min: "of one call", mean: "of a call", max: "of one call" };
const isText = key => key === "name" || key === "file";
const page = 15; // rows that are shown at first
let sorted = "self", up = false, shown = page;
const files = new Set(functions.map(one => one.file));
if (files.size === 1) {
  columns.pop();
  byId("table-file").textContent = `All of ${[...files][0]}`;
}
for (const [key, title, text] of columns) {
  const button = element("button", { type: "button", textContent: title, title: titles[key] || "", onclick: () => sortBy(key) });
  byId("table-head").append(element("th", { scope: "col", className: text ? "number" : "", "data-column": key }, button));
}
function sortBy(key) {
  up = sorted === key ? !up : isText(key);
  sorted = key;
  drawTable();
}
function drawTable() {
  const words = byId("table-find").value.toLowerCase();
  const rows = functions.map((one, index) => ({ one, index })).filter(({ one }) => one.name.toLowerCase().includes(words));
  // What has no value comes last, whatever the order is.
  rows.sort((a, b) => {
    const x = a.one[sorted], y = b.one[sorted];
    if (x === undefined || y === undefined)
      return (x === undefined) - (y === undefined) || a.index - b.index;
    const order = isText(sorted) ? (x < y ? -1 : x > y ? 1 : 0) : x - y;
    return (up ? order : -order) || a.index - b.index;
  });
  for (const head of byId("table-head").children) {
    if (head.dataset.column === sorted)
      head.setAttribute("aria-sort", up ? "ascending" : "descending");
    else
      head.removeAttribute("aria-sort");
  }
  byId("table-rows").replaceChildren(...rows.slice(0, shown).map(({ one, index }) => {
    const row = element("tr", { "data-function": index });
    for (const [key, , text] of columns) {
      const cell = element("td", { className: text ? "number" : "" });
      if (key === "name")
        cell.append(element("button", { type: "button", textContent: one.name, onclick: () => choose(index) }));
      else if (one[key] === undefined)
        cell.textContent = "-";
      else
        cell.textContent = text ? text(one[key]) : one[key];
      if (text && one[key] !== undefined)
        cell.dataset.value = one[key];
      row.append(cell);
    }
    return row;
  }));
  byId("table-found").textContent = (rows.length === functions.length ? "" : `${number(rows.length)} of `) + plural(functions.length, "row");
  byId("table-more").hidden = rows.length <= shown;
  byId("table-more").textContent = `${plural(Math.min(10 * page, rows.length - shown), "more row")}`;
  showSelected();
}
function showSelected() {
  for (const row of byId("table-rows").children)
    row.setAttribute("aria-current", Number(row.dataset.function) === selected);
}
listeners.push(showSelected);
byId("table-find").addEventListener("input", drawTable);
byId("table-more").addEventListener("click", () => { shown += 10 * page; drawTable(); });
// Up and down go from name to name.
byId("table-rows").addEventListener("keydown", event => {
  const way = { ArrowDown: "nextElementSibling", ArrowUp: "previousElementSibling" }[event.key];
  const row = way && event.target.closest("tr")[way];
  if (!row)
    return;
  row.querySelector("button").focus();
  event.preventDefault();
});

// ---- Charts

// uPlot draws on a canvas, with the colours of that moment.
function axis(more) {
  return { stroke: style("--text"), grid: { stroke: style("--line"), width: 0.5 }, ticks: { stroke: style("--line") }, ...more };
}
const charts = new Map(); // by the element they are in
function draw(where, options, values) {
  if (charts.has(where))
    charts.get(where).destroy();
  where.textContent = "";
  charts.delete(where);
  if (!values) {
    where.append(element("p", { textContent: "There are no times of it." }));
    return;
  }
  charts.set(where, new uPlot({ width: Math.max(200, where.clientWidth), legend: { show: false }, ...options }, values, where));
}
const times = more => axis({ values: (_, splits) => splits.map(ns => tick(ns)), space: 90, size: 36, ...more });
// Powers of two, of which as many have a text as there is room for.
function powers(room, more) {
  return axis({
    splits: (_, __, low, high) => Array.from({ length: Math.floor(high) - Math.ceil(low) + 1 }, (___, i) => Math.ceil(low) + i),
    filter: (_, splits) => splits.map((bucket, i) => i % Math.ceil(splits.length / Math.max(2, room)) ? null : bucket),
    values: (_, splits) => splits.map(bucket => bucket === null ? "" : short(least(bucket))),
    ...more,
  });
}

function drawLatency() {
  const histogram = selected < 0 ? data.heat.histogram : functions[selected].histogram;
  const cells = selected < 0 ? data.heat.all : data.heat.functions[selected];
  byId("latency-of").value = selected;
  byId("heat-at").textContent = byId("histogram-at").textContent = "\u00a0";
  if (!histogram || !histogram.length) {
    draw(byId("histogram"));
    draw(byId("heat"));
    return;
  }
  const first = histogram[0][0], last = histogram[histogram.length - 1][0];
  const buckets = Array.from({ length: last - first + 1 }, (_, i) => first + i);
  const counts = buckets.map(() => 0);
  for (const [bucket, count] of histogram)
    counts[bucket - first] = count;
  const sum = counts.reduce((a, b) => a + b, 0);
  // Up to which power of two so large a part of the calls took.
  const below = part => {
    let i = 0;
    for (let passed = counts[0]; passed < part * sum; passed += counts[++i]);
    return short(2 ** buckets[i]);
  };
  const summary = `${plural(sum, "call")}; half took less than ${below(0.5)}, 99 % less than ${below(0.99)}`;
  byId("histogram-at").textContent = summary;
  draw(byId("histogram"), {
    height: 240,
    scales: { x: { time: false, range: [first - 0.5, last + 0.5] }, y: { range: (_, __, most) => [0, most * 1.05] } },
    cursor: { y: false, drag: { x: false } },
    axes: [powers(byId("histogram").clientWidth / 80, { size: 36 }), axis({ size: 56, values: (_, splits) => splits.map(compact) })],
    series: [{}, { fill: style("--accent"), stroke: style("--accent"), paths: uPlot.paths.bars({ size: [0.9] }), points: { show: false } }],
    hooks: { setCursor: [u => {
      const i = u.cursor.idx;
      byId("histogram-at").textContent = i === null || i === undefined ? summary
        : `${range(buckets[i])}: ${plural(counts[i], "call")}, ${percent(counts[i] / sum)}`;
    }] },
  }, [buckets, counts]);
  if (!cells) {
    draw(byId("heat"));
    return;
  }
  const width = (data.span + 1) / data.heat.columns;
  const counted = new Map();
  let most = 1;
  for (const [bucket, ...row] of cells)
    for (let i = 0; i < row.length; i += 2) {
      counted.set(bucket * data.heat.columns + row[i], row[i + 1]);
      most = Math.max(most, row[i + 1]);
    }
  draw(byId("heat"), {
    height: 240,
    scales: { x: { time: false, range: (_, low, high) => [low, high] }, y: { range: [first, last + 1] } },
    cursor: { points: { show: false } },
    axes: [times(), powers(9, { size: 64 })],
    series: [{}, { show: true, paths: () => null, points: { show: false } }],
    hooks: {
      draw: [u => {
        u.ctx.save();
        u.ctx.beginPath();
        u.ctx.rect(u.bbox.left, u.bbox.top, u.bbox.width, u.bbox.height);
        u.ctx.clip();
        u.ctx.fillStyle = style("--accent");
        for (const [key, count] of counted) {
          const bucket = Math.floor(key / data.heat.columns), column = key % data.heat.columns;
          const left = u.valToPos(column * width, "x", true), right = u.valToPos((column + 1) * width, "x", true);
          const top = u.valToPos(bucket + 1, "y", true), bottom = u.valToPos(bucket, "y", true);
          u.ctx.globalAlpha = 0.2 + 0.8 * Math.log(count + 1) / Math.log(most + 1);
          u.ctx.fillRect(left, top, Math.max(1, right - left), bottom - top);
        }
        u.ctx.restore();
      }],
      setCursor: [u => {
        const { left, top } = u.cursor;
        if (left < 0 || top < 0) {
          byId("heat-at").textContent = "\u00a0";
          return;
        }
        const column = Math.floor(u.posToVal(left, "x") / width), bucket = Math.floor(u.posToVal(top, "y"));
        const count = counted.get(bucket * data.heat.columns + column) || 0;
        byId("heat-at").textContent = `at ${duration(column * width)}: ${plural(count, "call")} of ${range(bucket)}`;
      }],
    },
  }, [[0, Math.max(1, data.span)], [first, last]]);
}
const timed = functions.map((one, index) => ({ one, index })).filter(({ one }) => one.histogram);
byId("latency-of").append(element("option", { value: -1, textContent: "all functions" }),
  ...timed.map(({ one, index }) => element("option", { value: index, textContent: one.name.length > 120 ? one.name.slice(0, 120) + "…" : one.name })));
byId("latency-of").addEventListener("change", event => choose(Number(event.target.value)));
listeners.push(drawLatency);

// ---- Timeline

const levelHeight = 15, headHeight = 20; // pixels
const rows = data.timeline.rows.map(({ thread, levels }) => ({ thread: data.threads[thread], levels: levels.map(slices => {
  const found = { begin: [], time: [], of: [], count: [] };
  let begin = 0;
  for (let i = 0; i < slices.length; i += 4) {
    begin += slices[i];
    found.begin.push(begin);
    found.time.push(slices[i + 1]);
    found.of.push(slices[i + 2]);
    found.count.push(slices[i + 3]);
  }
  return found;
}) })).filter(row => row.levels.length).sort((a, b) => a.thread.pid - b.thread.pid || a.thread.first - b.thread.first);
let height = 0;
for (const row of rows) {
  row.hasMoments = row.levels[0].begin.length > 0;
  if (!row.hasMoments)
    row.levels.shift();
  row.top = height;
  height += headHeight + row.levels.length * levelHeight + 6;
}
const isProbe = index => index >= 0 && functions[index].probe === true;
// The last one that begins at this time or before.
function lastBefore(begins, time) {
  let low = 0, high = begins.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (begins[middle] <= time)
      low = middle + 1;
    else
      high = middle;
  }
  return low - 1;
}
function sliceAt(u) {
  const time = u.posToVal(u.cursor.left, "x"), y = u.cursor.top;
  const row = rows.find(one => y >= one.top && y < one.top + headHeight + one.levels.length * levelHeight);
  const level = row && row.levels[Math.floor((y - row.top - headHeight) / levelHeight)];
  if (!level)
    return null;
  const i = lastBefore(level.begin, time), pixel = (u.scales.x.max - u.scales.x.min) / u.bbox.width * devicePixelRatio;
  const isThere = i >= 0 && time <= level.begin[i] + Math.max(level.time[i], 2 * pixel);
  return isThere ? { of: level.of[i], begin: level.begin[i], time: level.time[i], count: level.count[i] } : null;
}
function drawTimeline() {
  const where = byId("timeline-chart");
  if (!rows.length) {
    draw(where);
    return;
  }
  const full = [0, Math.max(1, data.span)];
  draw(where, {
    height: height + 60,
    padding: [0, 24, 0, 24],
    scales: { x: { time: false, range: (_, low, high) => [low, high] }, y: { range: [0, 1] } },
    cursor: { points: { show: false }, y: false },
    axes: [times({ side: 0 }), { show: false }],
    series: [{}, { paths: () => null, points: { show: false } }],
    hooks: {
      draw: [u => {
        const ctx = u.ctx, ratio = devicePixelRatio, { left, top, width } = u.bbox, { min, max } = u.scales.x, scale = width / (max - min);
        const text = style("--text"), soft = style("--soft"), markColor = style("--mark");
        ctx.save();
        ctx.beginPath();
        ctx.rect(left, top, width, u.bbox.height);
        ctx.clip();
        ctx.textBaseline = "middle";
        ctx.textAlign = "left";
        for (const row of rows) {
          ctx.font = `${12 * ratio}px system-ui, sans-serif`;
          ctx.fillStyle = soft;
          const { process, pid } = row.thread;
          ctx.fillText(`${threadName(row.thread)} of ${process} ${pid}`, left + 2 * ratio, top + (row.top + headHeight / 2) * ratio);
          ctx.font = `${11 * ratio}px system-ui, sans-serif`;
          row.levels.forEach((level, depth) => {
            const y = top + (row.top + headHeight + depth * levelHeight) * ratio, high = (levelHeight - 1) * ratio;
            for (let i = Math.max(0, lastBefore(level.begin, min)); i < level.begin.length && level.begin[i] <= max; ++i) {
              const x = left + (level.begin[i] - min) * scale, wide = Math.max(1, level.time[i] * scale);
              if (x + wide < left)
                continue;
              ctx.fillStyle = row.hasMoments && depth === 0 && isProbe(level.of[i]) ? markColor : colorOf(level.of[i]);
              ctx.globalAlpha = selected < 0 || level.of[i] === selected ? 1 : 0.35;
              ctx.fillRect(x, y, wide, high);
              if (wide > 40 * ratio) {
                ctx.save();
                ctx.beginPath();
                ctx.rect(Math.max(x, left), y, Math.min(wide, x + wide - left), high);
                ctx.clip();
                ctx.fillStyle = text;
                ctx.fillText(nameOf(level.of[i]), Math.max(x, left) + 3 * ratio, y + high / 2);
                ctx.restore();
              }
            }
          });
          ctx.globalAlpha = 1;
        }
        ctx.restore();
      }],
      setCursor: [u => {
        const slice = u.cursor.left >= 0 && sliceAt(u);
        const several = slice && slice.count > 1 ? `${plural(slice.count, "call")}, the longest of ` : "";
        byId("timeline-at").textContent = slice ? `${several}${nameOf(slice.of)}: at ${duration(slice.begin)}, ${duration(slice.time)}` : "\u00a0";
      }],
      ready: [u => u.over.addEventListener("click", () => {
        const slice = u.cursor.left >= 0 && sliceAt(u);
        if (slice && slice.of >= 0)
          choose(slice.of);
      })],
    },
  }, [full, [0, 1]]);
}
listeners.push(() => charts.has(byId("timeline-chart")) && charts.get(byId("timeline-chart")).redraw(false));
byId("timeline-chart").addEventListener("keydown", event => {
  const u = charts.get(byId("timeline-chart"));
  if (!u || event.ctrlKey || event.altKey || event.metaKey)
    return;
  const { min, max } = u.scales.x, wide = max - min, whole = Math.max(1, data.span);
  const show = (low, size) => {
    const most = Math.min(whole, Math.max(10, size)), from = Math.min(Math.max(0, low), whole - most);
    u.setScale("x", { min: from, max: from + most });
    byId("timeline-at").textContent = `${duration(from)} to ${duration(from + most)}`;
  };
  const action = {
    ArrowLeft: () => show(min - wide / 5, wide),
    ArrowRight: () => show(min + wide / 5, wide),
    "+": () => show(min + wide / 4, wide / 2),
    "=": () => show(min + wide / 4, wide / 2),
    "-": () => show(min - wide / 2, wide * 2),
    Home: () => show(0, whole),
  }[event.key];
  if (!action)
    return;
  action();
  event.preventDefault();
});

// ---- All of it, and again where the window or its colours change

function all() {
  colors = new Map();
  drawFlame();
  drawTable();
  drawLatency();
  drawTimeline();
}
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", all);
let wide = innerWidth, waiting = 0;
addEventListener("resize", () => {
  if (innerWidth === wide)
    return;
  wide = innerWidth;
  cancelAnimationFrame(waiting);
  waiting = requestAnimationFrame(all);
});
all();
document.documentElement.dataset.drawn = "yes";
})();
