"""Drives a headless Chromium over its debugging pipe: no packages besides Python's own."""
import base64
import json
import os
import shutil
import subprocess
import tempfile
import time


class Browser:
    def __init__(self, chromium):
        self.profile = tempfile.mkdtemp(prefix="tessera-chromium-")
        from_us, self.out = os.pipe()
        self.into, to_us = os.pipe()

        def as_three_and_four():
            # Both are moved out of the way first: one may already be 3 or 4.
            a, b = os.dup(from_us), os.dup(to_us)
            os.dup2(a, 3)
            os.dup2(b, 4)

        self.process = subprocess.Popen(
            [chromium, "--headless=new", "--remote-debugging-pipe", "--no-sandbox", "--disable-gpu",
             "--no-first-run", "--disable-extensions", "--disable-background-networking",
             "--disable-component-update", f"--user-data-dir={self.profile}", "about:blank"],
            preexec_fn=as_three_and_four, close_fds=False, stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(from_us)
        os.close(to_us)
        self.buffer, self.number, self.events = b"", 0, []
        target = self.call("Target.createTarget", {"url": "about:blank"})["targetId"]
        self.session = self.call("Target.attachToTarget",
                                 {"targetId": target, "flatten": True})["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self.call(f"{domain}.enable")

    def close(self):
        self.process.terminate()
        self.process.wait()
        shutil.rmtree(self.profile, ignore_errors=True)

    def _message(self):
        while b"\0" not in self.buffer:
            part = os.read(self.into, 1 << 16)
            if not part:
                raise RuntimeError("the browser has ended")
            self.buffer += part
        message, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(message)

    def call(self, method, params=None):
        self.number += 1
        message = {"id": self.number, "method": method, "params": params or {}}
        if hasattr(self, "session"):
            message["sessionId"] = self.session
        os.write(self.out, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._message()
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']['message']}")
                return answer["result"]
            self.events.append(answer)

    def evaluate(self, expression):
        """Returns the value of an expression in the page."""
        answer = self.call("Runtime.evaluate", {"expression": expression, "returnByValue": True,
                                                "awaitPromise": True})
        if "exceptionDetails" in answer:
            raise RuntimeError(f"{expression}: {answer['exceptionDetails']}")
        return answer["result"].get("value")

    def open(self, path, width, height, scheme="light", scripts=True, anchor=""):
        self.events.clear()
        self.call("Emulation.setScriptExecutionDisabled", {"value": not scripts})
        self.call("Emulation.setDeviceMetricsOverride",
                  {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600})
        self.call("Emulation.setEmulatedMedia",
                  {"features": [{"name": "prefers-color-scheme", "value": scheme}]})
        # Another page in between, so that a change of the anchor alone loads the page again.
        for url in ("about:blank", f"file://{os.path.abspath(path)}{anchor}"):
            self.call("Page.navigate", {"url": url})
            deadline = time.time() + 60
            while self.evaluate("location.href + document.readyState") != url + "complete":
                if self.evaluate("document.readyState") == "complete" and url != "about:blank" and \
                        self.evaluate("location.protocol") == "file:":
                    break
                if time.time() > deadline:
                    raise RuntimeError(f"{url} does not load")
                time.sleep(0.02)

    def milliseconds(self, action):
        """Returns the processor time of the page for an action, which other load does not stretch."""
        def spent():
            return next(m["value"] for m in self.call("Performance.getMetrics")["metrics"]
                        if m["name"] == "TaskDuration")

        self.call("Performance.enable", {"timeDomain": "threadTicks"})
        before = spent()
        action()
        return 1000 * (spent() - before)

    def errors(self):
        """Returns what the page wrote to the console as warnings and errors."""
        found = []
        self.evaluate("0")
        for event in self.events:
            params = event.get("params", {})
            if event.get("method") == "Runtime.exceptionThrown":
                details = params["exceptionDetails"]
                found.append(details.get("exception", {}).get("description", details["text"]))
            elif event.get("method") == "Runtime.consoleAPICalled":
                found.append(f"console.{params['type']}")
            elif event.get("method") == "Log.entryAdded":
                found.append(params["entry"]["text"])
        return found

    def type(self, text):
        self.call("Input.insertText", {"text": text})

    def press(self, key, code=None, text=None):
        codes = {"ArrowDown": 40, "ArrowUp": 38, "ArrowLeft": 37, "ArrowRight": 39, "Enter": 13,
                 "Escape": 27, "Home": 36, "End": 35, "PageDown": 34, "Tab": 9}
        event = {"key": key, "code": code or key, "windowsVirtualKeyCode": codes.get(key, 0)}
        down = {"type": "keyDown", **event}
        if text:
            down["text"] = text
        self.call("Input.dispatchKeyEvent", down)
        self.call("Input.dispatchKeyEvent", {"type": "keyUp", **event})

    def click(self, selector):
        x, y = self.evaluate(
            f"(() => {{ const r = document.querySelector({json.dumps(selector)}).getBoundingClientRect();"
            " return [r.left + Math.min(r.width / 2, 40), r.top + r.height / 2]; })()")
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent",
                      {"type": kind, "x": x, "y": y, "button": "left", "clickCount": 1})

    def screenshot(self, path):
        image = self.call("Page.captureScreenshot", {"format": "png"})["data"]
        with open(path, "wb") as file:
            file.write(base64.b64decode(image))
