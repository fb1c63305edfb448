// The page of a lesson: its cells run, its blanks are boxes, and what follows a question appears when it was tried.
//
// Python is loaded when it is needed first. What the reader writes is kept in this browser and goes nowhere else; saved
// as a notebook, it is what `python notebooks/make.py --grade` reads.

import { ask, prepare, restart } from "./interpreter.js";
import { $, say } from "./page.js";

const { lesson, notebook, packages } = JSON.parse(document.documentElement.dataset.settings);
const KEY = `autoflow lesson ${lesson}`;
const LARGEST = 20_000; // pixels: a height that a page can have
const SOLUTION = /<details>\s*<summary>Answer<\/summary>[\s\S]*?<\/details>/g;
const all = (selector, within = document) => [...within.querySelectorAll(selector)];
const cells = all(".cell"), forms = all("form.ask"), parts = all(".part");
const ran = new Set(); // cells that this Python has run

prepare({ packages, lock: "wheels/pyodide-lock.json", more: "lesson.py" });

// -- what is kept: texts of boxes, answers as Python, names of right ones, questions that were tried, code, the name

const kept = { texts: {}, sources: {}, right: {}, tried: {}, code: {}, name: "", whole: false, ...stored() };

function stored() {
  try {
    return JSON.parse(localStorage.getItem(KEY)) ?? {};
  } catch { // nothing is there, or the browser keeps nothing
    return {};
  }
}

function keep() {
  try {
    localStorage.setItem(KEY, JSON.stringify(kept));
  } catch { /* the page works without it */ }
}

function element(tag, properties, ...children) {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children);
  return made;
}

// -- what a cell shows

const makers = {
  text: (text) => element("pre", { textContent: text }),
  image: (src, { alt }) => element("img", { className: "figure", src, alt }),
  latex(text) {
    const place = element("div", { className: "math" });
    katex.render(text.replace(/^\$+|\$+$/g, ""), place, { output: "mathml", displayMode: true, throwOnError: false, trust: false });
    return place;
  },
  html(text) { // in a document of its own, which can only draw
    const frame = element("iframe", { className: "drawing", title: "The result" });
    frame.setAttribute("sandbox", "allow-scripts");
    frame.src = new URL("drawing.html", import.meta.url);
    frame.waiting = text;
    return frame;
  },
};

addEventListener("message", ({ source, data }) => {
  const frame = all("iframe.drawing").find((one) => one.contentWindow === source);
  if (!frame) return;
  if (data.ready && frame.waiting) source.postMessage({ html: frame.waiting }, "*");
  if (Number.isFinite(data.height)) frame.style.height = `${Math.min(Math.max(data.height, 40) + 4, LARGEST)}px`;
});

function show(place, { printed = "", shown = [], error }) {
  const made = printed ? [makers.text(printed)] : [];
  for (const part of shown) {
    const kind = Object.keys(makers).find((name) => name in part);
    made.push(makers[kind](part[kind], part));
  }
  if (error) made.push(element("div", { className: "error", role: "alert" }, makers.text(error)));
  place.replaceChildren(...made);
  reachable(place);
}

// What is too wide can be scrolled with the keyboard.
function reachable(within) {
  for (const part of all("pre, table, math", within)) if (part.scrollWidth > part.clientWidth && part.clientWidth) part.tabIndex = 0;
}

// -- running: one thing after the other

let queue = Promise.resolve();

function inTurn(job) {
  queue = queue.then(job).catch((error) => { // of Python itself: what it knew is gone
    ran.clear();
    say(error.message === "stopped" ? "Stopped. Python starts again." : `${error.message} Python starts again.`);
  }).finally(() => { $("stop").hidden = true; });
  $("stop").hidden = false;
  return queue;
}

const sourceOf = (cell) => cell.querySelector("textarea")?.value ?? cell.querySelector("code").textContent;

async function runCode(code, place) {
  place.setAttribute("aria-busy", "true");
  try {
    const answer = await ask("run", [code], (printed) => show(place, { printed }));
    show(place, answer);
    return !answer.error;
  } finally {
    place.removeAttribute("aria-busy");
  }
}

// Run a cell after those before it. Says whether all went well.
async function runTo(last) {
  for (const cell of last ? cells : []) {
    if (!(cell === last || cell.compareDocumentPosition(last) & Node.DOCUMENT_POSITION_FOLLOWING)) break;
    if (ran.has(cell) && cell !== last) continue;
    say(cell === last ? "Running …" : "Running the cells before …");
    cell.classList.add("running");
    const well = await runCode(sourceOf(cell), cell.querySelector(".output")).finally(() => cell.classList.remove("running"));
    if (!well) {
      say("A cell has failed: look at what it says.");
      return false;
    }
    ran.add(cell);
  }
  say("Done");
  return true;
}

function changed(cell) { // what runs after it has to run again
  for (const later of cells.slice(cells.indexOf(cell))) ran.delete(later);
  keep();
}

for (const cell of cells) {
  const edit = cell.querySelector(".edit"), number = cell.dataset.cell, pre = cell.querySelector("pre");
  const open = (text) => {
    const area = element("textarea", { value: text, spellcheck: false, ariaLabel: "Code of this cell", wrap: "off" });
    area.rows = text.split("\n").length + 1;
    area.oninput = () => {
      kept.code[number] = area.value;
      changed(cell);
    };
    area.onkeydown = (event) => {
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey || event.shiftKey)) {
        event.preventDefault();
        inTurn(() => runTo(cell));
      }
    };
    pre.hidden = true;
    pre.after(area);
    edit.textContent = "Undo changes";
    return area;
  };
  edit.onclick = () => {
    const area = cell.querySelector("textarea");
    if (!area) return open(pre.textContent).focus();
    area.remove();
    pre.hidden = false;
    edit.textContent = "Edit";
    delete kept.code[number];
    changed(cell);
  };
  cell.querySelector(".run").onclick = () => inTurn(() => runTo(cell));
  if (number in kept.code) open(kept.code[number]);
}

$("stop").onclick = () => restart("stopped");

// -- questions

const questionsOf = (form) => all(".question", form);
const boxesOf = (question) => all("input", question);

async function check(form) {
  const asked = questionsOf(form).map((question) => (
    { name: question.dataset.name, template: question.dataset.template, texts: boxesOf(question).map((box) => box.value) }));
  const before = cells.filter((cell) => cell.compareDocumentPosition(form) & Node.DOCUMENT_POSITION_FOLLOWING).at(-1);
  const code = form.elements.code?.value.trim();
  if (code) {
    const place = form.querySelector(".output") ?? form.querySelector(".bar").appendChild(element("div", { className: "output" }));
    if (!(await runTo(before)) || !(await runCode(code, place))) return;
  }
  say("Checking …");
  const judge = () => ask("answer", [lesson, JSON.stringify(asked)]);
  let { needs, verdicts } = await judge();
  if (needs && before && await runTo(before)) ({ verdicts } = await judge());
  for (const { name, right, said, source } of verdicts) {
    tell(form.querySelector(`[data-name="${name}"]`), right, said);
    kept.sources[name] = source;
    if (right) kept.right[name] = true;
    else delete kept.right[name];
  }
  say(verdicts.every(({ right }) => right) ? "Right" : "Not all of it is right");
  if (asked.some(({ texts }) => texts.some((text) => text.trim()))) tried(form);
  progress();
}

function tell(question, right, said) {
  question.classList.toggle("right", right);
  question.classList.toggle("wrong", !right);
  question.querySelector("output").textContent = `${right ? "✓" : "·"} ${said}`;
}

function tried(form) {
  kept.tried[form.dataset.cell] = true;
  open();
  keep();
}

function progress() {
  const names = all(".question").map((question) => question.dataset.name);
  const right = names.filter((name) => kept.right[name]).length;
  $("right").value = right;
  $("count").textContent = `${right} of ${names.length} right`;
  keep();
}

// A part is there when the question at the end of the one before was tried, or when a link leads to it.
const target = all("article [id]").find(({ id }) => [id, encodeURIComponent(id)].includes(location.hash.slice(1)));
const reached = parts.findIndex((part) => part.contains(target));

function open() {
  let free = true;
  for (const [k, part] of parts.entries()) {
    part.classList.toggle("open", free || kept.whole || k <= reached);
    const last = all("form.ask", part).at(-1), gate = part.querySelector(".gate");
    free &&= !gate || Boolean(kept.tried[last?.dataset.cell]);
    if (gate) gate.hidden = free || kept.whole;
  }
  $("whole").parentElement.hidden = free || kept.whole;
  reachable(document.querySelector("article"));
}

for (const form of forms) {
  form.onsubmit = (event) => {
    event.preventDefault();
    inTurn(() => check(form));
  };
  form.oninput = ({ target }) => {
    const edited = target.closest(".question");
    if (edited) { // what was said is of another answer
      edited.classList.remove("right", "wrong");
      edited.querySelector("output").textContent = "";
      delete kept.right[edited.dataset.name];
    }
    for (const question of questionsOf(form)) kept.texts[question.dataset.name] = boxesOf(question).map((box) => box.value);
    if (form.elements.code) kept.code[form.dataset.cell] = form.elements.code.value;
    progress();
  };
  for (const question of questionsOf(form)) {
    boxesOf(question).forEach((box, k) => { box.value = kept.texts[question.dataset.name]?.[k] ?? ""; });
    if (kept.right[question.dataset.name]) tell(question, true, "right");
  }
  if (form.elements.code) form.elements.code.value = kept.code[form.dataset.cell] ?? form.elements.code.value;
  form.querySelector("details.answer")?.addEventListener("toggle", ({ target }) => { if (target.open) tried(form); });
}
for (const gate of all(".gate button")) {
  gate.onclick = () => {
    tried(all("form.ask", gate.closest(".part")).at(-1));
    const next = all(".part.open").at(-1);
    next.tabIndex = -1;
    next.focus({ preventScroll: true }); // the keyboard goes on where the lesson does
  };
}
$("whole").onclick = () => {
  kept.whole = true;
  open();
  keep();
};

// -- answers as a notebook

$("name").value = kept.name;
$("name").oninput = () => {
  kept.name = $("name").value;
  keep();
};

$("save").onclick = async () => {
  const book = await (await fetch(notebook)).json();
  book.cells = book.cells.map(filled).filter(({ source }) => source.trim());
  book.metadata.autoflow = { lesson, student: kept.name };
  const data = new Blob([JSON.stringify(book, null, 1)], { type: "application/x-ipynb+json" });
  const href = URL.createObjectURL(data);
  const name = kept.name.trim().replace(/[^\p{L}\p{N}]+/gu, "_");
  element("a", { href, download: [name, notebook].filter(Boolean).join("_") }).click();
  setTimeout(() => URL.revokeObjectURL(href), 10_000);
  say("Saved. Open it in Jupyter, or hand it in.");
};

function filled(cell, number) {
  const source = [cell.source].flat().join("");
  if (cell.cell_type !== "code") return { ...cell, source: source.replace(SOLUTION, "").trim() };
  const form = forms.find((one) => Number(one.dataset.cell) === number);
  const fresh = { ...cell, outputs: [], execution_count: null, source: kept.code[number] ?? source };
  if (form) {
    const answers = questionsOf(form).map(({ dataset: { name, template } }) => `${name}=${kept.sources[name] ?? template}`);
    fresh.source = [form.elements.code?.value, `check(${answers.join(", ")})`].filter(Boolean).join("\n");
  }
  return fresh;
}

$("forget").onclick = () => {
  if (!confirm("Forget your answers and your code of this lesson?")) return;
  try {
    localStorage.removeItem(KEY);
  } catch { /* nothing was kept */ }
  location.reload();
};

open();
target?.scrollIntoView();
progress();
document.documentElement.dataset.shown = "";
if ("serviceWorker" in navigator) navigator.serviceWorker.register(new URL("offline.js", import.meta.url)).catch(() => {});
