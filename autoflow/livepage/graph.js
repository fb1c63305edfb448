// The graph: cards with live numbers and images, arrows as thick as the gradient that flows back.

const SVG = "http://www.w3.org/2000/svg", SHORT = { Variable: "var", Constant: "con", Operation: "op" };
let layout = null, drawn = [], arrows = [];

function element(name, attributes, ...children) {
  const e = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) e.setAttribute(key, value);
  e.append(...children);
  return e;
}

function path(points, down) { // straight from a card, then in a curve to the next
  const n = points.length, tip = points[n - 1], end = down ? [tip[0], tip[1] - 7] : [tip[0] - 7, tip[1]];
  let text = `M${points[0]}`;
  for (let i = 1; i < n - 1; i += 2) {
    const [ax, ay] = points[i], [bx, by] = i + 2 < n ? points[i + 1] : end;
    text += `L${[ax, ay]}`;
    if (!down && Math.abs(ax - bx) < 0.6) { // the end of a row
      const turn = (10 + Math.min(14, Math.abs(ay - by) / 8)) * (points[i - 1][0] > ax ? -1 : 1);
      text += `C${[ax + turn, ay, bx + turn, by, bx, by]}`;
    } else if (down) text += `C${[ax, (ay + by) / 2, bx, (ay + by) / 2, bx, by]}`;
    else text += `C${[(ax + bx) / 2, ay, (ax + bx) / 2, by, bx, by]}`;
  }
  return text;
}

function buildGraph() { // for the width that there is
  const room = $("graph").clientWidth, wide = A.layouts.wide.size[0] * 0.82 <= room;
  const next = A.layouts[wide ? "wide" : "narrow"];
  if (next !== layout) {
    layout = next;
    const svg = element("svg", { viewBox: `0 0 ${layout.size}`.replaceAll(",", " "), role: "group", "aria-label": "graph" });
    arrows = layout.edges.map(([source, target, flows, stub, ...flat]) => {
      const points = flat.flatMap((x, k) => (k % 2 ? [] : [[x, flat[k + 1]]])), [x, y] = points.at(-1);
      const head = layout.down ? [[x, y], [x - 4, y - 8], [x + 4, y - 8]] : [[x, y], [x - 8, y - 4], [x - 8, y + 4]];
      const line = element("path", { d: path(points, layout.down) });
      svg.append(element("g", { class: flows ? "edge" : "edge fixed" }, line, element("polygon", { points: head.join(" ") })));
      if (stub) svg.append(element("text", { class: "stub", x: points[0][0], y: points[0][1] - 5 }, A.cards[source].title));
      return { card: A.cards[source], line, flows };
    });
    drawn = A.cards.map((c, k) => buildCard(svg, c, layout.boxes[k]));
    $("graph").replaceChildren(svg, Object.assign(document.createElement("canvas"), { ariaHidden: "true" }));
    mark();
  }
  const [w, h] = layout.size, scale = Math.min(1.1, Math.max(0.72, (room - 2) / w)), [svg, canvas] = $("graph").children;
  layout.scale = scale;
  layout.ratio = scale * Math.min(2, devicePixelRatio || 1);
  for (const e of [svg, canvas]) Object.assign(e.style, { width: w * scale + "px", height: h * scale + "px" });
  Object.assign(canvas, { width: w * layout.ratio, height: h * layout.ratio });
  canvas.style.left = (svg.getBoundingClientRect().left - $("graph").getBoundingClientRect().left) / scaled() + $("graph").scrollLeft + "px";
}

function buildCard(svg, c, [x, y, w, h]) {
  const kind = SHORT[c.kind], text = (name, at, up, words, end) =>
    element("text", { class: name, x: at, y: up, ...(end ? { "text-anchor": "end" } : {}) }, words);
  const shape = c.shape.length > 1 ? c.shape.join(" × ") : c.shape.length ? `(${c.shape[0]},)` : "";
  const g = element("g", {
    class: `card ${kind}${c === A.cards.at(-1) ? " out" : ""}`, transform: `translate(${x} ${y})`, tabindex: 0, role: "button",
    "aria-label": `${c.name}, ${c.word}, ${shape ? "shape " + c.shape.join(" by ") : "a number"}`,
  }, element("rect", { class: "box", width: w, height: h, rx: kind === "op" ? 4 : 12 }));
  if (kind === "op") g.append(element("path", { class: "band", d: `M1 25V4a3 3 0 0 1 3-3H${w - 4}a3 3 0 0 1 3 3V25Z` }));
  const value = text(shape ? "shape" : "value", w - 9, 17, shape, true);
  const foot = shape ? text("numbers", 9, h - 8, "") : null, gradient = c.grad === null ? null : text("gradient", w - 9, h - 8, "", true);
  g.append(text("title", 9, 17, c.title), value, ...[foot, gradient].filter(Boolean));
  if (!shape && gradient) g.append(text("partial", 9, h - 8, "gradient"));
  g.addEventListener("click", () => { if (picked !== c) pick(c); }); // the end of a drag is a click, too
  g.addEventListener("pointerenter", () => { hovered = c; mark(); });
  g.addEventListener("pointerleave", () => { hovered = null; mark(); });
  g.addEventListener("keydown", (e) => { if (e.key === "Enter" || e.key === " ") { consume(e); pick(c, true); } });
  if (c.kind === "Variable") g.addEventListener("pointerdown", (e) => grab(e, g, c, x, y, w));
  svg.append(g);
  return { c, g, x, y, w, texts: { value: shape ? foot : value, gradient }, shown: {} };
}

function write(card, name, words) {
  if (card.texts[name] && card.shown[name] !== words) card.texts[name].textContent = card.shown[name] = words;
}

function drawGraph() {
  const canvas = $("graph").lastChild, ctx = canvas.getContext("2d");
  ctx.setTransform(1, 0, 0, 1, 0, 0);
  ctx.clearRect(0, 0, canvas.width, canvas.height);
  ctx.setTransform(layout.ratio, 0, 0, layout.ratio, 0, 0);
  const hide = hidden();
  for (const card of drawn) {
    const { c, x, y, w } = card, v = valueOf(c), d = gradientOf(c), secret = hide && d && c !== A.cards.at(-1);
    if (!c.shape.length) {
      write(card, "value", short(v[0]));
      if (d) write(card, "gradient", secret ? "?" : size(d[0]));
      continue;
    }
    const { mean, spread } = statistics(v), room = d ? (w - 24) / 2 : w - 18;
    write(card, "value", d && w < 160 ? `± ${short(spread, 2)}` : `${short(mean, 2)} ± ${short(spread, 2)}`);
    if (d) write(card, "gradient", secret ? "?" : size(statistics(d).rms));
    const units = c.shape[1] ?? 1, whole = (a, kind, at) => (c.tiles ? drawMaps(ctx, a, units, kind, c.tiles, at, y + 30, room, c.high)
      : drawArray(ctx, a, c.shape, kind, at, y + 30, room, c.high));
    if (c.map !== null) drawMaps(ctx, P.outputs[1 + c.map], units, "value", A.side, x + 9, y + 30, room, c.high);
    else whole(v, "value", x + 9);
    if (d && !secret) whole(d, "gradient", x + 15 + room);
  }
  for (const a of arrows) if (a.flows) {
    const size = statistics(gradientOf(a.card)).rms, level = size ? Math.max(0, Math.min(4, 4 + Math.log10(size))) : 0;
    if (Math.abs(level - (a.level ?? -1)) > 0.1) a.line.style.strokeWidth = 1.2 + 0.7 * (a.level = level);
  }
}

// -- a weight is moved by dragging its cell up or down

function grab(event, g, c, x, y, w) {
  const at = boxOf($("graph").firstChild, event), { rows, columns, down, across, wide, high } = placed(c.shape, (w - 24) / 2, c.high);
  const k = Math.floor((at.x / layout.scale - x - 9) / wide * columns), r = Math.floor((at.y / layout.scale - y - 30) / high * rows);
  if (!c.shape.length) drag(event, g, c, 0);
  else if (!c.tiles && k >= 0 && k < columns && r >= 0 && r < rows) drag(event, g, c, r * down + k * across);
}

function drag(event, target, c, k) {
  const a = valueOf(c), from = a[k], top = event.clientY;
  let moved = false;
  const move = (e) => {
    if (!moved && Math.abs(e.clientY - top) < 3) return;
    if (!moved && picked !== c) pick(c);
    if (!moved) choose(k);
    moved = true;
    a[k] = from + (top - e.clientY) * 0.02;
    edited();
  };
  target.setPointerCapture(event.pointerId);
  target.addEventListener("pointermove", move);
  const end = () => { target.removeEventListener("pointermove", move); tell(); };
  target.addEventListener("lostpointercapture", end, { once: true }); // let go, or taken away by the browser
}
