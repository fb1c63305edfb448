// "Predict first": asks for what a step will show, takes an answer, and counts. Until then nothing gives it away.

const NEAR = 0.01; // how far an answer may be from the truth, as a part of it
const KNOWN = { ln: Math.log, pi: Math.PI, "π": Math.PI, e: Math.E };
for (const name of ["sin", "cos", "tan", "sinh", "cosh", "tanh", "exp", "log", "sqrt", "abs"]) KNOWN[name] = Math[name];
const PIECE = /\s*(?:(\d+\.?\d*(?:e[+-]?\d+)?|\.\d+(?:e[+-]?\d+)?)|((?:np\.|math\.)?[\p{L}_][\p{L}\p{N}_]*)|(\S))/giuy;

// The value of `2/3`, `-0.5`, `cos(a2)`, `2*a1**2`; NaN for what is none. `names` has the values of the cards.
function evaluate(text, names) {
  const clean = text.replaceAll("−", "-").replace(/[×·]/g, "*").replaceAll("÷", "/").replaceAll("**", "^");
  const pieces = [...clean.replace(/(\d),(\d)/g, "$1.$2").trim().matchAll(PIECE)].map((m) => m[0].trim());
  let place = 0;
  const take = (...signs) => (signs.includes(pieces[place]) ? pieces[place++] : "");
  function sum() {
    let value = product();
    for (let sign; (sign = take("+", "-"));) value = sign === "+" ? value + product() : value - product();
    return value;
  }
  function product() {
    let value = signed();
    for (let sign; (sign = take("*", "/"));) value = sign === "*" ? value * signed() : value / signed();
    return value;
  }
  function signed() {
    const sign = take("+", "-");
    return sign ? (sign === "-" ? -signed() : signed()) : power();
  }
  function power() {
    const value = atom();
    return take("^") ? value ** signed() : value;
  }
  function atom() {
    if (take("(")) {
      const value = sum();
      return take(")") ? value : NaN;
    }
    const word = pieces[place++] ?? "", name = word.replace(/^(np|math)\./, "");
    if (/^[\d.]/.test(word)) return Number(word);
    const found = names.get(name) ?? (Object.hasOwn(KNOWN, name) ? KNOWN[name] : NaN);
    return typeof found === "function" ? (pieces[place] === "(" ? found(atom()) : NaN) : found;
  }
  const value = sum();
  return place === pieces.length ? value : NaN;
}

const isRight = (given, truth) => Math.abs(given - truth) <= NEAR * Math.abs(truth) + 1e-9;

// Hides the legend, and what cards and arrows say when one points at them; brings it back.
function veil(svg, on) {
  const last = svg.lastElementChild;
  svg.classList.toggle("veiled", on);
  if (last?.tagName === "g" && !last.dataset.node && !last.dataset.edge) {
    last.classList.toggle("legend", on);
    if (!last.classList.length) last.removeAttribute("class");
  }
  for (const title of svg.querySelectorAll("g > title")) {
    if (on && title.textContent) title.dataset.said = title.textContent;
    if (on) title.textContent = "";
    else if (title.dataset.said) title.textContent = title.dataset.said;
    if (!on) delete title.dataset.said;
  }
}

// The row of controls and the field; `reveal` shows the step, `next` goes on, `again` is called when a choice changes.
function predictor(bar, top, steps, values, actions) {
  const choice = make("label", bar), box = make("input", choice, { type: "checkbox" });
  choice.append("predict first");
  const row = make("div", top, { class: "bar ask", role: "group", "aria-label": "your answer" }), outcomes = new Map();
  row.remove();
  const what = make("select", row, { "aria-label": "what to predict" });
  for (const word of ["local derivatives", "products"]) make("option", what, {}, word);
  const only = make("label", row), back = make("input", only, { type: "checkbox" });
  only.append("backward only");
  const label = make("label", row, { class: "asked" }), question = make("span", label);
  const field = make("input", label, { type: "text", autocomplete: "off", spellcheck: "false", size: "12" });
  const check = make("button", row, { type: "button" }, "Check");
  const verdict = make("span", row, { class: "verdict", role: "status" });
  const score = make("span", row, { class: "where score" });
  let k = 0, open = [];

  function questions(step) { // {text, answer} each; without an answer it is only shown later
    if (!step.question || (back.checked && step.phase === "forward")) return [];
    if (step.phase === "forward") return [{ text: `${step.name} =`, answer: step.value }];
    const products = step.products ?? [], names = products.map(({ name }) => name);
    return products.map(({ name, local, sent }, i) => {
      const which = names.indexOf(name) !== names.lastIndexOf(name) ? ` (operand ${i + 1})` : "";
      return what.selectedIndex === 0 ? { text: `∂${tight(step.name)}/∂${tight(name)}${which} =`, answer: local }
        : { text: `to ${name}${which}:`, answer: sent };
    });
  }
  function count(right) {
    const name = `${k} ${open[0].text} ${open.length}`;
    if (!outcomes.has(name)) outcomes.set(name, right);
    score.textContent = told();
  }
  const told = () => `${[...outcomes.values()].filter(Boolean).length} of ${outcomes.size} right`;
  function show() {
    check.hidden = !open.length;
    question.textContent = open[0]?.text ?? "";
    field.value = "";
    field.placeholder = open.length ? "" : "Enter goes on"; // it stays, and so does the focus
    if (open.length) field.removeAttribute("aria-label");
    else field.setAttribute("aria-label", "nothing to answer: Enter goes on");
  }
  function answer() {
    if (!open.length) return actions.next();
    if (!field.value.trim()) {
      verdict.textContent = "a number, a fraction, an expression; ▶ shows it";
      return;
    }
    const names = new Map(values.filter(([, , born]) => born < k).map(([name, value]) => [name, value]));
    const given = evaluate(field.value, names), truth = open[0].answer;
    if (Number.isNaN(given)) {
      verdict.textContent = "that cannot be read: try 0.25, 1/4, cos(a2)";
      return;
    }
    const right = isRight(given, truth);
    count(right);
    verdict.textContent = right ? `✓ ${open[0].text} ${print(truth)}` : `✗ not ${field.value.trim()}: try again`;
    if (!right) return field.select();
    open.shift();
    show();
    if (open.length) field.focus();
    else actions.reveal();
  }
  field.onkeydown = (event) => {
    event.stopPropagation(); // arrows move in the text
    if (event.key === "Enter") answer();
  };
  check.onclick = answer;
  const changed = () => {
    row.remove();
    if (box.checked) top.append(row);
    verdict.textContent = "";
    actions.again();
  };
  box.onchange = what.onchange = back.onchange = changed;
  return {
    get on() { return box.checked; },
    start() { box.checked = back.checked = true; changed(); },
    ask(place) { // is there something to predict at this step?
      k = place;
      verdict.textContent = "";
      const asked = box.checked ? questions(steps[k]) : [];
      open = asked.filter((one) => Number.isFinite(one.answer));
      show();
      if (open.length && row.contains(row.getRootNode().activeElement)) field.focus();
      return asked.length > 0;
    },
    rest() {
      open = [];
      show();
    },
    giveUp() { // shown without an answer: counted as not known
      for (; open.length; open.shift()) count(false);
      show();
    },
    summary: () => (box.checked && outcomes.size ? `   ${told()} at the first try` : ""),
  };
}

const tight = (name) => (/^[\p{L}_][\p{L}\p{N}_]*$/u.test(name) ? name : `(${name})`);
const print = (value) => String(Number(value.toPrecision(4))).replace("-", "−");
