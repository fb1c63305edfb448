"""The picture as SVG: one self-contained text, without scripts, links, fonts or ids.

The style sheet comes first. Colours are CSS custom properties, so that one file can follow the reader's light or dark
screen; in front of each is the plain light colour, for programs that do not know such properties. All rules begin with
one class, so that pictures on one page do not disturb each other. That class is made from the content: equal pictures
are equal texts.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import fields
from xml.sax.saxutils import escape

from ..folding import views
from ..model.data import GraphData
from ..model.style import DARK, LIGHT, THEMES
from .display import RULES, Group, Item, Rule, tag_of
from .dot import dot_svg, without_dot
from .drawing import drawing_of

FITS = 'style="max-width:100%;height:auto"'  # in a narrow page the picture shrinks, and is not cut off
TAGS = ("text", "path", "polygon")  # in rules; all other words are classes
MARKS = {"n": "node", "e": "edge"}
NAMES = {  # of fields, where they differ from an attribute's
    "role": 'class="%s"', "stroke_width": 'stroke-width="%s"', "stroke_opacity": 'stroke-opacity="%s"',
    "text_anchor": 'text-anchor="%s"', "goto": 'role="link" tabindex="0" data-goto="%s"',
}  # fmt: skip


def style_sheet(name: str, theme: str) -> str:
    """All rules, below the class ``name``."""
    return properties(name, theme) + css(RULES, f".{name} ", theme)


def css(rules: Iterable[Rule], before: str, theme: str = "", weight: str = "") -> str:
    """Rules as CSS: ``before`` each selector, and the ``weight`` of what they say about shapes in a group. Without a
    theme colours are known by their names only."""
    lines = []
    for words, look in rules:
        selector = " ".join([word if word in TAGS else f".{word}" for word in words])
        after = weight if len(words) > 1 else ""
        lines.append(f"{before}{selector}{{{';'.join([paint(k, v, theme) + after for k, v in look.items()])}}}")
    return "\n".join(lines)


def paint(what: str, value: str, theme: str) -> str:
    """One property. A colour is known by its number, in a theme that is open by its name, too."""
    if value not in LIGHT:
        return f"{what}:{value}"
    colours = [THEMES[theme][value]] if theme in THEMES else [LIGHT[value], f"var(--{value})"][not theme :]
    return ";".join([f"{what}:{colour}" for colour in colours])


def properties(name: str, theme: str) -> str:
    """The custom properties: light, and dark where the reader's system is, or the notebook around the picture."""
    if theme != "auto":
        return f".{name}{{color-scheme:{theme}}}\n"
    light, dark = [";".join([f"--{k}:{v}" for k, v in colours.items()]) for colours in (LIGHT, DARK)]
    return (
        f".{name}{{{light}}}\n@media screen and (prefers-color-scheme:dark){{.{name}{{{dark}}}}}\n"
        f"[data-jp-theme-light=true] .{name},.vscode-light .{name},html[theme=light] .{name}{{{light}}}\n"
        f"[data-jp-theme-light=false] .{name},.vscode-dark .{name},html[theme=dark] .{name}{{{dark}}}\n"
    )


def to_svg(graph: GraphData) -> str:
    """The whole file."""
    if graph.look.engine == "dot":
        text, reason = dot_svg(graph)
        if text:
            return text
        graph = without_dot(graph, reason)
    drawing = drawing_of(graph)
    body = "\n".join([element(item) for item in drawing.items])
    name = "af" + hashlib.sha256((body + drawing.theme).encode()).hexdigest()[:8]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="{name}" role="img" width="{drawing.wide}" '
        f'height="{drawing.high}" viewBox="0 0 {drawing.wide} {drawing.high}" {FITS}>\n'
        f"<title>{escape(', '.join([v.title for v in graph.nodes if v.output]))}</title>\n"
        f"<desc>{escape(views.alt_text(graph))}</desc>\n"
        f"<style>{style_sheet(name, drawing.theme)}</style>\n"
        f'<rect class="bg" width="100%" height="100%"/>\n{body}\n</svg>\n'
    )


def element(item: Item) -> str:
    """One element, with what is in it."""
    if isinstance(item, Group):
        mark = f' data-{MARKS[item.mark[0]]}="{item.mark[1:]}"' if item.mark else ""  # for scripts
        shift = f' transform="translate({text_of(item.at, " ")})"' if item.at else ""
        names = f' class="{" ".join(item.states)}"' if item.states else ""
        return f"<g{names}{mark}{shift}>{''.join(map(element, item.items))}</g>"
    named = {field.name: getattr(item, field.name) for field in fields(item)}
    inside = named.pop("text", None)
    attributes = [(key, value) for key, value in named.items() if value not in (None, "", "start")]
    start = " ".join([tag_of(item), *[NAMES.get(key, f'{key}="%s"') % text_of(value) for key, value in attributes]])
    return f"<{start}/>" if inside is None else f"<{start}>{escape(inside)}</{tag_of(item)}>"


def text_of(value: object, between: str = ",") -> str:
    """Numbers as short as they are exact: a display list has few digits. Points, and commands with their numbers."""
    if not isinstance(value, tuple):
        return str(value).removesuffix(".0")
    if isinstance(value[0], tuple):
        return ("" if isinstance(value[0][0], str) else " ").join(map(text_of, value))
    command, numbers = (value[0], value[1:]) if isinstance(value[0], str) else ("", value)
    return command + (" " if command else between).join(map(text_of, numbers))
