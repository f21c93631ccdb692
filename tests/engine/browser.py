# SPDX-License-Identifier: BSD-2-Clause
"""A headless Chromium, driven by the protocol of its developer tools through a pipe: no port and no library. For report.py.

browser.py PAGE PICTURE.png WIDTH HEIGHT light|dark: a picture of its top."""
import base64, json, os, subprocess, sys, tempfile


class Browser:
    def __init__(self):
        self.profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        to_browser, self.to = os.pipe()
        self.from_, from_browser = os.pipe()

        def ends(): # it wants to read from 3 and to write to 4
            read, write = os.dup(to_browser), os.dup(from_browser)
            os.dup2(read, 3)
            os.dup2(write, 4)
        self.process = subprocess.Popen(
            ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--remote-debugging-pipe", "--no-first-run",
             "--disable-background-networking", "--disable-component-update", f"--user-data-dir={self.profile.name}", "about:blank"],
            preexec_fn=ends, close_fds=False, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=open(os.path.join(self.profile.name, "log"), "w"))
        os.close(to_browser)
        os.close(from_browser)
        self.rest, self.number, self.session, self.events = b"", 0, None, []
        target = self("Target.createTarget", url="about:blank")["targetId"]
        self.session = self("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self(f"{domain}.enable")

    def _message(self):
        while b"\0" not in self.rest:
            more = os.read(self.from_, 1 << 20)
            if not more:
                raise RuntimeError("the browser ended: " + open(os.path.join(self.profile.name, "log")).read()[-2000:])
            self.rest += more
        message, self.rest = self.rest.split(b"\0", 1)
        return json.loads(message)

    def __call__(self, method, **parameters):
        self.number += 1
        call = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            call["sessionId"] = self.session
        data = json.dumps(call).encode() + b"\0"
        while data:
            data = data[os.write(self.to, data):]
        while True:
            message = self._message()
            if message.get("id") == self.number:
                if "error" in message:
                    raise RuntimeError(f"{method}: {message['error']}")
                return message["result"]
            self.events.append(message)

    def wait(self, method):
        """For an event that has come since the last call of take(), or comes."""
        while not any(event["method"] == method for event in self.events):
            self.events.append(self._message())

    def take(self):
        events, self.events = self.events, []
        return events

    def open(self, url, width, height, dark):
        """@return  what happened while it was loaded"""
        self("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"},
                                                     {"name": "prefers-reduced-motion", "value": "reduce"}])
        self.take()
        self("Page.navigate", url=url)
        self.wait("Page.loadEventFired")

    def ask(self, expression):
        """The value of an expression of JavaScript; a promise is waited for."""
        result = self("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            raise RuntimeError(f"{expression}: {result['exceptionDetails']}")
        return result["result"].get("value")

    def key(self, key):
        text = {"Enter": "\r"}.get(key, key if len(key) == 1 else "")
        self("Input.dispatchKeyEvent", type="keyDown", key=key, code=key, text=text)
        self("Input.dispatchKeyEvent", type="keyUp", key=key, code=key)

    def mouse(self, x, y, *types):
        for one in types or ("mouseMoved", "mousePressed", "mouseReleased"):
            self("Input.dispatchMouseEvent", type=one, x=x, y=y, button="none" if one == "mouseMoved" else "left", clickCount=1)

    def picture(self, file):
        open(file, "wb").write(base64.b64decode(self("Page.captureScreenshot", captureBeyondViewport=False)["data"]))

    def close(self):
        self.session = None
        try:
            self("Browser.close")
        except (RuntimeError, OSError):
            pass
        os.close(self.to)
        self.process.wait()
        os.close(self.from_)


if __name__ == "__main__":
    page, picture, width, height, dark = sys.argv[1:]
    browser = Browser()
    browser.open("file://" + os.path.realpath(page), int(width), int(height), dark == "dark")
    browser.picture(picture)
    browser.close()
