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

const isRight = (given, truth) => Math.abs(given - truth) <= NEAR * Math.abs(truth) + 1e-12; // 0 is right for 6e-17
const isAsked = (answer) => Number.isFinite(answer) || (typeof answer === "object" && answer !== null);

// Is what somebody typed the answer: a number; [1, 2], all entries of a small array; (32, 10), a shape; 2 or g Wᵀ, one
// of several formulas. Gives true, false, or why it cannot be read.
function judge(text, answer, names) {
  if (Number.isFinite(answer)) {
    const given = evaluate(text, names);
    return Number.isNaN(given) ? "try 0.25, 1/4, cos(a2)" : isRight(given, answer);
  }
  if (answer.choices) {
    const tight = (words) => words.replaceAll(/\s/g, "").replaceAll("-", "−");
    const place = answer.choices.findIndex((choice) => tight(choice) === tight(text));
    const number = place < 0 ? Number(text) - 1 : place;
    return number in answer.choices ? number === answer.right : "try the number of a formula";
  }
  if (answer.shape) {
    const found = (text.match(/\d+/g) ?? []).map(Number);
    if (/[^\d\s(),×x*]/.test(text)) return "try (3, 4)";
    return found.length === answer.shape.length && found.every((n, i) => n === answer.shape[i]);
  }
  const given = text.replaceAll(/[[\]]/g, " ").split(/[,;\s]+/).filter(Boolean).map((one) => evaluate(one, names));
  if (!given.length || given.some(Number.isNaN)) return "try [1, 0.5, -2]: all entries, row by row";
  const { entries } = answer, one = given.length === 1 && entries.every((x) => x === entries[0]);
  return (one || given.length === entries.length) && entries.every((x, i) => isRight(given[one ? 0 : i], x));
}

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
    if (step.phase === "forward") {
      return [{ text: `${step.name} =${entriesOf(step.value)}`, answer: step.value }];
    }
    const products = step.products ?? [], names = products.map(({ name }) => name);
    return products.map(({ name, local, sent }, i) => {
      const which = names.indexOf(name) !== names.lastIndexOf(name) ? ` (operand ${i + 1})` : "";
      if (what.selectedIndex === 0 && isAsked(local)) {
        return { text: `∂${tight(step.name)}/∂${tight(name)}${which} =`, answer: local };
      }
      if (what.selectedIndex === 0 && Number.isFinite(sent)) return { text: "", answer: local }; // it has no derivative
      return { text: `to ${name}${which}${entriesOf(sent)}:${choicesOf(sent)}`, answer: sent };
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
    const truth = open[0].answer, right = judge(field.value, truth, names);
    if (typeof right === "string") {
      verdict.textContent = `that cannot be read: ${right}`;
      return;
    }
    count(right);
    verdict.textContent = right ? `✓ ${open[0].text.split("   ")[0]} ${print(truth)}` : `✗ not ${field.value.trim()}: try again`;
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
      open = asked.filter((one) => isAsked(one.answer));
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
const entriesOf = (answer) => (answer?.entries ? ` ${answer.entries.length} entries` : answer?.shape ? ", its shape" : "");
const choicesOf = (answer) => (answer?.choices ?? []).map((choice, i) => `   ${i + 1}) ${choice}`).join("");
const digits = (value) => String(Number(value.toPrecision(4))).replace("-", "−");
function print(answer) {
  if (Number.isFinite(answer)) return digits(answer);
  if (answer.choices) return answer.choices[answer.right];
  return answer.entries ? `[${answer.entries.map(digits).join(", ")}]` : `(${answer.shape.join(", ")})`;
}
