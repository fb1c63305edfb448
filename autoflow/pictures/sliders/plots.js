// What the output does where the sliders can go: over one input its curve with the tangent, over two its contours with
// the gradient. It computes the recorded graph (`forward`) at each place that it draws.

const WIDE = 460, HIGH = 290, LEFT = 58, RIGHT = 14, TOP = 12, BOTTOM = 36;
const SAMPLES = 240, COLUMNS = 48, LINES = 36, LEVELS = 10, ARROW = 70;
const INSIDE = WIDE - LEFT - RIGHT;

function draw(parent, tag, attributes, text) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  if (text !== undefined) element.textContent = text;
  parent.append(element);
  return element;
}

// Round numbers between two others.
function ticks(low, high, most) {
  const rough = (high - low) / most, unit = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((k) => k * unit).find((s) => s >= rough * (1 - 1e-9)), found = [];
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high + 1e-9 * step && found.length <= most; k++) found.push(k * step);
  return found;
}

// The numbers between which most values are; a pole may go to infinity. Always some room: what rounding leaves is no range.
function span(values, always) {
  const finite = values.filter(Number.isFinite).sort((a, b) => a - b), n = finite.length;
  if (!n) return [-1, 1];
  const at = (share) => finite[Math.round(share * (n - 1))];
  let [low, high] = [finite[0], finite[n - 1]];
  if (high - low > 8 * (at(0.95) - at(0.05)) && at(0.95) > at(0.05)) [low, high] = [at(0.05), at(0.95)];
  for (const value of always.filter(Number.isFinite)) [low, high] = [Math.min(low, value), Math.max(high, value)];
  const size = Math.max(Math.abs(low), Math.abs(high)), room = high - low > 1e-14 * size ? 0.07 * (high - low) : size || 1;
  return [low - room, high + room];
}

// A plane of the plot: from numbers to pixels, and back.
function plane(lowX, highX, lowY, highY, high) {
  const sx = INSIDE / (highX - lowX), sy = (high - TOP - BOTTOM) / (highY - lowY);
  return {
    sx, sy, high, x: (v) => (v - lowX) * sx, y: (v) => (highY - v) * sy,
    backX: (p) => lowX + p / sx, backY: (p) => highY - p / sy, lowX, highX, lowY, highY,
  };
}

function axes(svg, p, nameX, nameY, digits) {
  const bottom = p.high - BOTTOM;
  for (const v of ticks(p.lowX, p.highX, 6)) {
    draw(svg, "path", { class: "grid", d: `M${LEFT + p.x(v)} ${TOP}V${bottom}` });
    draw(svg, "text", { x: LEFT + p.x(v), y: bottom + 15, "text-anchor": "middle" }, number(rounded(v), digits));
  }
  for (const v of ticks(p.lowY, p.highY, 5)) {
    draw(svg, "path", { class: "grid", d: `M${LEFT} ${TOP + p.y(v)}h${INSIDE}` });
    draw(svg, "text", { x: LEFT - 6, y: TOP + p.y(v) + 4, "text-anchor": "end" }, number(rounded(v), digits));
  }
  draw(svg, "text", { class: "axis", x: LEFT + INSIDE / 2, y: p.high - 4, "text-anchor": "middle" }, nameX);
  draw(svg, "text", { class: "axis", x: LEFT + 4, y: TOP + 13 }, nameY);
  const size = { width: INSIDE, height: bottom - TOP, x: LEFT, y: TOP };
  return draw(svg, "svg", { ...size, class: "inside" }); // what leaves it is cut off
}
const rounded = (v) => Number(v.toPrecision(12)); // 3 · 0.1 is 0.3 on an axis

// f over one input, the point, the tangent, the way that was gone.
function curve(svg, problem, a) {
  const { digits, state, tape } = problem, at = problem.inputs[a.node], value = state.values[tape.output];
  const many = problem.samples ?? SAMPLES; // places where it is computed; a widget has fewer
  const xs = Array.from({ length: many + 1 }, (_, k) => a.low + ((a.high - a.low) * k) / many);
  const ys = xs.map((x) => problem.at({ [a.node]: x })), slope = state.gradients[a.node];
  const p = plane(a.low, a.high, ...span(ys, [value]), HIGH);
  const inside = axes(svg, p, a.title, problem.title, digits);
  let path = "", pen = false;
  xs.forEach((x, k) => {
    const [low, high] = [Math.min(ys[k], ys[k - 1]), Math.max(ys[k], ys[k - 1])];
    pen = pen && Number.isFinite(ys[k]) && !(low < p.lowY && high > p.highY); // across the whole plot: a pole
    if (Number.isFinite(ys[k])) path += `${pen ? "L" : "M"}${fixed(p.x(x))} ${fixed(p.y(ys[k]))}`;
    pen = Number.isFinite(ys[k]);
  });
  draw(inside, "path", { class: "curve", d: path });
  const along = (x) => `${fixed(p.x(x))} ${fixed(p.y(value + slope * (x - at)))}`, ends = [a.low, a.high].map(along);
  if (Number.isFinite(value + slope)) draw(inside, "path", { class: "tangent", d: `M${ends[0]}L${ends[1]}` });
  const points = [...problem.trail, problem.inputs].map((one) => [one[a.node], problem.valueOf(one)]);
  trail(inside, p, points);
  const next = at - problem.rate * slope;
  if (problem.downhill) dot(inside, p, [next, problem.at({ [a.node]: next })], "next", 4);
  dot(inside, p, [at, value], "point", 6);
  const right = p.x(at) > INSIDE / 2, y = fixed(Math.max(16, p.y(value) - 10) || 16); // also of NaN
  const beside = { x: fixed(p.x(at) + (right ? -12 : 12)), y, "text-anchor": right ? "end" : "start" };
  draw(inside, "text", { ...beside, class: "slope" }, `slope ${number(slope, digits)}`);
  const where = `${a.title} from ${number(a.low, digits)} to ${number(a.high, digits)}`;
  svg.setAttribute("aria-label", `The curve of ${problem.title} over ${where}, and its tangent at ${a.title} = `
    + `${number(at, digits)}: value ${number(value, digits)}, slope ${number(slope, digits)}`);
  return { p, set: (x) => ({ [a.node]: x }), note: "" };
}

// Lines of equal value over two inputs, the gradient, the way that was gone.
function contours(svg, problem, a, b) {
  const { digits, state, inputs } = problem, wide = a.high - a.low, tall = b.high - b.low;
  const even = (tall / wide) * INSIDE, alike = even > 150 && even < 460;
  const p = plane(a.low, a.high, b.low, b.high, (alike ? even : HIGH - TOP - BOTTOM) + TOP + BOTTOM);
  const inside = axes(svg, p, a.title, b.title, digits);
  const [columns, lines] = problem.cells ?? [COLUMNS, LINES];
  const grid = problem.remember(`${a.node} ${b.node}`, [a.node, b.node], () =>
    Array.from({ length: lines + 1 }, (_, j) => Array.from({ length: columns + 1 }, (_, i) =>
      problem.at({ [a.node]: a.low + (wide * i) / columns, [b.node]: b.low + (tall * j) / lines }))));
  const levels = ticks(...span(grid.flat(), []), LEVELS), labels = [];
  levels.forEach((level, k) => {
    const pieces = segments(grid, level).map((piece) => piece.map(([i, j]) =>
      [p.x(a.low + (wide * i) / columns), p.y(b.low + (tall * j) / lines)]));
    if (!pieces.length) return;
    const d = pieces.map(([m, n]) => `M${m.map(fixed).join(" ")}L${n.map(fixed).join(" ")}`).join("");
    draw(inside, "path", { class: "level", d, opacity: 0.5 + (0.5 * (k + 1)) / levels.length });
    labels.push([roomiest(pieces, labels, p), number(rounded(level), digits)]);
  });
  for (const [[x, y], text] of labels) {
    draw(inside, "text", { class: "label", x: fixed(x), y: fixed(y + 4), "text-anchor": "middle" }, text);
  }
  const at = [inputs[a.node], inputs[b.node]], slope = [state.gradients[a.node], state.gradients[b.node]];
  trail(inside, p, [...problem.trail, inputs].map((one) => [one[a.node], one[b.node]]));
  if (problem.downhill) dot(inside, p, at.map((v, k) => v - problem.rate * slope[k]), "next", 4);
  dot(inside, p, at, "point", 6);
  const unit = levels.length > 1 ? levels[1] - levels[0] : 1;
  arrow(inside, [p.x(at[0]), p.y(at[1])], [slope[0] * p.sx, -slope[1] * p.sy], unit, p);
  const [gx, gy] = slope.map((v) => number(v, digits));
  svg.setAttribute("aria-label", `Lines of equal ${problem.title} over ${a.title} and ${b.title}; at `
    + `${at.map((v) => number(v, digits)).join(", ")} its gradient is ${gx}, ${gy}: the arrow, uphill`);
  const note = alike ? "" : " The two axes have different scales: so it is not at right angles to the lines.";
  return { p, set: (x, y) => ({ [a.node]: x, [b.node]: y }), note: `The arrow is the gradient: uphill.${note}` };
}

// Marching squares: for each cell of the grid where the level passes through.
function segments(grid, level) {
  const found = [];
  for (let j = 0; j + 1 < grid.length; j++) {
    for (let i = 0; i + 1 < grid[0].length; i++) {
      const corners = [[i, j], [i + 1, j], [i + 1, j + 1], [i, j + 1]], v = corners.map(([x, y]) => grid[y][x]);
      if (!v.every(Number.isFinite)) continue;
      const cuts = [0, 1, 2, 3].filter((k) => v[k] < level !== v[(k + 1) % 4] < level).map((k) => {
        const m = (k + 1) % 4, t = (level - v[k]) / (v[m] - v[k]);
        return corners[k].map((c, axis) => c + t * (corners[m][axis] - c));
      });
      for (let k = 0; k + 1 < cuts.length; k += 2) found.push([cuts[k], cuts[k + 1]]);
    }
  }
  return found;
}

// Where on a line its number is farthest from other numbers and from the edge.
function roomiest(pieces, labels, p) {
  let best = [-1, [0, 0]];
  for (const [[ax, ay], [bx, by]] of pieces) {
    const x = (ax + bx) / 2, y = (ay + by) / 2, edge = 2.5 * Math.min(x, INSIDE - x, y, p.high - TOP - BOTTOM - y);
    const room = Math.min(edge, 120, ...labels.map(([[u, v]]) => Math.hypot(x - u, y - v)));
    if (room > best[0]) best = [room, [x, y]];
  }
  return best[1];
}

const fixed = (v) => (Math.abs(v) < 1e6 ? Math.round(100 * v) / 100 : Math.sign(v) * 1e6);
const shown = (p, [x, y]) => Math.abs(p.x(x)) < 1e5 && Math.abs(p.y(y)) < 1e5; // NaN is not

function dot(inside, p, [x, y], name, r) {
  if (shown(p, [x, y])) draw(inside, "circle", { class: name, cx: fixed(p.x(x)), cy: fixed(p.y(y)), r });
}

function trail(inside, p, points) {
  const seen = points.filter((one) => shown(p, one));
  if (seen.length < 2) return;
  const places = seen.map(([x, y]) => `${fixed(p.x(x))} ${fixed(p.y(y))}`);
  draw(inside, "path", { class: "trail", d: `M${places.join("L")}` });
  for (const one of seen.slice(0, -1)) dot(inside, p, one, "past", 3);
}

// The gradient as an arrow; `unit` is the value between two lines, and gives it a length that can be drawn.
function arrow(inside, [x, y], [dx, dy], unit, p) {
  const size = Math.hypot(dx / p.sx, dy / p.sy), length = Math.hypot(dx, dy), span = p.highX - p.lowX;
  if (!(length > 0) || !Number.isFinite(length)) return;
  const long = 14 + (ARROW * size) / (size + (5 * Math.abs(unit)) / span), ux = dx / length, uy = dy / length;
  const [ex, ey] = [x + ux * long, y + uy * long];
  const at = (s, t) => `${fixed(ex - ux * s - uy * t)} ${fixed(ey - uy * s + ux * t)}`;
  draw(inside, "path", { class: "gradient", d: `M${fixed(x)} ${fixed(y)}L${at(9, 0)}` });
  draw(inside, "path", { class: "head", d: `M${at(0, 0)}L${at(11, 5)}L${at(11, -5)}Z` });
}
