#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""site_check.py FOLDER: every page and picture of the site in a headless browser, pages at two sizes. For scripts/site.sh."""
import functools, http.server, json, os, subprocess, sys, tempfile, threading

folder = os.path.realpath(sys.argv[1])
files = sorted(os.path.relpath(os.path.join(at, name), folder) for at, _, names in os.walk(folder) for name in names)
pages = [file for file in files if file.endswith(".html") and file not in ("404.html", "search.html")]
pictures = [file for file in files if file.startswith("docs/recorded/") and file.endswith(".svg")]
WIDTHS = [1280, 390]  # a desktop, a telephone
# A word of a question, and the page that has to be among the first ten that the search shows; words inside names.
QUESTIONS = {"ptrace_scope": "docs/ptrace-scope/", "container": "docs/containers/", "Prometheus": "docs/fleet/", "build id": "docs/build-id/",
             "unread": "docs/seccomp/",
             "paranoid": "docs/", "yama": "docs/", "uprobe": "docs/"}
CHECK = """<!DOCTYPE html><body><script>
const pages = %s, pictures = %s, widths = %s, questions = %s, found = [];
const loaded = (frame, url) => new Promise(done => { frame.onload = () => done(frame.contentDocument); frame.src = url; });
// WCAG 2: the ratio of luminances, which for AA is 4.5, and 3 for large text.
const channels = color => (color.match(/[\\d.]+/g) || []).map(Number);
const luminance = rgb => { const [r, g, b] = rgb.map(v => v / 255).map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
const background = one => {
  const [r, g, b, a = 1] = channels(one.ownerDocument.defaultView.getComputedStyle(one).backgroundColor);
  if (a === 0) return one.parentElement ? background(one.parentElement) : [255, 255, 255];
  const below = a < 1 && one.parentElement ? background(one.parentElement) : [255, 255, 255];
  return [r, g, b].map((v, i) => v * a + below[i] * (1 - a));
};
const pale = shown => {
  const seen = new Map(), walk = shown.createTreeWalker(shown.body, NodeFilter.SHOW_TEXT);
  for (let node = walk.nextNode(); node; node = walk.nextNode()) {
    const one = node.parentElement, style = shown.defaultView.getComputedStyle(one);
    if (!node.textContent.trim() || !one.getClientRects().length || style.visibility === "hidden" || style.opacity === "0") continue;
    const [r, g, b, a = 1] = channels(style.color), under = background(one), size = parseFloat(style.fontSize);
    const text = luminance([r, g, b].map((v, i) => v * a + under[i] * (1 - a))), ground = luminance(under);
    const ratio = (Math.max(text, ground) + 0.05) / (Math.min(text, ground) + 0.05), large = size >= 24 || size >= 18.66 && style.fontWeight >= 700;
    if (ratio < (large ? 3 : 4.5)) seen.set(`${style.color} on ${under.map(Math.round)}`, `"${node.textContent.trim().slice(0, 30)}" (${one.tagName.toLowerCase()} ${one.className}) has a contrast of ${ratio.toFixed(2)}`);
  }
  return [...seen].map(([colors, what]) => `${what}: ${colors}`);
};
const until = async condition => { for (let i = 0; i < 100 && !condition(); ++i) await new Promise(go => setTimeout(go, 50)); return condition(); };
(async () => {
  for (const width of widths) {
    const frame = document.body.appendChild(document.createElement("iframe"));
    frame.style.cssText = `width:${width}px;height:900px;border:0`;
    for (const page of pages) {
      const shown = await loaded(frame, "/" + page);
      if (shown.documentElement.scrollWidth > width)
        found.push(`${page} is ${shown.documentElement.scrollWidth} wide in a window of ${width}`);
      for (const image of shown.images)
        if (!(await until(() => image.complete)) || image.naturalWidth === 0)
          found.push(`${page}: ${image.getAttribute("src")} is not shown`);
      const levels = [...shown.querySelectorAll("h1, h2, h3, h4, h5, h6")].map(one => Number(one.tagName[1]));
      if (levels.filter(level => level === 1).length !== 1)
        found.push(`${page} has ${levels.filter(level => level === 1).length} first headings`);
      levels.forEach((level, i) => { if (level > (levels[i - 1] || 0) + 1) found.push(`${page}: a heading of level ${level} behind one of level ${levels[i - 1] || 0}`); });
      const box = [...shown.querySelectorAll("input[name=q]")].map(one => one.getBoundingClientRect());
      if (!box.some(one => one.width > 50 && one.left >= 0 && one.right <= width && one.top >= 0 && one.bottom < 900))
        found.push(`${page} has no search box in sight in a window of ${width}`);
      for (const what of pale(shown))
        found.push(`${page}: ${what}`);
      if (shown.body.textContent.includes("```"))
        found.push(`${page} shows a fence of Markdown`);
    }
    for (const picture of width === widths[0] ? pictures : []) {
      const svg = (await loaded(frame, "/" + picture)).documentElement, all = svg.getBoundingClientRect();
      const texts = [...svg.querySelectorAll('text, g[id^="text_"]')].filter(one => !one.querySelector("text"));
      const boxes = texts.map(one => one.getBoundingClientRect());
      // Texts that lean the same way are compared as if they were level.
      const angle = one => { const m = one.getScreenCTM(); return Math.atan2(m.b, m.a); };
      const level = (one, turn) => {
        const m = new DOMMatrix().rotate(-turn * 180 / Math.PI).multiply(one.getScreenCTM()), {x, y, width: w, height: h} = one.getBBox();
        const at = [[x, y], [x + w, y], [x, y + h], [x + w, y + h]].map(([px, py]) => m.transformPoint({x: px, y: py}));
        const xs = at.map(p => p.x), ys = at.map(p => p.y);
        return {left: Math.min(...xs), right: Math.max(...xs), top: Math.min(...ys), bottom: Math.max(...ys)};
      };
      boxes.forEach((a, i) => {
        const name = `${picture}: text ${i + 1}` + (texts[i].textContent.trim() ? ` "${texts[i].textContent.trim()}"` : "");
        if (a.left < all.left - 1 || a.right > all.right + 1 || a.top < all.top - 1 || a.bottom > all.bottom + 1)
          found.push(`${name} leaves the picture`);
        boxes.slice(0, i).forEach((b, j) => {
          const turn = angle(texts[i]), alike = turn !== 0 && Math.abs(turn - angle(texts[j])) < 0.01;
          const [one, two] = alike ? [level(texts[i], turn), level(texts[j], turn)] : [a, b];
          if (Math.min(one.right, two.right) - Math.max(one.left, two.left) > 1 && Math.min(one.bottom, two.bottom) - Math.max(one.top, two.top) > 1)
            found.push(`${name} overlaps text ${j + 1}`);
        });
      });
      if (texts.length < 3)
        found.push(`${picture} has ${texts.length} texts`);
    }
    for (const [words, page] of Object.entries(questions)) {
      const search = await loaded(frame, "/search.html?q=" + encodeURIComponent(words));
      const shown = () => [...search.querySelectorAll("#mkdocs-search-results article a")].slice(0, 10).map(one => new URL(one.href).pathname.slice(1));
      if (!(await until(() => shown().some(one => one.startsWith(page)))))
        found.push(`the search for "${words}" shows ${shown().join(", ") || "nothing"}, and not ${page}`);
    }
    frame.remove();
  }
  return found;
})().catch(error => [`the check itself: ${error}`]).then(found => fetch("/found", {method: "POST", body: JSON.stringify(found)}));
</script>"""


class Server(http.server.SimpleHTTPRequestHandler):
    def do_GET(self):
        if self.path != "/check":
            return super().do_GET()
        body = (CHECK % (json.dumps(pages), json.dumps(pictures), json.dumps(WIDTHS), json.dumps(QUESTIONS))).encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self):
        found.extend(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        self.send_response(204)
        self.end_headers()
        ended.set()

    def log_message(self, *_):
        pass


class Quiet(http.server.ThreadingHTTPServer):
    def handle_error(self, *_):
        pass  # the browser leaves a page before it has all of it


found, ended = [], threading.Event()
server = Quiet(("127.0.0.1", 0), functools.partial(Server, directory=folder))
threading.Thread(target=server.serve_forever, daemon=True).start()
at = f"http://127.0.0.1:{server.server_address[1]}/"
browser = ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"]
with tempfile.TemporaryDirectory() as profile:
    running = subprocess.Popen([*browser, f"--user-data-dir={profile}", "--window-size=1400,1000", "--remote-debugging-port=0", at + "check"],
                               stderr=subprocess.DEVNULL)
    in_time = ended.wait(600)
    running.terminate()
    running.wait()
    if not in_time:
        sys.exit("site_check.py: the browser did not come to the end in ten minutes")
    for width, name in zip(WIDTHS, ("desktop", "telephone")):
        subprocess.run([*browser, f"--user-data-dir={profile}", f"--window-size={width},900", f"--screenshot={os.path.dirname(folder)}/{name}.png",
                        at],
                       stderr=subprocess.DEVNULL, timeout=120)
print(f"{len(pages)} pages at {' and '.join(map(str, WIDTHS))}, {len(pictures)} pictures: {len(found)} problems; pictures of the first page: {os.path.dirname(folder)}/desktop.png, telephone.png")
print("\n".join(found))
sys.exit(1 if found else 0)
