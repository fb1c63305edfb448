// The state of training: parameters, what the optimiser remembers, and the steps so far.

const N = A.names.length;
// The steps that one can go back. Each keeps three numbers for each parameter: some 70 MB in all, or more for 100 steps.
const RING = Math.max(100, Math.min(4000, Math.floor(3e6 / A.params.flat().length)));
const S = makeStep(), P = makePrediction ? makePrediction() : null;
const params = S.inputs.slice(0, N), data = S.inputs.slice(N);
const fixed = (a, moving) => (a ? Float64Array.from(a) : moving); // data of whole numbers, which stay as they are
const first = fixed(A.x, data[0]), targets = fixed(A.labels, data.at(-1));
const memory = params.map((p) => [new Float64Array(p.length), new Float64Array(p.length)]);
const state = { at: 0, last: 0, since: 0, edition: 0, rate: A.lr, momentum: A.momentum, rule: A.rule, playing: false, dirty: true };
const ring = [], losses = [];

const RULES = { // one step of a parameter p by its gradient g; m and v are remembered
  sgd(p, g) { for (let i = 0; i < p.length; i++) p[i] -= state.rate * g[i]; },
  momentum(p, g, [m]) {
    for (let i = 0; i < p.length; i++) { m[i] = state.momentum * m[i] + g[i]; p[i] -= state.rate * m[i]; }
  },
  adam(p, g, [m, v], t) {
    const a = 1 - 0.9 ** t, b = 1 - 0.999 ** t;
    for (let i = 0; i < p.length; i++) {
      m[i] = 0.9 * m[i] + 0.1 * g[i];
      v[i] = 0.999 * v[i] + 0.001 * g[i] * g[i];
      p[i] -= state.rate * (m[i] / a) / (Math.sqrt(v[i] / b) + 1e-8);
    }
  },
};

function compute() { // values and gradients at these parameters
  S.run();
  losses[state.at] = S.outputs[0][0];
  state.dirty = true;
}

function forget() { // what another optimiser remembered; this one begins now
  memory.flat().forEach((a) => a.fill(0));
  state.since = state.at;
}

function keep(made) { // made: the settings and data by which a step led here; none did if it was moved by hand
  const copy = (list) => list.map((a) => a.slice()), { at, since, rule } = state;
  ring[at % RING] = { at, since, rule, made, params: copy(params), memory: memory.map(copy) };
}

function begin() {
  A.params.forEach((a, k) => params[k].set(a));
  A.data.forEach((a, k) => data[k].set(a));
  state.at = state.last = ring.length = losses.length = 0;
  forget();
  compute();
  keep();
}

function step() {
  const t = state.at + 1, first = 1 + A.operations;
  params.forEach((p, k) => RULES[state.rule](p, S.outputs[first + k], memory[k], t - state.since));
  state.at = state.last = losses.length = t;
  compute();
  keep(state.edition);
}

function go(to) { // to a step that was kept
  const found = ring[Math.max(0, to) % RING];
  if (!found || found.at !== to) return false;
  found.params.forEach((a, k) => params[k].set(a));
  found.memory.forEach((pair, k) => pair.forEach((a, j) => memory[k][j].set(a)));
  state.at = to;
  state.since = found.since;
  if (found.rule !== state.rule) forget();
  compute();
  return true;
}

function forward() { // as before, if nothing else has changed since: a step is what rate and gradient say
  const again = state.at < state.last && ring[(state.at + 1) % RING]?.made === state.edition;
  if (!again || !go(state.at + 1)) step();
}

function edited() { // something was moved by hand: the future is another one now
  state.last = state.at;
  state.edition++;
  losses.length = state.at;
  compute();
  keep();
}

const grid = gridPoints(); // where the prediction is computed: from the top left of the plane, or along the curve
function gridPoints() {
  if (!A.area) return null;
  const [left, right, low, high] = A.area, n = A.kind === "plane" ? A.side : A.points, part = (k) => k / (n - 1);
  if (A.kind === "curve") return Float64Array.from({ length: n }, (_, k) => left + part(k) * (right - left));
  const point = (k) => [left + part(k % n) * (right - left), high - part(Math.floor(k / n)) * (high - low)];
  return Float64Array.from({ length: 2 * n * n }, (_, i) => point(i >> 1)[i % 2]);
}

const valueOf = (c) => (c.input !== undefined ? S.inputs[c.input] : S.outputs[c.output]);
const gradientOf = (c) => (c.grad === null ? null : S.outputs[c.grad]);
function predict() {
  if (!P) return;
  params.forEach((p, k) => P.inputs[k].set(p));
  P.inputs[N].set(grid ?? first);
  data.slice(A.x ? 0 : 1).forEach((a, k) => P.inputs[N + 1 + k].set(a));
  P.run();
}
