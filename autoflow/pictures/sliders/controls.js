// The page: sliders, numbers, the plot, steps downhill, the living picture; and the widget, where Python computes.

const LOOK = `:host{display:block;font:14px/1.5 system-ui,sans-serif;color:var(--ink,#17202a)}
.bar{display:grid;grid-template-columns:max-content minmax(120px,320px) max-content;gap:4px 12px;align-items:center;
margin:8px 0;width:max-content;max-width:100%}
.tools{display:flex;flex-wrap:wrap;gap:8px;align-items:center;margin:6px 0}
.name{font-weight:700;color:var(--var-text,#003e63)}
input[type=range]{width:100%;accent-color:var(--var-line,#0072b2)}
input[type=number],button,select{font:inherit;color:inherit;background:var(--op-fill,#fff7ea);
border:1px solid var(--op-line,#c8770a);border-radius:5px;padding:2px 8px}
input[type=number]{width:8em;font-family:ui-monospace,monospace;background:var(--bg,#fff);
border-color:var(--edge,#808c99)}
button{cursor:pointer}button:hover:enabled{background:var(--op-head,#fbd9a3)}
:focus-visible{outline:2.5px solid var(--var-line,#0072b2);outline-offset:2px}
.top{display:flex;flex-wrap:wrap;gap:0 32px}.top>*{flex:1 1 420px;min-width:0;max-width:560px}
.result{margin:6px 0;font-family:ui-monospace,monospace;font-weight:700}
.said{min-height:1.5em}
.plot svg{display:block;width:100%;max-width:${WIDE}px;height:auto;touch-action:none;cursor:crosshair}
.plot svg.inside{overflow:hidden}
.plot text{font:12px ui-monospace,monospace;fill:var(--sub,#5b6675)}
.plot .axis{font-weight:700;fill:var(--var-text,#003e63)}
.plot path{fill:none}.plot .grid{stroke:var(--sco-line,#c9d1d9);stroke-width:.7}
.plot .curve{stroke:var(--op-line,#c8770a);stroke-width:2.4}.plot .level{stroke:var(--op-line,#c8770a);stroke-width:1.4}
.plot .label,.plot .slope{paint-order:stroke;stroke:var(--bg,#fff);stroke-width:4px;font-size:11px}
.plot .tangent,.plot .gradient{stroke:var(--grad,#97266d);stroke-width:2}.plot .head{fill:var(--grad,#97266d)}
.plot .slope{fill:var(--grad,#97266d);font-weight:700;font-size:12px}
.plot .point{fill:var(--var-line,#0072b2);stroke:var(--bg,#fff);stroke-width:1.5}
.plot .trail{stroke:var(--var-line,#0072b2);stroke-width:1.3;stroke-dasharray:4 3}
.plot .past{fill:var(--var-line,#0072b2);opacity:.65}
.plot .next{fill:none;stroke:var(--var-line,#0072b2);stroke-width:1.5}
.picture{overflow-x:auto}.picture svg{max-width:100%;height:auto;display:block}
.fit svg{min-width:0!important}
.note{color:var(--sub,#5b6675);font-size:13px}
table{border-collapse:collapse;font-family:ui-monospace,monospace;font-size:13px}
td,th{padding:1px 12px 1px 0;text-align:right}td:first-child,th:first-child{text-align:left}
.grad{color:var(--grad,#97266d)}
@media print{.bar,.tools,.said,details{display:none}
.picture{overflow:visible}.picture svg{min-width:0!important;max-height:95vh}}`;
const STEPS = 500, PACE = 160, SLOW = 700; // steps of a run, and milliseconds for each; for those who want less motion
const SWEEP = 60; // places of a slider that moves by itself

function made(tag, className, text) {
  const element = document.createElement(tag);
  if (className) element.className = className;
  if (text !== undefined) element.textContent = text;
  return element;
}

function button(parent, text, action) {
  const element = made("button", "", text);
  element.type = "button";
  element.onclick = action;
  parent.append(element);
  return element;
}

function entry(label, value, changed) { // a number to type
  const field = made("input");
  Object.assign(field, { type: "number", step: "any", value });
  field.setAttribute("aria-label", label);
  field.addEventListener("change", () => { if (Number.isFinite(field.valueAsNumber)) changed(field.valueAsNumber); });
  return field;
}

// A row per input: {title, low, high, start}. `changed(i, value)` is called when a slider moves or a number is typed.
// Gives what shows other values.
function sliders(parent, inputs, digits, changed) {
  const bar = made("div", "bar");
  const rows = inputs.map((input, i) => {
    const range = made("input"), field = entry(`${input.title}, as a number`, 0, (value) => {
      put(i, value);
      changed(i, value);
    });
    Object.assign(range, { type: "range", min: input.low, max: input.high, step: "any" });
    range.setAttribute("aria-label", input.title);
    range.addEventListener("input", () => {
      field.value = short(range.valueAsNumber);
      changed(i, range.valueAsNumber);
    });
    bar.append(made("span", "name", input.title), range, field);
    return [range, field];
  });
  const short = (value) => Number(value.toPrecision(Math.max(6, digits)));
  const put = (i, value) => {
    rows[i][0].value = value;
    rows[i][1].value = short(value);
  };
  inputs.forEach((input, i) => put(i, input.start));
  parent.append(bar);
  return put;
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

// What the plot is asked: the graph, where it stands, the way that was gone.
function problemOf(tape, rows, inputs) {
  const known = new Map();
  const problem = {
    tape, inputs, trail: [], rate: 0.1, downhill: false, digits: tape.digits, title: tape.titles[tape.output],
    valueOf: (all) => forward(tape, rows, all)[tape.output],
    at: (some) => problem.valueOf({ ...inputs, ...some }),
    compute: () => (problem.state = run(tape, rows, inputs)),
    move: (where) => Object.assign(inputs, where),
    settled: (report) => report(), // the state is that of the inputs
    remember(name, free, make) { // a grid stays as it is while only the two inputs move that it is drawn over
      const fixedInputs = JSON.stringify(Object.entries(inputs).filter(([node]) => !free.includes(Number(node))));
      if (known.get(name)?.[0] !== fixedInputs) known.set(name, [fixedInputs, make()]);
      return known.get(name)[1];
    },
  };
  return problem;
}

// The plot and which inputs it is drawn over; a click or a drag moves them. Gives what draws it again.
function plotOf(parent, problem, changed) {
  const { inputs: given } = problem.tape, box = made("div", "plot"), note = made("div", "note");
  if (!given.length) return () => {};
  const tools = made("div", "tools"), across = made("select"), up = made("select");
  given.forEach((input, i) => across.append(new Option(input.title, i)));
  up.append(new Option(problem.title, -1));
  given.forEach((input, i) => up.append(new Option(input.title, i)));
  up.value = given.length === 2 ? 1 : -1;
  across.setAttribute("aria-label", "to the right");
  up.setAttribute("aria-label", "upwards");
  tools.append("plot: to the right", across, "upwards", up);
  if (given.length > 1) parent.append(tools);
  parent.append(box, note);
  let drawn = null;
  function show() {
    const a = given[across.value], b = up.value === across.value ? undefined : given[up.value];
    if (problem.waits?.(a, b)) return; // Python computes, and calls again
    const svg = draw(document.createElement("div"), "svg", { role: "img" });
    drawn = b ? contours(svg, problem, a, b) : curve(svg, problem, a);
    svg.setAttribute("viewBox", `0 0 ${WIDE} ${drawn.p.high}`);
    note.textContent = drawn.note;
    box.replaceChildren(svg);
  }
  function move(event) {
    if (!event.buttons) return;
    const frame = box.firstChild.getBoundingClientRect(), scale = WIDE / frame.width, { p } = drawn;
    const x = Math.min(p.highX, Math.max(p.lowX, p.backX((event.clientX - frame.left) * scale - LEFT)));
    const y = Math.min(p.highY, Math.max(p.lowY, p.backY((event.clientY - frame.top) * scale - TOP)));
    changed(drawn.set(x, y));
  }
  box.onpointerdown = move;
  box.onpointermove = move;
  across.onchange = up.onchange = show;
  return show;
}

// Steps downhill, one or many; a slider that moves by itself; back to the start. Where Python computes (`busy`), what a
// step did is told when its answer has come.
function walker(parent, host, problem, put, changed) {
  const tools = made("div", "tools"), said = made("div", "said"), { inputs: given } = problem.tape;
  const start = { ...problem.inputs }, calm = matchMedia("(prefers-reduced-motion: reduce)");
  said.setAttribute("role", "status");
  let timer = 0;
  function moveTo(where, words) {
    given.forEach((input, i) => { if (input.node in where) put(i, where[input.node]); });
    problem.move(where);
    changed();
    said.textContent = words;
  }
  function stop() {
    clearInterval(timer);
    timer = 0;
    runs.textContent = "Run";
    sweep.textContent = "Sweep";
  }
  function step() { // is there more to do?
    if (problem.busy) return true;
    const { gradients } = problem.state, before = problem.state.values[problem.tape.output], next = {};
    for (const { node } of given) next[node] = problem.inputs[node] - problem.rate * (gradients[node] ?? NaN);
    problem.downhill = true;
    if (!Object.values(next).every(Number.isFinite)) {
      said.textContent = "The next step would not be a number: try a smaller learning rate.";
      return false;
    }
    const length = ({ node, low, high }) => Math.abs(next[node] - problem.inputs[node]) / (high - low);
    const small = given.every((input) => length(input) < 1e-6);
    problem.trail.push({ ...problem.inputs, value: before });
    moveTo(next, "");
    const count = problem.trail.length, last = small || count >= STEPS;
    problem.settled(() => {
      const after = problem.state.values[problem.tape.output], d = problem.digits;
      const word = after < before ? "falls" : after > before ? "rises: a smaller learning rate?" : after === before ? "stays"
        : "is not a number: a smaller learning rate?";
      const left = ({ node, low, high }) => next[node] < low || next[node] > high;
      const outside = given.filter(left).map((one) => one.title);
      said.textContent = `step ${count}: ${problem.title} ${word} (${number(before, d)} → ${number(after, d)})`
        + (small ? ". The step is almost 0." : "")
        + (outside.length ? `. ${outside.join(", ")} left the range of the slider.` : "");
    });
    return !last;
  }
  function repeat(name, action) {
    const running = timer && name.textContent === "Stop";
    stop();
    if (running) return;
    name.textContent = "Stop";
    timer = setInterval(() => { if (!host.isConnected || !action()) stop(); }, calm.matches ? SLOW : PACE);
  }
  button(tools, "Step downhill", () => { stop(); step(); });
  const runs = button(tools, "Run", () => repeat(runs, step));
  const rate = made("label", "", "learning rate ");
  rate.append(entry("learning rate", problem.rate, (value) => { problem.rate = value; changed(); }));
  tools.append(rate);
  const sweep = button(tools, "Sweep", () => {
    const { node, low, high } = given[0], places = calm.matches ? SWEEP / 5 : SWEEP, home = problem.inputs[node];
    let k = 0;
    problem.trail.length = 0;
    repeat(sweep, () => { // there and back again, as far as it came
      if (problem.busy) return true;
      const share = Math.abs(((2 * k) / places + (home - low) / (high - low)) % 2);
      const where = low + (high - low) * (share > 1 ? 2 - share : share);
      moveTo({ [node]: k < places ? where : home }, "");
      return k++ < places;
    });
  });
  sweep.setAttribute("aria-label", `Sweep ${given[0]?.title}`);
  button(tools, "Reset", () => {
    stop();
    problem.trail.length = 0;
    problem.downhill = false;
    moveTo({ ...start }, "");
  });
  if (given.length) parent.append(tools, said);
  return () => { // somebody moves a slider: a new way begins
    stop();
    problem.trail.length = 0;
    said.textContent = "";
  };
}

async function mount(element, rows) {
  element.dataset.live = "1";
  const tape = await unpacked(element.dataset.autoflow);
  const host = made("div"), root = host.attachShadow({ mode: "open" }), inputs = {}, places = [];
  for (const input of tape.inputs) inputs[input.node] = input.start;
  const problem = problemOf(tape, rows, inputs);
  const result = made("div", "result"), picture = made("div", "picture");
  result.setAttribute("role", "status");
  result.setAttribute("aria-live", "polite");
  picture.innerHTML = tape.svg; // drawn by autoflow, every name in it escaped
  places.push(...picture.querySelectorAll("[data-at]"));
  const drawing = picture.querySelector("svg"); // in a narrow column it shrinks, as long as it can be read
  if (drawing) drawing.style.minWidth = `${0.6 * Number(drawing.getAttribute("width"))}px`;
  function show() {
    const state = problem.compute();
    for (const place of places) place.textContent = words(place.dataset.at, state, tape.digits);
    result.textContent = `${problem.title} = ${number(state.values[tape.output], tape.digits)}`;
    element.autoflow = state;
    plot();
  }
  const top = made("div", "top"), left = made("div"), right = made("div");
  top.append(left, right);
  root.append(made("style", "", LOOK), top);
  host.setAttribute("data-lm-suppress-shortcuts", "true"); // JupyterLab leaves the keys to us
  const put = sliders(left, tape.inputs, tape.digits, (i, value) => {
    afresh();
    inputs[tape.inputs[i].node] = value;
    show();
  });
  const afresh = walker(left, host, problem, put, show);
  left.append(result);
  const plot = plotOf(right, problem, (where) => {
    afresh();
    Object.assign(inputs, where);
    tape.inputs.forEach((input, i) => put(i, inputs[input.node]));
    show();
  });
  root.append(picture, tableOf(tape, places));
  fitting(picture);
  for (const note of tape.notes) root.append(made("div", "note", note));
  show();
  for (const child of [...element.children]) if (child.matches("img,details,[hidden]")) child.remove();
  element.append(host);
}

// -- the widget: Python computes and draws

// The same question to a plot as problemOf, answered by numbers that Python has computed on a grid.
function sampled(model, save) {
  const inputs = model.get("inputs").map((one, node) => ({ ...one, node }));
  const between = (values, place) => { // a number between two of the grid
    const low = Math.max(0, Math.min(values.length - 2, Math.floor(place))), t = place - low;
    return t === 0 ? values[low] : t === 1 ? values[low + 1] : values[low] * (1 - t) + values[low + 1] * t;
  };
  const share = ({ low, high }, value, count) => Math.round((1e9 * count * (value - low)) / (high - low)) / 1e9;
  return {
    tape: { inputs, output: 0 }, trail: [], rate: 0.1, downhill: false, digits: model.get("digits"), busy: false,
    get title() { return model.get("point").title; },
    get inputs() { return { ...model.get("values") }; },
    get state() { return { values: [model.get("point").value ?? NaN], gradients: model.get("point").gradients }; },
    get samples() { return model.get("samples").grid[0].length - 1; },
    get cells() { return [model.get("samples").grid[0].length - 1, model.get("samples").grid.length - 1]; },
    waits(a, b) {
      const axes = [a.node, b?.node ?? -1], { axes: known } = model.get("samples");
      if (String(axes) !== String(model.get("axes"))) save("axes", axes);
      return String(axes) !== String(known);
    },
    at(some) {
      const { axes: [a, b], grid } = model.get("samples");
      const rows = grid.map((row) => between(row.map((v) => v ?? NaN), share(inputs[a], some[a], row.length - 1)));
      return b < 0 ? rows[0] : between(rows, share(inputs[b], some[b], rows.length - 1));
    },
    valueOf: (one) => one.value ?? model.get("point").value ?? NaN, // on the way that was gone, or here
    remember: (name, free, make) => make(),
    move(where) {
      const before = model.get("values"), values = inputs.map(({ node }) => where[node] ?? before[node]);
      this.busy = values.some((value, i) => value !== before[i]); // else Python has nothing to do
      if (this.busy) save("values", values);
    },
    settled(report) {
      if (this.busy) this.report = report;
      else report();
    },
    answered(report = this.report) { // Python has, or something went wrong there
      [this.busy, this.report] = [false, undefined];
      report?.();
    },
  };
}

function widget(model, element) {
  const host = made("div", "autoflow-widget"), root = host.attachShadow({ mode: "open" });
  const picture = made("div", "picture"), note = made("div", "note"), top = made("div", "top");
  const left = made("div"), right = made("div");
  const save = (name, value) => {
    model.set(name, value);
    model.save_changes();
  };
  top.append(left, right);
  root.append(made("style", "", LOOK), top);
  const problem = sampled(model, save), result = made("div", "result");
  result.setAttribute("role", "status");
  const put = sliders(left, model.get("inputs"), model.get("digits"), (i, value) => {
    afresh();
    problem.move({ [i]: value });
  });
  const afresh = problem.title ? walker(left, host, problem, put, () => { if (!problem.busy) show(); }) : () => {};
  const plot = problem.title ? plotOf(right, problem, (where) => {
    afresh();
    for (const [i, value] of Object.entries(where)) put(Number(i), value);
    problem.move(where);
  }) : () => {};
  if (problem.title) left.append(result);
  const show = () => {
    picture.innerHTML = model.get("picture");
    note.textContent = model.get("note");
    result.textContent = `${problem.title} = ${number(problem.state.values[0], problem.digits)}`;
    plot();
  };
  const answers = { point: () => problem.answered(), note: () => { if (model.get("note")) problem.answered(null); } };
  for (const name of ["picture", "note", "point", "samples"]) {
    model.on(`change:${name}`, () => {
      show();
      answers[name]?.();
    });
  }
  root.append(picture, note);
  element.append(made("style", "", model.get("colours")), host);
  show();
}
