// Sliders: a recorded graph of numbers, computed again in the browser, forwards and backwards.
//
// The page brings `ROWS`: for each operation of the graph what its row in the table of rules says in JavaScript, the
// value first, then what is sent back to each operand. Below are the functions that those rows use and JavaScript
// lacks; then the two passes (`run`); then the page (`mount`) and the widget (`widget`), which share `sliders`.

// -- functions that rows use: as NumPy has them

const exp2 = (x) => 2 ** x;
const over = (x, r) => (r === 0 ? 0 : x / r);
const winner = (g, above, level) => 0.5 * g * (above + level);
const share = (x, y, z, exp) => (x === z ? (y === z ? 0.5 : 1) : exp(x - z));
const copysign = (x, y) => (y < 0 || Object.is(y, -0) ? -Math.abs(x) : Math.abs(x));
const finite = (x, top, bottom) =>
  x === Infinity ? top ?? Number.MAX_VALUE : x === -Infinity ? bottom ?? -Number.MAX_VALUE : x;

function rint(x) { // halves go to the even neighbour
  const low = Math.floor(x), rest = x - low;
  return rest < 0.5 || (rest === 0.5 && low % 2 === 0) ? low : low + 1;
}

function roundTo(x, decimals) {
  const unit = 10 ** Math.abs(decimals);
  return decimals < 0 ? rint(x / unit) * unit : rint(x * unit) / unit;
}

function clip(x, min, max) {
  const above = min === null ? x : Math.max(x, min);
  return max === null ? above : Math.min(above, max);
}

function remainder(x, y) { // has the sign of y
  const rest = x % y;
  return rest === 0 ? copysign(0, y) : rest < 0 !== y < 0 ? rest + y : rest;
}

function floorDivide(x, y) {
  if (y === 0) return x / y;
  const quotient = (x - remainder(x, y)) / y, low = Math.floor(quotient);
  return quotient - low > 0.5 ? low + 1 : low;
}

function slopeOfPower(x, y) {
  return y === 0 ? 0 : y * x ** (y - 1);
}

function slopeInExponent(x, z) {
  return z === 0 ? 0 : z * Math.log(x);
}

function slopeOfAngle(x, y) {
  const r = Math.hypot(x, y);
  return over(over(x, r), r);
}

function logaddexp(x, y) {
  return x === y ? x + Math.LN2 : Math.max(x, y) + Math.log1p(Math.exp(-Math.abs(x - y)));
}

function sinc(x) {
  const t = Math.PI * x;
  return t === 0 ? 1 : Math.sin(t) / t;
}

function slopeOfSinc(x) { // near 0 its series: the formula would subtract equal numbers
  const t = Math.PI * x;
  if (Math.abs(t) >= 0.5) return (Math.PI * (Math.cos(t) - Math.sin(t) / t)) / t;
  let sum = 0, term = 1;
  for (let k = 1; k < 9; k++) {
    term *= -t * t / (2 * k * (2 * k + 1));
    sum += 2 * k * term;
  }
  return t === 0 ? 0 : (Math.PI * sum) / t;
}

function i0(x, order) { // the Bessel function and its derivatives: a mean over a half turn
  let sum = 0;
  for (let k = 0; k < 64; k++) {
    const c = Math.cos((Math.PI * (k + 0.5)) / 128);
    sum += c ** order * (order % 2 ? Math.sinh(c * x) : Math.cosh(c * x));
  }
  return sum / 64;
}

// -- the two passes over the tape

// A node of the tape is [operation or null, places of its arguments, which of them gradients flow to, value].
function run(tape, rows, inputs) {
  const n = tape.nodes.length, values = new Array(n), gradients = new Array(n).fill(0);
  const local = {}, sent = {}, parts = {};
  tape.nodes.forEach(([op, args, , value], i) => {
    values[i] = op === null ? (i in inputs ? inputs[i] : plain(value)) : rows[op][0](...args.map((a) => values[a]));
  });
  gradients[tape.output] = 1;
  for (let i = n - 1; i >= 0; i--) { // operands come before what uses them, so backwards all users come first
    const [op, args, flows] = tape.nodes[i];
    if (op === null) continue;
    const given = args.map((a) => values[a]);
    for (const k of flows) {
      const pull = rows[op][k + 1], key = `${i}.${k}`, target = args[k];
      local[key] = pull(1, ...given, values[i]);
      sent[key] = pull(gradients[i], ...given, values[i]);
      gradients[target] += sent[key];
      (parts[target] ??= []).push([i, k, sent[key]]);
    }
  }
  for (const list of Object.values(parts)) list.sort((a, b) => a[0] - b[0] || a[1] - b[1]);
  return { values, gradients, local, sent, parts };
}

const plain = (x) => (typeof x === "string" ? Number(x) : x); // JSON has no NaN and no infinity

// `v` with that many significant digits, as the pictures print it.
function number(v, digits) {
  if (typeof v !== "number") return String(v);
  if (!Number.isFinite(v)) return Number.isNaN(v) ? "NaN" : v > 0 ? "∞" : "−∞";
  if (Number.isInteger(v) && Math.abs(v) < 1e6) return String(v).replace("-", "−");
  const [mantissa, power] = v.toExponential(digits - 1).split("e"), e = Number(power);
  const short = (text) => (text.includes(".") ? text.replace(/\.?0+$/, "") : text);
  const text = e < -4 || e >= digits ? short(mantissa) + "e" + e : short(v.toFixed(digits - 1 - e));
  return text.replaceAll("-", "−");
}

// What stands at a place of the picture: "v3" a value, "g3" a gradient, "p3" its parts, "l3.0" and "s3.0" an operand's.
function words(place, state, digits) {
  const kind = place[0], key = place.slice(1);
  if (kind !== "p") {
    const table = { v: state.values, g: state.gradients, l: state.local, s: state.sent }[kind];
    return number(table[key], digits);
  }
  return (state.parts[key] ?? []).slice(0, 3).map(([, , part], i) => {
    const text = number(part, digits);
    return i === 0 ? text : text.startsWith("−") ? " − " + text.slice(1) : " + " + text;
  }).join("") + ((state.parts[key] ?? []).length > 3 ? " + …" : "");
}

// -- the page

const LOOK = `:host{display:block;font:14px/1.5 system-ui,sans-serif;color:var(--ink,#17202a)}
.bar{display:grid;grid-template-columns:max-content minmax(120px,320px) max-content;gap:4px 12px;align-items:center;
margin:8px 0;width:max-content;max-width:100%}
.name{font-weight:700;color:var(--var-text,#003e63)}
input{width:100%;accent-color:var(--var-line,#0072b2)}
.value{font-family:ui-monospace,monospace;min-width:6em}
.result{margin:6px 0;font-family:ui-monospace,monospace;font-weight:700}
.picture{overflow-x:auto}.picture svg{max-width:100%;height:auto;display:block}
.note{color:var(--sub,#5b6675);font-size:13px}
table{border-collapse:collapse;font-family:ui-monospace,monospace;font-size:13px}
td,th{padding:1px 12px 1px 0;text-align:right}td:first-child,th:first-child{text-align:left}
.grad{color:var(--grad,#97266d)}`;

function made(tag, className, text) {
  const element = document.createElement(tag);
  if (className) element.className = className;
  if (text !== undefined) element.textContent = text;
  return element;
}

// A row per input: {title, low, high, start}. `changed(i, value)` is called when a slider moves.
function sliders(inputs, digits, changed) {
  const bar = made("div", "bar");
  inputs.forEach((input, i) => {
    const range = made("input"), value = made("output", "value", number(input.start, digits));
    Object.assign(range, { type: "range", min: input.low, max: input.high, step: "any" });
    range.value = input.start;
    range.setAttribute("aria-label", input.title);
    range.addEventListener("input", () => {
      value.textContent = number(range.valueAsNumber, digits);
      changed(i, range.valueAsNumber);
    });
    bar.append(made("span", "name", input.title), range, value);
  });
  return bar;
}

function tableOf(tape, places) {
  const details = made("details"), table = made("table"), head = made("tr");
  details.append(made("summary", "", "all numbers"), table);
  for (const word of ["", "value", "gradient"]) head.append(made("th", "", word));
  table.append(head);
  tape.titles.forEach((title, i) => {
    if (title === null) return;
    const row = made("tr"), value = made("td"), gradient = made("td", "grad");
    value.dataset.at = "v" + i;
    gradient.dataset.at = "g" + i;
    row.append(made("td", "", title), value, gradient);
    table.append(row);
    places.push(value, gradient);
  });
  return details;
}

async function mount(element, rows) {
  element.dataset.live = "1";
  const tape = await unpacked(element.dataset.autoflow);
  const host = made("div"), root = host.attachShadow({ mode: "open" }), inputs = {}, places = [];
  for (const input of tape.inputs) inputs[input.node] = input.start;
  const result = made("div", "result"), picture = made("div", "picture");
  result.setAttribute("role", "status");
  result.setAttribute("aria-live", "polite");
  picture.innerHTML = tape.svg; // drawn by autoflow, every name in it escaped
  places.push(...picture.querySelectorAll("[data-at]"));
  const drawing = picture.querySelector("svg"); // in a narrow column it shrinks, as long as it can be read
  if (drawing) drawing.style.minWidth = `${0.6 * Number(drawing.getAttribute("width"))}px`;
  function show() {
    const state = run(tape, rows, inputs);
    for (const place of places) place.textContent = words(place.dataset.at, state, tape.digits);
    result.textContent = `${tape.titles[tape.output]} = ${number(state.values[tape.output], tape.digits)}`;
    element.autoflow = state;
  }
  const bar = sliders(tape.inputs, tape.digits, (i, value) => { inputs[tape.inputs[i].node] = value; show(); });
  root.append(made("style", "", LOOK), bar, result, picture, tableOf(tape, places));
  for (const note of tape.notes) root.append(made("div", "note", note));
  show();
  for (const child of [...element.children]) if (child.matches("img,details,[hidden]")) child.remove();
  element.append(host);
}

// -- the widget: Python computes and draws

function widget(model, element) {
  const root = made("div");
  const picture = made("div", "picture"), note = made("div", "note");
  const show = () => { picture.innerHTML = model.get("picture"); note.textContent = model.get("note"); };
  const bar = sliders(model.get("inputs"), model.get("digits"), (i, value) => {
    model.set("values", model.get("values").with(i, value));
    model.save_changes();
  });
  model.on("change:picture", show);
  model.on("change:note", show);
  root.append(made("style", "", LOOK.replace(":host", ".autoflow-widget")), bar, picture, note);
  root.className = "autoflow-widget";
  element.append(root);
  show();
}
