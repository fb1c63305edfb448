"""What an eye finds in a picture, measured on its SVG: cards, boxes, arrows, crossings."""

import re
from itertools import combinations, pairwise
from xml.etree import ElementTree

from autoflow.pictures.render.display import Path

SVG = "{http://www.w3.org/2000/svg}"


def root_of(graph):
    """The SVG of a picture, without its legend."""
    return ElementTree.fromstring(graph.to_svg())


def size(root):
    """Width and height in pixels."""
    return float(root.get("width")), float(root.get("height"))


def rectangle(group):
    """Left, top, right, bottom of a card or a box."""
    x, y = map(float, re.findall(r"-?[\d.]+", group.get("transform")))
    box = group.find(SVG + "rect")
    return x, y, x + float(box.get("width")), y + float(box.get("height"))


def cards(root):
    """The rectangle of each card, by its number."""
    return {int(g.get("data-node")): rectangle(g) for g in root.iter(SVG + "g") if g.get("data-node")}


def boxes(root):
    """The rectangles of open boxes."""
    groups = [g for g in root.iter(SVG + "g") if g.get("class") == "sco" and not g.get("data-node")]
    return [rectangle(g) for g in groups if g.find(SVG + "rect").get("class") == "box"]


def arrows(root):
    """Points along each arrow, by (source, target, slot)."""
    return {
        tuple(map(int, g.get("data-edge").split("-"))): along(g.find(SVG + "path").get("d"))
        for g in root.iter(SVG + "g")
        if g.get("data-edge")
    }


def along(d):
    """Points along a path, close to each other."""
    steps = [(command, *map(float, numbers.split())) for command, numbers in re.findall("([MLC])([^MLC]*)", d)]
    points, codes = Path("", steps).outline()
    found = [points[0]]
    place = 1
    while place < len(points):
        a = points[place - 1]
        if codes[place] == 4:
            b, c, e = points[place : place + 3]
            for k in range(1, 41):
                t = k / 40
                parts = (1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t * t * (1 - t), t**3
                corners = zip(parts, (a, b, c, e), strict=True)
                found.append(tuple(map(sum, zip(*[(w * x, w * y) for w, (x, y) in corners], strict=True))))
            place += 3
        else:
            e = points[place]
            found += [(a[0] + (e[0] - a[0]) * k / 40, a[1] + (e[1] - a[1]) * k / 40) for k in range(1, 41)]
            place += 1
    return found


def crossings(root):
    """How many pairs of arrows cross that neither begin nor end at one place."""
    count = 0
    for (one, path), (other, way) in combinations(arrows(root).items(), 2):
        if one[0] != other[0] and any(meet(a, b, c, d) for a, b in pairwise(path[::4]) for c, d in pairwise(way[::4])):
            count += 1
    return count


def meet(a, b, c, d):
    """Do the pieces a-b and c-d cross, each strictly inside the other?"""
    return side(a, b, c) * side(a, b, d) < 0 and side(c, d, a) * side(c, d, b) < 0


def side(a, b, p):
    return (b[0] - a[0]) * (p[1] - a[1]) - (b[1] - a[1]) * (p[0] - a[0])


def over(rectangle, path, inset=1.0):
    """Does a path run through the inside of a rectangle?"""
    left, top, right, low = rectangle
    return any([left + inset < x < right - inset and top + inset < y < low - inset for x, y in path])


def length(path):
    return sum([((c - a) ** 2 + (d - b) ** 2) ** 0.5 for (a, b), (c, d) in pairwise(path)])
