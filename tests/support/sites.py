"""The built site in a real browser: a server on this machine, the front page, its frame and its worker."""

import contextlib
import functools
import http.server
import json
import threading
import time

from chromium import Page, complaint

SECONDS = 120  # for Python to start, on a machine that has other things to do


class Quiet(http.server.SimpleHTTPRequestHandler):
    """The handler of ``python -m http.server``, without its lines."""

    def log_message(self, *args):
        pass


@contextlib.contextmanager
def served(folder):
    """The address of a static server for the folder, and a function that ends it before its time."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=folder))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()

    def end():
        server.shutdown()
        server.server_close()
        thread.join()

    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/", end
    finally:
        if thread.is_alive():
            end()


class Playground(Page):
    """The front page. Its worker and its frame are watched as well: ``requests`` has all that they ask for."""

    def __init__(self, browser, width=1280, height=900, *, dark=False):
        super().__init__(browser, width, height)
        self.media(dark=dark)
        self.sessions = {self.session}
        self.watched = set()
        self.call("Target.setAutoAttach", autoAttach=True, waitForDebuggerOnStart=True, flatten=True)

    def watch(self):
        """Let new workers and frames begin, their requests seen."""
        for event in list(self.browser.events):
            if event["method"] == "Target.attachedToTarget" and event.get("sessionId") in self.sessions:
                session = event["params"]["sessionId"]
                if session not in self.sessions:
                    self.sessions.add(session)
                    for method in ("Network.enable", "Runtime.enable", "Log.enable", "Runtime.runIfWaitingForDebugger"):
                        self.browser.send(method, session)  # what has not begun does not answer yet

    def until(self, expression, seconds=SECONDS):
        """Wait until an expression is true, and return its value."""
        end = time.monotonic() + seconds
        while not (value := self.run(expression)):
            self.watch()
            if time.monotonic() > end:
                raise TimeoutError(f"{expression}: {self.run('document.body.innerText')[:2000]}")
            time.sleep(0.05)
        return value

    def enter(self, url):
        """Load the front page, as far as its first picture."""
        self.navigate(url)
        self.until(f"location.href === {json.dumps(url)} && document.documentElement?.dataset.shown === ''", 30)

    def wait_for_python(self):
        """Go to the editor, which is when Python is loaded, and wait for it."""
        self.run("document.getElementById('code').scrollIntoView({ block: 'center' })")
        self.until("/^Ready/.test(document.getElementById('status').textContent)")

    def type_program(self, code):
        """Instead of what is in the editor."""
        self.run(f"document.getElementById('code').focus(); document.getElementById('code').value = {json.dumps(code)}")

    def run_program(self, code, seconds=SECONDS):
        """Type it, press Run, wait; answer what the page shows."""
        self.type_program(code)
        self.run("document.getElementById('run').click()")
        self.until("document.getElementById('run').textContent === 'Run'", seconds)
        return self.shown()

    def shown(self):
        """The rows of the table, the error, what was printed, the status."""
        return self.run(
            "(() => { const text = (name) => document.getElementById(name).textContent;"
            " const rows = [...document.querySelectorAll('#table tbody tr')];"
            " return { rows: rows.map((row) => [...row.cells].map((cell) => cell.textContent)),"
            " error: text('error'), printed: text('printed'), status: text('status') }; })()"
        )

    def in_view(self, expression, seconds=30):
        """The value of an expression in the frame of the views, once it is true."""
        end = time.monotonic() + seconds
        while True:
            self.watch()
            value = self.browser_value(expression)
            if value or time.monotonic() > end:
                return value
            time.sleep(0.05)

    def browser_value(self, expression):
        """In the frame, which the browser may run in a process of its own."""
        for session, context in self.contexts():
            with contextlib.suppress(RuntimeError):
                answer = self.browser.call(
                    "Runtime.evaluate", session=session, expression=expression, returnByValue=True, **context
                )
                if "exceptionDetails" not in answer:
                    return answer["result"].get("value")
        return None

    def contexts(self):
        """Where the frame's scripts may run: the newest first."""
        for event in reversed(self.browser.events):
            if event.get("sessionId") != self.session:
                continue
            if event["method"] == "Target.attachedToTarget" and event["params"]["targetInfo"]["type"] == "iframe":
                yield event["params"]["sessionId"], {}
            elif event["method"] == "Runtime.executionContextCreated":
                context = event["params"]["context"]
                if context["origin"] in ("://", "null", ""):
                    yield self.session, {"contextId": context["id"]}

    def requests(self):
        """All addresses that the page, its worker and its frame have asked for."""
        self.watch()
        return [
            event["params"]["request"]["url"]
            for event in self.browser.events
            if event["method"] == "Network.requestWillBeSent" and event.get("sessionId") in self.sessions
        ]

    def complaints(self):
        """Errors and warnings of the console, exceptions that nobody caught; of the page, its worker and its frame."""
        said = [complaint(event) for event in self.browser.events if event.get("sessionId") in self.sessions]
        return [text for text in said if text is not None]
