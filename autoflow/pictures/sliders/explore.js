// Sliders: a recorded graph of numbers, computed again in the browser, forwards and backwards.
//
// The page brings `ROWS`: for each operation of the graph its row of the table of rules in JavaScript (javascript.py),
// the value first, then what is sent back to each operand. Below are the functions that those rows use and JavaScript
// lacks; then the two passes (`run`). plots.js draws the curve, controls.js is the page and the widget.

// -- functions that rows use: as NumPy has them

const copysign = (x, y) => (y < 0 || Object.is(y, -0) ? -Math.abs(x) : Math.abs(x));
const power = (x, y) => (x === 1 || (x === -1 && Math.abs(y) === Infinity) ? 1 : x ** y); // also 1 to the power of NaN
const finite = (x, nan, top, bottom) =>
  isNaN(x) ? nan : x === Infinity ? top ?? Number.MAX_VALUE : x === -Infinity ? bottom ?? -Number.MAX_VALUE : x;

function rint(x) { // halves go to the even neighbour
  const low = Math.floor(x), rest = x - low, near = rest < 0.5 || (rest === 0.5 && low % 2 === 0) ? low : low + 1;
  return near === 0 ? copysign(0, x) : near;
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
  const rest = x % y, quotient = (x - rest) / y - (rest !== 0 && rest < 0 !== y < 0), low = Math.floor(quotient);
  return quotient - low > 0.5 ? low + 1 : low;
}

function logaddexp(x, y) {
  return x === y ? x + Math.LN2 : Math.max(x, y) + Math.log1p(Math.exp(-Math.abs(x - y)));
}

function sinc(x) {
  const t = Math.PI * x;
  return t === 0 ? 1 : Math.sin(t) / t;
}

function i0(x, order) { // the Bessel function and its derivatives: a mean over a half turn
  let sum = 0;
  for (let k = 0; k < 64; k++) {
    const c = Math.cos((Math.PI * (k + 0.5)) / 128);
    sum += (c ** order * (order % 2 ? Math.sinh(c * x) : Math.cosh(c * x))) / 64;
  }
  return sum;
}

// -- the two passes over the tape

// A node of the tape is [operation or null, places of its arguments, which of them gradients flow to, value].
function forward(tape, rows, inputs) {
  const values = new Array(tape.nodes.length);
  tape.nodes.forEach(([op, args, , value], i) => {
    values[i] = op === null ? (i in inputs ? inputs[i] : plain(value)) : rows[op][0](...args.map((a) => values[a]));
  });
  return values;
}

function run(tape, rows, inputs) {
  const n = tape.nodes.length, values = forward(tape, rows, inputs), gradients = new Array(n).fill(0);
  const local = {}, sent = {}, parts = {};
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
  if (/[02468]\.?50{20}e/.test(v.toExponential(digits + 20))) v *= 1 - Number.EPSILON; // halves go to the even neighbour
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
