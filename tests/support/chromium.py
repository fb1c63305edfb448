"""A headless Chromium for tests, spoken to through a pipe: no driver, no package, no network.

with Chromium() as browser:
    page = browser.open(path)
    page.run("document.title")
"""

import base64
import contextlib
import itertools
import json
import os
import select
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

PROGRAMS = ("chromium", "chromium-browser", "google-chrome", "chrome")
SECONDS = 60
KEYS = {"Tab": 9, "Enter": 13, "PageUp": 33, "PageDown": 34, "ArrowLeft": 37, "ArrowRight": 39}
TEXT = """(function text(node) {
  const within = [...node.querySelectorAll('*')].filter((e) => e.shadowRoot);
  const shown = [...node.children].filter((e) => !e.matches('style, script'));
  return [node.innerText ?? shown.map((e) => e.innerText).join(' '),
    ...within.map((e) => text(e.shadowRoot))].join(' ').trim();
})"""


def program():
    """The browser's path; None if there is none that we can speak to."""
    found = next(filter(None, map(shutil.which, PROGRAMS)), None)
    return found if sys.platform.startswith("linux") else None


class Chromium:
    """The program; ``open`` gives a page."""

    def __init__(self):
        self.numbers = itertools.count(1)
        self.stack = contextlib.ExitStack()
        self.buffer = b""
        self.events = []
        self.targets = []

    def __enter__(self):
        folder = self.stack.enter_context(tempfile.TemporaryDirectory(ignore_cleanup_errors=True))
        read_theirs, self.write_end = os.pipe()
        self.read_end, write_theirs = os.pipe()
        launcher = (  # the protocol speaks on the file descriptors 3 and 4; first out of their way
            "import fcntl, os, sys; a, b = [fcntl.fcntl(int(k), fcntl.F_DUPFD, 10) for k in sys.argv[1:3]]; "
            "os.dup2(a, 3); os.dup2(b, 4); os.execv(sys.argv[3], sys.argv[3:])"
        )
        flags = [
            "--headless=new", "--remote-debugging-pipe", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
            "--hide-scrollbars", "--no-first-run", "--disable-background-networking", "--disable-component-update",
            "--disable-sync", "--force-color-profile=srgb", f"--user-data-dir={folder}",
        ]  # fmt: skip
        self.process = subprocess.Popen(
            [sys.executable, "-c", launcher, str(read_theirs), str(write_theirs), program(), *flags, "about:blank"],
            pass_fds=(read_theirs, write_theirs), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, start_new_session=True, env={**os.environ, "HOME": folder},
        )  # fmt: skip
        self.stack.callback(self.close)
        os.close(read_theirs)
        os.close(write_theirs)
        try:
            self.call("Browser.getVersion")
        except BaseException:
            self.stack.close()
            raise
        return self

    def __exit__(self, *exception):
        self.stack.close()

    def close(self):
        with contextlib.suppress(OSError, TimeoutError, EOFError):
            self.call("Browser.close", seconds=5)
        with contextlib.suppress(OSError):
            os.close(self.write_end)
            os.close(self.read_end)
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def close_pages(self):
        """Close all that are open, and forget what was heard of them."""
        for target in self.targets:
            self.send("Target.closeTarget", targetId=target)  # the answer, that some are closed already, is not read
        self.targets.clear()
        self.events.clear()

    def send(self, method, session=None, **params):
        """One command of the DevTools protocol; returns its number."""
        number = next(self.numbers)
        message = {"id": number, "method": method, "params": params}
        if session:
            message["sessionId"] = session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self.write_end, data) :]
        return number

    def call(self, method, session=None, seconds=SECONDS, **params):
        """One command, and its answer."""
        number = self.send(method, session, **params)
        while True:
            answer = self.read(seconds)
            if answer.get("id") == number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]
            if "method" in answer:  # else the answer to something that was only sent
                self.events.append(answer)

    def read(self, seconds):
        """The next message."""
        end = time.monotonic() + seconds
        while b"\0" not in self.buffer:
            ready, _, _ = select.select([self.read_end], [], [], max(0, end - time.monotonic()))
            if not ready:
                raise TimeoutError("chromium does not answer")
            data = os.read(self.read_end, 1 << 16)
            if not data:
                raise EOFError("chromium has ended")
            self.buffer += data
        message, _, self.buffer = self.buffer.partition(b"\0")
        return json.loads(message)

    def open(self, target, *, width=1300, height=760, dark=False, reduced_motion=True):
        """A page at a path, loaded and with its scripts run."""
        page = Page(self, width, height)
        page.media(dark=dark, reduced_motion=reduced_motion)
        page.go(Path(target).resolve().as_uri())
        return page


class Page:
    def __init__(self, browser, width, height):
        self.browser = browser
        target = browser.call("Target.createTarget", url="about:blank")["targetId"]
        browser.targets.append(target)
        self.session = browser.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def call(self, method, **params):
        """A command to this tab."""
        return self.browser.call(method, session=self.session, **params)

    def media(self, *, dark=False, reduced_motion=True):
        """What the reader's system prefers."""
        features = [
            {"name": "prefers-color-scheme", "value": "dark" if dark else "light"},
            {"name": "prefers-reduced-motion", "value": "reduce" if reduced_motion else "no-preference"},
        ]
        self.call("Emulation.setEmulatedMedia", features=features)

    def navigate(self, url):
        """Load, and wait until the old document is gone, which still answers for a while."""
        self.run("window.ofTheOldDocument = true")
        self.call("Page.navigate", url=url)
        self.wait("window.ofTheOldDocument !== true", url)

    def go(self, url):
        """Load, and wait until all scripts have run."""
        self.navigate(url)
        self.wait(f"document.readyState === 'complete' && location.href === {json.dumps(url)}", url)

    def wait(self, condition, url):
        """Until a condition holds in the page that is loaded."""
        end = time.monotonic() + SECONDS
        while not self.run(condition):
            if time.monotonic() > end:
                raise TimeoutError(f"{url} does not load")
            time.sleep(0.02)

    def run(self, expression):
        """The value of a JavaScript expression; promises are awaited."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(answer["exceptionDetails"].get("exception", {}).get("description", str(answer)))
        return answer["result"].get("value")

    def text(self):
        """What a reader reads, also in open shadow roots, which innerText of the page leaves out."""
        return self.run(f"({TEXT})(document.body)")

    def press(self, key):
        """A key, to whatever has the focus: a letter, or one with a name."""
        letter = {"code": f"Key{key.upper()}", "windowsVirtualKeyCode": ord(key.upper())} if len(key) == 1 else {}
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, **{"key": key, "code": key, **letter})

    def press_hard(self, key, **more):
        """A key with its number, by which a browser moves the focus, presses buttons and sends forms."""
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=KEYS[key], **more)

    def screenshot(self, path):
        """A PNG of the whole page."""
        data = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=True)["data"]
        Path(path).write_bytes(base64.b64decode(data))
        return Path(path)

    def keep(self, name):
        """A screenshot, if somebody wants to look at it: in the folder AUTOFLOW_SHOTS."""
        if folder := os.environ.get("AUTOFLOW_SHOTS"):
            Path(folder).mkdir(exist_ok=True)
            time.sleep(0.5)
            self.screenshot(Path(folder) / f"{name}.png")

    def problems(self):
        """Errors that the page reported, exceptions that nobody caught, and requests to the network, so far."""
        self.run("0")
        found = []
        for event in self.browser.events:
            if event.get("sessionId") != self.session:
                continue
            params = event["params"]
            if event["method"] == "Network.requestWillBeSent" and params["request"]["url"].startswith(("http", "ws")):
                found.append("request: " + params["request"]["url"])
            elif (said := complaint(event)) is not None:
                found.append(said)
        return found


def complaint(event):
    """What an event of the browser complains about: an exception that nobody caught, a line of the console; or None."""
    method, params = event["method"], event["params"]
    if method == "Runtime.exceptionThrown":
        return params["exceptionDetails"].get("exception", {}).get("description", "exception")
    if method == "Runtime.consoleAPICalled" and params["type"] in ("error", "warning"):
        return " ".join([str(a.get("value", a.get("description"))) for a in params["args"]])
    if method == "Log.entryAdded" and params["entry"]["level"] == "error":
        return " ".join([params["entry"]["text"], params["entry"].get("url", "")]).rstrip()
    return None


def in_browser(test):
    """The marks of a test that needs one."""
    return pytest.mark.xdist_group("browser")(pytest.mark.slow(pytest.mark.browser(test)))


def by_night(test):
    """The same for one that takes long."""
    return pytest.mark.nightly(in_browser(test))


# -- fixtures, which conftest.py takes


@pytest.fixture(scope="session")
def running_browser():
    """One for all tests of a process."""
    if program() is None:
        pytest.skip("chromium is not installed")
    with contextlib.ExitStack() as stack:
        try:
            running = stack.enter_context(Chromium())
        except (OSError, TimeoutError, EOFError) as error:
            pytest.skip(f"chromium does not start: {error}")
        yield running


@pytest.fixture
def browser(running_browser):
    """The same without pages; those that a test opens are closed when it ends."""
    yield running_browser
    running_browser.close_pages()


@pytest.fixture
def show(browser, tmp_path, request):
    """A function that opens HTML, or a picture, and gives a page with the HELPERS of the test's file."""
    pages = []

    def open_it(text, **options):
        path = tmp_path / f"page{len(pages)}.html"
        path.write_text(text, encoding="utf-8")
        pages.append(browser.open(path, **options))
        pages[-1].run(request.module.HELPERS + "0")
        return pages[-1]

    yield open_it
    for one in pages:
        assert one.problems() == []
