"""Pages with pictures: what a parser of HTML sees of them, the data of their program, and helpers in JavaScript."""

import base64
import json
import zlib
from html.parser import HTMLParser

# The parts of a page that steps: r is the shadow root of the first picture.
PARTS = """
const r = () => document.querySelector('.autoflow-picture > div').shadowRoot;
const buttons = () => [...r().querySelectorAll('button')];
const texts = (selector, within = r()) => [...within.querySelectorAll(selector)].map((e) => e.textContent);
const count = (selector) => r().querySelectorAll(selector).length;
const style = (selector) => getComputedStyle(r().querySelector(selector));
const visible = (e) => getComputedStyle(e).visibility === 'visible';
const card = (id) => r().querySelector(`[data-node="${id}"]`);
const slider = () => r().querySelector('[type=range]');
const slide = (k) => { slider().value = k; slider().dispatchEvent(new Event('input')); };
const next = (times = 1) => { for (let k = 0; k < times; k++) buttons()[1].click(); };
const toggle = (name) => [...r().querySelectorAll('.toggle')].find((e) => e.textContent.includes(name));
const click = (e) => e.dispatchEvent(new MouseEvent('click', { bubbles: true }));
const caption = () => r().querySelector('.caption').textContent;
"""


class Reader(HTMLParser):
    """All tags with their attributes, and the texts of elements."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.texts, self.open = [], {}, []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        self.open.append(tag)

    def handle_endtag(self, tag):
        if tag in self.open:
            while self.open.pop() != tag:
                pass

    def handle_data(self, data):
        self.texts.setdefault(self.open[-1] if self.open else "", []).append(data)


def data_of(text):
    """What the program of a page is given."""
    (written,) = [attributes["data-autoflow"] for _, attributes in Reader(text).tags if "data-autoflow" in attributes]
    return json.loads(written if written[0] == "{" else zlib.decompress(base64.b64decode(written)))


def rgb(colour):
    """``#E6F1FB`` as a browser tells it."""
    return f"rgb({', '.join([str(int(colour[k : k + 2], 16)) for k in (1, 3, 5)])})"
