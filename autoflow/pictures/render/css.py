"""The style sheet of an SVG picture.

Colours are CSS custom properties, so that one file can follow the reader's light or dark screen; in front of each
is the plain light colour, for programs that do not know such properties. All rules begin with one class, so that
pictures on one page do not disturb each other.
"""

from __future__ import annotations

from ..model.style import DARK, LIGHT, MONO, SANS, SHORT, STYLES, THEMES


def style_sheet(name: str, theme: str) -> str:
    """All rules, below the class ``name``."""

    def paint(what: str, key: str) -> str:
        return f"{what}:{THEMES[theme][key]}" if theme != "auto" else f"{what}:{LIGHT[key]};{what}:var(--{key})"

    rules = [("text", f"font-family:{SANS}"), (".bg", paint("fill", "bg")), ("path", "fill:none")]
    for key, (family, size, bold, colour) in STYLES.items():
        font = f"font-size:{size:g}px" + f";font-family:{MONO}" * (family == "mono") + ";font-weight:700" * bold
        rules.append((f".{key}", font))
        if "@" in colour:
            rules += [(f".{short} .{key}", paint("fill", colour.replace("@", short))) for short in SHORT.values()]
        else:
            rules.append((f".{key}", paint("fill", colour)))
    for short in SHORT.values():
        rules.append(
            (
                f".{short} .box",
                paint("fill", short + "-fill") + ";" + paint("stroke", short + "-line") + ";stroke-width:1.5",
            )
        )
        rules.append((f".{short} .band", paint("fill", short + "-head")))
        rules.append((f".{short} .rule", paint("stroke", short + "-line")))
    rules += [
        (".con .box", "stroke-dasharray:6 4"),
        (".faded", "opacity:.3"),
        (".out .box", "stroke-width:3.4"),
        (".alarm .box", paint("stroke", "warn") + ";stroke-width:3"),
        (".ring", "fill:none;" + paint("stroke", "sub")),
        (".full", paint("fill", "grad")),
        (".empty", "fill:none;stroke-width:.7;" + paint("stroke", "sub")),
        (".fixed path", "stroke-dasharray:6 4"),
    ]
    for key, colour in [("plain", "edge"), ("fixed", "con-line"), *[(f"f{i}", f"flow{i}") for i in range(5)]]:
        rules += [(f".{key} path", paint("stroke", colour)), (f".{key} polygon", paint("fill", colour))]
    return properties(name, theme) + "\n".join([f".{name} {selector}{{{text}}}" for selector, text in rules])


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
