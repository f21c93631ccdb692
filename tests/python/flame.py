"""flame.py PAGE: flame graphs of maps as a notebook shows them, in Chromium: drawn, without an error and without the network."""
import sys
from pathlib import Path

from browser import Browser

from checks import same

browser = Browser()
browser.open(Path(sys.argv[1]).resolve().as_uri(), 900, 1000, dark=False)
names = "[...one.contentDocument.querySelectorAll('g.frame title')].map(title => title.textContent.split(':')[0])"
frames = browser.ask(f"[...document.querySelectorAll('iframe')].map(one => {names})")
same("maps with a flame graph", len(frames), 2)
for one in frames:
    same("frames", sorted(one)[-2:] + sorted(one)[1:2], ["main", "work", "all"])
seen = "[...one.contentDocument.querySelectorAll('h1, h2')].filter(head => head.offsetParent).map(head => head.textContent)"
same("titles", browser.ask(f"[...document.querySelectorAll('iframe')].map(one => {seen})"), [["@"], ["@two"]])
same("widths", browser.ask("[...document.querySelectorAll('iframe')].map(one => one.contentDocument.getElementById('flame-at').textContent)"),
     ["all: 1,000 hits, 100.0 %; 0 hits of its own", "all: 499,500 units, 100.0 %; 0 units of its own"])
events = browser.take()
same("errors", [event for event in events if event["method"] in ("Log.entryAdded", "Runtime.exceptionThrown")], [])
same("requests", [event["params"]["request"]["url"].split(":")[0] for event in events if event["method"] == "Network.requestWillBeSent"], ["file"])
print("flame graphs")
