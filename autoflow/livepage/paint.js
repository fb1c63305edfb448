// Colours, numbers, arrays as images; the data with the prediction, and the curve of the loss.

// -- colours: those of the theme. Values go from orange to blue, gradients from green to purple; zero is the ground.

let theme = {};
function readTheme() {
  const style = getComputedStyle(host), read = (name) => style.getPropertyValue("--" + name).trim();
  if (theme.bg === read("bg")) return;
  theme = { bg: read("bg"), tables: {} };
  for (const name of ["ink", "sub", "edge", "grad", "var-line", "op-line", "con-line", "sco-line"]) theme[name] = read(name);
  theme.dark = rgb(theme.bg)[0] < 128;
}
const rgb = (hex) => [1, 3, 5].map((k) => parseInt(hex.slice(k, k + 2), 16));
const mix = (a, b, t) => a.map((x, k) => Math.round(x + (b[k] - x) * t));
const pixel = ([r, g, b]) => (255 << 24) | (b << 16) | (g << 8) | r;
const CLASSES = ["var-line", "op-line", "con-line", "grad", "edge", "sub"];
const classColour = (k) => rgb(theme[CLASSES[k % CLASSES.length]]);

function colours(kind) { // 256 of them, from −1 to 1, and that of NaN
  if (theme.tables[kind]) return theme.tables[kind];
  const ends = (kind === "value" ? ["op-line", "var-line"] : ["con-line", "grad"]).map((name) => rgb(theme[name]));
  const table = new Uint32Array(257), ground = theme.dark ? [24, 32, 40] : [255, 255, 255];
  for (let i = 0; i < 256; i++) {
    const x = (i - 127.5) / 127.5;
    table[i] = pixel(mix(ground, ends[x < 0 ? 0 : 1], Math.abs(x) ** 0.7));
  }
  table[256] = pixel(rgb(theme.ink));
  return (theme.tables[kind] = table);
}

const scales = new Map(), sheet = document.createElement("canvas"), pen = sheet.getContext("2d", { willReadFrequently: true });
function scaleOf(a) { // the largest entry; while it trains it falls slowly, so that nothing flickers
  let m = 0;
  for (let i = 0; i < a.length; i++) if (Math.abs(a[i]) > m && isFinite(a[i])) m = Math.abs(a[i]);
  const scale = state.playing ? Math.max(m, (scales.get(a) ?? m) * 0.97) : m;
  scales.set(a, scale);
  return Math.max(scale, 1e-12); // 1e−18 is rounding, and white
}

// rows × columns of an array as an image of as many pixels
function heat(a, rows, columns, kind, down = columns, across = 1, from = 0, scale = scaleOf(a)) {
  sheet.width = columns;
  sheet.height = rows;
  const image = pen.createImageData(columns, rows), pixels = new Uint32Array(image.data.buffer), table = colours(kind);
  for (let r = 0, k = 0; r < rows; r++) for (let c = 0; c < columns; c++, k++) {
    const x = a[from + r * down + c * across] / scale;
    pixels[k] = table[x === x ? Math.max(0, Math.min(255, Math.round(127.5 + 127.5 * x))) : 256];
  }
  pen.putImageData(image, 0, 0);
  return sheet;
}
function gridOf(shape) { // rows and columns; long matrices lie down
  const columns = shape.at(-1) ?? 1, rows = shape.reduce((a, b) => a * b, 1) / columns;
  return rows > 3 * columns ? { rows: columns, columns: rows, down: 1, across: columns } : { rows, columns, down: columns, across: 1 };
}
function placed(shape, w, h) { // the same, and the size of its image where there is room for w × h: small cells are stretched
  const grid = gridOf(shape), { rows, columns } = grid, cell = Math.min(w / columns, h / rows, 14);
  const high = Math.min(h, (cell < 6 ? Math.max(cell, Math.min(9, h / rows)) : cell) * rows);
  return { ...grid, wide: cell < 6 ? w : cell * columns, high };
}
function drawArray(ctx, a, shape, kind, x, y, w, h) {
  const { rows, columns, down, across, wide, high } = placed(shape, w, h);
  ctx.imageSmoothingEnabled = false;
  ctx.drawImage(heat(a, rows, columns, kind, down, across), 0, 0, columns, rows, x, y, wide, high);
  outline(ctx, x, y, wide, high);
}
function outline(ctx, x, y, w, h, colour = theme.dark ? "#ffffff2e" : "#0000002e", width = 0.7) {
  Object.assign(ctx, { strokeStyle: colour, lineWidth: width });
  ctx.strokeRect(x, y, w, h);
}
function drawMaps(ctx, a, units, kind, side, x, y, w, h) { // one image for each unit: what it says everywhere
  const across = units > 4 ? Math.ceil(units / 2) : units, lines = Math.ceil(units / across), gap = 2, scale = scaleOf(a);
  const size = Math.min((w - gap * (across - 1)) / across, (h - gap * (lines - 1)) / lines);
  ctx.imageSmoothingEnabled = side > 20;
  for (let u = 0; u < units; u++) {
    const left = x + (u % across) * (size + gap), top = y + Math.floor(u / across) * (size + gap);
    ctx.drawImage(heat(a, side, side, kind, units * side, units, u, scale), 0, 0, side, side, left, top, size, size);
    outline(ctx, left, top, size, size);
  }
}

// -- numbers as the pictures write them

function short(x, digits = 4) {
  if (!isFinite(x)) return x !== x ? "NaN" : x > 0 ? "∞" : "−∞";
  const s = Math.abs(x), far = s !== 0 && (s < 1e-3 || s >= 1e5);
  return (far ? x.toExponential(1).replace(/\.0(?=e)|\+/g, "") : String(Number(x.toPrecision(digits)))).replaceAll("-", "−");
}
const size = (x) => (Math.abs(x) < 1e-14 ? "0" : short(x, 3)); // of a gradient: less is rounding
function statistics(a) {
  let top = 0, mean = 0, square = 0, all = 0;
  for (let i = 0; i < a.length; i++) top = Math.max(top, Math.abs(a[i]));
  const unit = isFinite(top) && top || 1; // the squares of 1e200 would overflow
  for (let i = 0; i < a.length; i++) mean += a[i] / unit / a.length;
  for (let i = 0; i < a.length; i++) { square += (a[i] / unit - mean) ** 2; all += (a[i] / unit) ** 2; }
  if (Math.abs(mean) < 1e-13 * Math.sqrt(all)) mean = 0;
  return { mean: unit * mean, spread: square < 1e-28 * all ? 0 : unit * Math.sqrt(square / a.length), rms: unit * Math.sqrt(all / a.length) };
}

// -- a canvas at the resolution of the screen

// The page around may be scaled (slides). Sizes of an element, and where an event is on it, in its own pixels:
function scaled() {
  const page = $("page"), scale = page.getBoundingClientRect().width / page.offsetWidth;
  return Math.abs(scale - 1) > 0.01 ? scale : 1;
}
function boxOf(element, event) {
  const { left, top, width, height } = element.getBoundingClientRect(), scale = scaled();
  return { width: width / scale, height: height / scale, x: (event?.clientX - left) / scale, y: (event?.clientY - top) / scale };
}
function sized(canvas) {
  const ratio = Math.min(2, devicePixelRatio || 1), { width, height } = boxOf(canvas);
  const w = Math.round(width * ratio), h = Math.round(height * ratio);
  if (canvas.width !== w || canvas.height !== h) { canvas.width = w; canvas.height = h; }
  const ctx = canvas.getContext("2d");
  ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
  ctx.clearRect(0, 0, width, height);
  Object.assign(ctx, { font: "10.5px system-ui, sans-serif", fillStyle: theme.sub });
  return [ctx, width, height];
}
function line(ctx, points, colour, width) { // with gaps where a number is NaN or infinite
  ctx.beginPath();
  let pen = false;
  for (const [x, y] of points) {
    const there = isFinite(x) && isFinite(y);
    if (there) ctx[pen ? "lineTo" : "moveTo"](x, y);
    pen = there;
  }
  stroke(ctx, colour, width);
}
function roomOf(low, high, share) { // beside numbers from low to high; of equal ones, up to rounding, as far as they are from 0
  const size = Math.max(Math.abs(low), Math.abs(high));
  return high - low > 1e-14 * size ? share * (high - low) : size || 1;
}
function stroke(ctx, colour, width) {
  Object.assign(ctx, { strokeStyle: colour, lineWidth: width });
  ctx.stroke();
}
function dot(ctx, [x, y], r, fill, edge = theme.bg, width = 1.2) {
  ctx.beginPath();
  ctx.arc(x, y, r, 0, 7);
  ctx.fillStyle = fill;
  ctx.fill();
  stroke(ctx, edge, width);
}

// -- data and prediction

let chosen = -1;
const count = () => (A.kind === "pairs" ? targets.length : A.shape[0]);
function classOf(i) {
  const t = targets, k = A.classes;
  if (k.targets === "none") return 0;
  if (k.targets === "hot") { const row = t.subarray(i * k.count, (i + 1) * k.count); return row.indexOf(Math.max(...row)); }
  return k.targets === "labels" ? t[i] : t[i] > k.at ? 0 : 1;
}
function area() {
  if (A.kind !== "pairs") return A.area;
  const all = [...P.outputs[0], ...targets].filter(isFinite), low = Math.min(...all), high = Math.max(...all), room = roomOf(low, high, 0.08);
  return [low - room, high + room, low - room, high + room];
}
function pointAt(i) {
  if (A.kind === "curve") return [first[i], targets[i]];
  return A.kind === "pairs" ? [targets[i], P.outputs[0][i]] : [first[2 * i], first[2 * i + 1]];
}
function movePoint(i, x, y) {
  if (A.kind === "pairs" && A.labels) return;
  if (A.kind === "pairs") targets[i] = x;
  else if (A.kind === "curve") { first[i] = x; if (!A.labels) targets[i] = y; }
  else { first[2 * i] = x; first[2 * i + 1] = y; }
  edited();
}
function where(event) { // a place on the canvas in the units of the data
  const { x, y, width, height } = boxOf($("plane"), event), [left, right, low, high] = area();
  return [left + x / width * (right - left), high - y / height * (high - low)];
}
function drawData() {
  if (!P) return;
  const [ctx, w, h] = sized($("plane"));
  if (A.kind === "images") { drawImages(ctx, w, h); return; }
  const [left, right, low, high] = area(), at = ([x, y]) => [(x - left) / (right - left) * w, (high - y) / (high - low) * h], y = P.outputs[0];
  if (A.kind === "plane") drawPlane(ctx, w, h, y);
  else {
    const zero = A.kind === "pairs" ? [[left, low], [right, high]] : [[left, 0], [right, 0]];
    line(ctx, zero.map(at), theme["sco-line"], 1);
    if (A.kind === "curve") {
      line(ctx, [...grid].map((x, i) => at([x, y[i]])), theme["var-line"], 3);
      const step = (right - left) / (grid.length - 1);
      for (let i = 0; i < count(); i++) { // what the loss squares: the distance to the curve
        const [a, b] = pointAt(i), k = Math.max(0, Math.min(grid.length - 2, Math.floor((a - left) / step))), t = (a - grid[k]) / step;
        line(ctx, [[a, b], [a, y[k] + t * (y[k + 1] - y[k])]].map(at), theme.grad, 1.2);
      }
    }
  }
  for (let i = 0; i < count(); i++) {
    const colour = A.kind === "plane" ? `rgb(${classColour(classOf(i))})` : theme[A.kind === "curve" ? "op-line" : "var-line"];
    dot(ctx, at(pointAt(i)), i === chosen ? 7 : 4.2, colour, i === chosen ? theme.ink : theme.bg, i === chosen ? 2.2 : 1.2);
  }
}
function drawPlane(ctx, w, h, y) {
  const side = A.side, k = A.classes.count, middle = A.classes.middle, ground = rgb(theme.bg), strength = theme.dark ? 0.5 : 0.4;
  sheet.width = sheet.height = side;
  const image = pen.createImageData(side, side);
  for (let i = 0; i < side * side; i++) {
    let shares = k > 1 ? Array.from(y.subarray(i * k, i * k + k)) : [middle ? Math.max(0, Math.min(1, y[i])) : 1 / (1 + Math.exp(-y[i]))];
    if (k > 1) {
      const top = Math.max(...shares), all = shares.map((x) => Math.exp(x - top)), sum = all.reduce((a, b) => a + b);
      shares = all.map((x) => x / sum);
    } else shares.push(1 - shares[0]);
    const best = Math.max(...shares), sure = (best * shares.length - 1) / (shares.length - 1), known = best === best; // NaN stays white
    image.data.set([...(known ? mix(ground, classColour(shares.indexOf(best)), sure * strength) : ground), 255], 4 * i);
  }
  pen.putImageData(image, 0, 0);
  ctx.imageSmoothingEnabled = true;
  ctx.drawImage(sheet, 0, 0, side, side, 0, 0, w, h);
  if (k > 1) return;
  ctx.beginPath(); // the boundary: where the sign changes between neighbours
  const dx = w / side, dy = h / side;
  for (let r = 0; r < side - 1; r++) for (let c = 0; c < side - 1; c++) {
    const i = r * side + c, v = [y[i], y[i + 1], y[i + side + 1], y[i + side]].map((x) => x - middle), hit = [];
    if (!v.every(isFinite)) continue;
    for (let e = 0; e < 4; e++) {
      const a = v[e], b = v[(e + 1) % 4], t = a / (a - b);
      if (a > 0 !== b > 0) hit.push([[t, 0], [1, t], [1 - t, 1], [0, 1 - t]][e]);
    }
    hit.forEach(([a, b], e) => ctx[e % 2 ? "lineTo" : "moveTo"]((c + 0.5 + a) * dx, (r + 0.5 + b) * dy));
  }
  stroke(ctx, theme.ink, 1.6);
}

const imageGrid = (w) => { const across = Math.ceil(Math.sqrt(count())); return { across, size: w / across }; };
function drawImages(ctx, w) { // each with the class that is predicted; a wrong one has a frame
  const side = Math.sqrt(A.shape[1]), k = A.classes.count, { across, size } = imageGrid(w), scale = scaleOf(first);
  ctx.imageSmoothingEnabled = false;
  for (let i = 0; i < count(); i++) {
    const x = (i % across) * size, y = Math.floor(i / across) * size, row = P.outputs[0].subarray(i * k, (i + 1) * k);
    const said = row.indexOf(Math.max(...row));
    ctx.drawImage(heat(first, side, side, "value", side, 1, i * side * side, scale), 0, 0, side, side, x + 2, y + 2, size - 4, size - 4);
    if (A.classes.targets === "none" || said === classOf(i)) continue;
    outline(ctx, x + 2, y + 2, size - 4, size - 4, theme["op-line"], 2.5);
    Object.assign(ctx, { fillStyle: theme["op-line"], font: `700 ${Math.max(9, size / 3)}px system-ui, sans-serif` });
    ctx.fillText(said < 0 ? "?" : said, x + 5, y + size - 6);
  }
}
function paintImage(event) { // ink where the pointer is
  const { x, y, width } = boxOf($("plane"), event), side = Math.sqrt(A.shape[1]), { across, size } = imageGrid(width);
  const i = Math.floor(y / size) * across + Math.floor(x / size);
  const c = Math.floor(((x % size) - 2) / (size - 4) * side), r = Math.floor(((y % size) - 2) / (size - 4) * side);
  if (A.x || x >= width || i >= count() || Math.min(r, c) < 0 || Math.max(r, c) >= side) return;
  first[i * side * side + r * side + c] = Math.max(...A.data[0]);
  edited();
}

// -- the loss

const LEFT = 40, BOTTOM = 18;
function gap(range) { // between two marks of an axis: 0.5, 1, 2, 5, 10 ...
  const unit = 10 ** Math.floor(Math.log10(range)), n = range / unit;
  return n < 2.5 ? unit / 2 : n < 5 ? unit : 2 * unit;
}
function marks(a, b, linear) { // on the axis of the loss, from a to b: of its logarithm, or of itself
  const every = linear ? gap(b - a) : Math.ceil((b - a) / 8), found = [];
  for (let e = Math.floor(a / every); e * every <= b; e++) {
    if (linear) found.push(e * every);
    else for (const m of b - a < 0.8 ? [1, 2, 3, 4, 5, 6, 7, 8] : b - a < 2.5 ? [1, 2, 5] : [1]) found.push(m * 10 ** (e * every));
  }
  return found;
}
function drawLoss() { // on a logarithmic axis, unless it has been negative, or is always 0
  const [ctx, w, h] = sized($("losses")), n = Math.max(losses.length - 1, 50), fine = losses.filter(isFinite);
  const linear = fine.some((x) => x < 0) || !fine.some((x) => x > 0), f = linear ? (x) => x : Math.log10, shown = (x) => isFinite(f(x));
  let low = Infinity, high = -Infinity;
  for (const x of fine.filter(shown).map(f)) { low = Math.min(low, x); high = Math.max(high, x); }
  if (low > high) low = high = 0;
  const room = roomOf(low, high, 0.08), a = linear ? low - room : Math.floor(low * 5 - 0.2) / 5, b = linear ? high + room : Math.ceil(high * 5 + 0.2) / 5;
  const X = (k) => LEFT + k / n * (w - LEFT - 8), Y = (v) => 5 + (b - f(v)) / (b - a) * (h - BOTTOM - 10);
  ctx.textAlign = "right";
  for (const v of marks(a, b, linear)) if (f(v) >= a && f(v) <= b) {
    line(ctx, [[LEFT, Y(v)], [w, Y(v)]], theme["sco-line"], 0.7);
    ctx.fillText(short(v, linear ? 3 : 1), LEFT - 6, Y(v) + 3.5);
  }
  ctx.textAlign = "center";
  for (let k = 0; k <= n; k += gap(n)) ctx.fillText(Math.round(k), Math.min(w - 14, X(k)), h - 4);
  const every = Math.max(1, Math.floor(losses.length / (w * 1.5))), points = [];
  for (let k = 0; k < losses.length; k += every) { // of several steps the lowest and the highest
    const some = losses.slice(k, k + every).filter(shown);
    for (const v of some.length ? [Math.min(...some), Math.max(...some)] : [NaN]) points.push([X(k), Y(v)]);
  }
  line(ctx, points, theme.grad, 2);
  const now = losses[state.at];
  if (shown(now)) {
    line(ctx, [[X(state.at), 2], [X(state.at), h - BOTTOM]], theme.edge, 1);
    dot(ctx, [X(state.at), Y(now)], 4.5, theme.grad);
  }
  $("now").textContent = short(now, 5);
}
function stepAt(event) {
  const { x, width } = boxOf($("losses"), event);
  return Math.round((x - LEFT) / (width - LEFT - 8) * Math.max(losses.length - 1, 50));
}
