// The page around it: controls, keys, a table of all numbers, and what happens at every frame.

const names = { sgd: "SGD", momentum: "SGD + momentum", adam: "Adam" };
const root = host.shadowRoot ?? host.attachShadow({ mode: "open" });
const title = A.full ? `<h1>${A.title}</h1>` : `<h2 class="title">${A.title}</h2>`;
const hints = {
  images: "A frame: wrong, and what is predicted." + (A.x ? "" : " Draw with the pointer."),
  pairs: "To the right the target, upwards the prediction." + (A.labels ? "" : " Drag a point."),
};
root.innerHTML = `<style>${A.css}</style><div class="page" data-id="page" role="${A.full ? "main" : "group"}">
<div class="head">${title}<span data-id="status" class="status"></span><span data-id="said" role="status" class="unseen"></span>
  <label class="check"><input data-id="quiz" type="checkbox"> predict first</label>
  ${A.full ? '<button data-id="theme" class="quiet" aria-label="light or dark">◐</button>' : ""}</div>
<div class="bar" role="toolbar" aria-label="training">
  <button data-id="play" class="main"></button>
  <span class="group"><button data-id="back" aria-label="one step back">◀</button><button data-id="one" aria-label="one step">step ▶</button><button data-id="reset">reset</button></span>
  <label>optimiser <select data-id="rule">${Object.entries(names).map(([key, name]) => `<option value="${key}">${name}`).join("")}</select></label>
  <label>learning rate <input data-id="rate" type="range" min="-3.5" max="0.5" step="0.05"><output data-id="rateText"></output></label>
  <label data-id="momentumLabel">momentum <input data-id="momentum" type="range" min="0" max="0.98" step="0.02"><output data-id="momentumText"></output></label>
  <label>steps per frame <select data-id="many"><option>1<option>2<option>5<option>20<option>100</select></label>
</div>
<div class="top${P ? "" : " two"}">
  ${P ? `<section><h2>${A.kind === "pairs" ? "prediction and target" : "data and prediction"}</h2>
  <canvas data-id="plane" tabindex="0" role="application" aria-label="data and prediction: N chooses the next point, arrows move it"></canvas>
  <p class="hint">${hints[A.kind] ?? "Drag a point. Keys: N, then arrows."}</p></section>` : ""}
  <section class="column"><h2>loss <b data-id="now"></b></h2>
  <canvas data-id="losses" tabindex="0" role="slider" aria-label="step of training" aria-valuemin="0"></canvas>
  <p class="hint">Drag along the curve to go back in time.</p></section>
  <section data-id="panel" class="panel"></section>
</div>
<section class="below"><h2>the graph of your loss: values and gradients <span class="key"><i class="v"></i>value − 0 + <i class="g"></i>gradient − 0 +</span></h2>
<div data-id="graph" class="graph"></div></section>
<details data-id="all"><summary>all numbers as a table</summary><div class="scroll"><table><caption data-id="caption"></caption>
<thead><tr><th scope="col">name</th><th scope="col">kind</th><th scope="col">shape</th><th scope="col">value</th><th scope="col">gradient</th></tr></thead>
<tbody data-id="numbers"></tbody></table></div></details></div>`;
function $(id) { return root.querySelector(`[data-id="${id}"]`); }

function play(on) {
  const was = state.playing;
  state.playing = on;
  $("play").textContent = on ? "❚❚ Pause" : "▶ Train";
  state.dirty = true;
  if (was && !on) tell();
}
function tell() { // to a screen reader, and to Python: not at every frame
  $("said").textContent = `step ${state.at}, loss ${short(losses[state.at], 5)}`;
  notify?.({ step: state.at, loss: losses[state.at], params: params.map((p) => Array.from(p)) });
}
function consume(e) { // a key that means something here, and nothing outside
  e.preventDefault();
  e.stopPropagation();
}
function controls() {
  $("rateText").textContent = short(state.rate, 2);
  $("momentumText").textContent = state.momentum.toFixed(2);
  $("momentumLabel").hidden = state.rule !== "momentum";
}
function future() { // another rate: what came after is no longer what will come
  state.last = state.at;
  state.edition++;
  losses.length = state.at + 1;
  controls();
  state.dirty = true;
}
function stop(move) { // and go elsewhere, where there is something else to predict
  play(false);
  move();
  if (picked) ask();
}
function by(steps) {
  stop(() => (steps > 0 ? forward() : go(state.at - 1)));
  tell();
}

$("play").onclick = () => play(!state.playing);
$("one").onclick = () => by(1);
$("back").onclick = () => by(-1);
$("reset").onclick = () => { stop(begin); tell(); };
$("rule").onchange = () => { state.rule = $("rule").value; forget(); keep(); future(); };
$("rate").oninput = () => { state.rate = 10 ** +$("rate").value; future(); }; // (the user's own rate until it is moved)
$("momentum").oninput = () => { state.momentum = +$("momentum").value; future(); };
$("quiz").onchange = () => { if (picked) ask(); state.dirty = true; };
$("all").ontoggle = () => (state.dirty = true);
if (A.full) $("theme").onclick = () => document.documentElement.setAttribute("theme", theme.dark ? "light" : "dark");

const scrubTo = (step) => {
  const to = Math.max(0, Math.min(state.last, step));
  stop(() => go(to) || go(Math.max(to, state.last - RING + 1)));
};
const scrub = (e) => { if (e.buttons) scrubTo(stepAt(e)); };
$("losses").onpointerdown = (e) => { e.target.setPointerCapture(e.pointerId); scrub(e); };
$("losses").onpointermove = scrub;
$("losses").onlostpointercapture = tell;
$("losses").onkeydown = (e) => { // (the arrows make steps, also new ones)
  const to = { Home: 0, End: state.last, PageUp: state.at + 10, PageDown: state.at - 10 }[e.key];
  if (to === undefined) return;
  scrubTo(to);
  tell();
  consume(e);
};
if (P) {
  const plane = $("plane");
  plane.onpointerdown = (e) => {
    plane.setPointerCapture(e.pointerId);
    if (A.kind === "images") { paintImage(e); return; }
    const [x, y] = where(e), [left, right, low, high] = area();
    let best = Infinity;
    for (let i = 0; i < count(); i++) {
      const [a, b] = pointAt(i), d = ((a - x) / (right - left)) ** 2 + ((b - y) / (high - low)) ** 2;
      if (d < best) { best = d; chosen = i; }
    }
    state.dirty = true;
  };
  plane.onpointermove = (e) => {
    if (e.buttons && A.kind === "images") paintImage(e);
    else if (e.buttons && chosen >= 0) movePoint(chosen, ...where(e));
  };
  plane.onlostpointercapture = tell;
  plane.onkeydown = (e) => {
    const [left, right, low, high] = area(), d = (right - left) / 60, u = (high - low) / 60;
    const move = { ArrowLeft: [-d, 0], ArrowRight: [d, 0], ArrowUp: [0, u], ArrowDown: [0, -u] }[e.key];
    if (A.kind === "images" || !(move || /^n$/i.test(e.key))) return;
    if (move) { chosen = Math.max(chosen, 0); const [x, y] = pointAt(chosen); movePoint(chosen, x + move[0], y + move[1]); }
    else chosen = (chosen + 1) % count();
    state.dirty = true;
    consume(e);
  };
}
(A.full ? document : root).addEventListener("keydown", (e) => {
  const target = e.composedPath()[0];
  if (e.ctrlKey || e.metaKey || e.altKey || target.matches?.("input, select, summary, textarea")) return;
  if (e.key === "Escape") { pick(null); return; }
  const key = e.key === " " && !target.matches?.("button") ? "play" : { ArrowRight: "one", ArrowLeft: "back", r: "reset", R: "reset" }[e.key];
  if (key) { e.preventDefault(); $(key).click(); }
});

function fillTable() {
  if (!$("all").open || (state.playing && state.at % 30)) return;
  $("caption").textContent = `step ${state.at}, loss ${short(losses[state.at], 5)}`;
  const cell = (a, size) => (!a ? "–" : a.length <= 6 ? Array.from(a, (x) => short(x)).join(", ") : size(statistics(a))), hide = hidden();
  $("numbers").innerHTML = A.cards.map((c) => `<tr><th scope="row">${escaped(c.name)}</th><td>${c.kind}</td>
    <td>${c.shape.join(" × ") || "number"}</td><td>${cell(valueOf(c), (s) => `${short(s.mean, 3)} ± ${short(s.spread, 3)}`)}</td>
    <td>${hide && c.grad !== null ? "?" : cell(gradientOf(c), (s) => `size ${short(s.rms, 3)}`)}</td></tr>`).join("");
}

const pace = { frames: 60, before: 0, runs: false };
function draw() {
  for (const part of [readTheme, predict, drawData, drawLoss, drawGraph, drawPanel, fillTable]) part();
  const slider = $("losses"), broken = !isFinite(losses[state.at]);
  const said = { ariaValueMax: state.last, ariaValueNow: state.at, ariaValueText: `step ${state.at}, loss ${short(losses[state.at])}` };
  Object.assign(slider, said);
  $("status").textContent = `step ${state.at.toLocaleString("en")}` + (state.at < state.last ? ` of ${state.last.toLocaleString("en")}` : "")
    + (broken ? ` · the loss is not a number: ${isFinite(losses[state.at - 1]) && ring[state.at % RING].made !== undefined ? "step back, and take a smaller learning rate" : "change a weight, or reset"}` : state.playing ? ` · ${Math.round(pace.frames)} frames a second` : "");
}
function frame(now) {
  pace.runs = host.isConnected;
  if (!pace.runs) return;
  requestAnimationFrame(frame); // first: what goes wrong in one frame does not end the page
  if (state.playing) {
    for (let k = +$("many").value; k > 0 && state.playing; k--) { forward(); if (!isFinite(losses[state.at])) play(false); }
    pace.frames = 0.95 * pace.frames + 50 / Math.max(1, now - pace.before);
    if (picked && answered) ask();
  }
  pace.before = now;
  if (state.dirty) { state.dirty = false; draw(); }
}

$("rate").value = Math.log10(A.lr);
$("momentum").value = A.momentum;
$("rule").value = A.rule;
for (const part of [begin, readTheme, pick, controls]) part();
const flags = A.full ? Object.fromEntries(location.hash.slice(1).split("&").map((x) => x.split("="))) : {};
if (flags.theme) document.documentElement.setAttribute("theme", flags.theme);
for (let k = 0; k < +(flags.steps ?? 0); k++) step();
play("play" in flags);
tell();
if (flags.pick) pick(A.cards.find((c) => c.title === decodeURIComponent(flags.pick)));
const wake = () => { if (!pace.runs) requestAnimationFrame(frame); pace.runs = true; };
new ResizeObserver(() => { buildGraph(); draw(); wake(); }).observe($("page")); // at once: a new canvas is empty; and
// whenever a notebook that took the page out of its document brings it back
const repaint = () => (state.dirty = true); // in other colours
matchMedia("(prefers-color-scheme:dark)").addEventListener("change", repaint);
for (const e of [document.documentElement, document.body]) new MutationObserver(repaint).observe(e, { attributes: true });
buildGraph();
draw();
wake();
return { state, losses, params, data, S, P, step, go, play, pick, draw, $, cards: A.cards, chosen: () => chosen, drawn: () => drawn };
