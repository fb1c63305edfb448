// The front page. It shows an example that the build has drawn, while Python starts; then it runs what the reader types.

import { listen, paint, setProgram } from "./editor.js";
import { ask, restart, whenReady } from "./interpreter.js";
import { packed, unpacked } from "./link.js";
import { $, say, secondsSince } from "./page.js";
import { show as showView, showMoved } from "./views.js";

const { names, first } = JSON.parse($("first").textContent);
const tabs = [...document.querySelectorAll("[role=tab]")];
let pane = "graph"; // the view that is open
let views = {}; // of the last result, those that were asked for
let running = false;
let behind = null; // an example that Python has not run yet: its views are those that the build drew

// -- running

async function run() {
  if (running) return restart("stopped");
  running = true;
  behind = null;
  $("run").textContent = "Stop";
  $("panel").classList.add("old");
  const program = $("code").value;
  try {
    await whenReady();
    const begin = performance.now();
    say("Running …");
    showAnswer(await ask("run", [program], showPrinted));
    await open(pane);
    say(`Done in ${secondsSince(begin)}`);
  } catch (error) {
    if (error.message !== "stopped") showError({ text: explained(error.message) });
  }
  running = false;
  $("run").textContent = "Run";
  $("panel").classList.remove("old");
}

function explained(text) {
  if (/call stack|recursion/i.test(text)) return "Too many calls within calls for a browser. Python starts again.";
  if (/memory/i.test(text)) return "The browser has no more memory for Python. Python starts again.";
  return `${text}\nPython starts again.`;
}

function showAnswer({ printed, error, rows, more }) {
  views = {};
  showPrinted(printed);
  showError(error);
  $("table").hidden = rows.length === 0;
  $("table").tBodies[0].replaceChildren(...rows.map(tableRow));
  $("more").hidden = !more;
  $("more").textContent = `and ${more} more`;
}

function tableRow({ title, value, gradient, shape }) {
  const row = document.createElement("tr");
  for (const text of [title, value, gradient]) row.insertCell().textContent = text;
  if (shape) row.cells[0].title = shape;
  row.cells[2].className = "grad";
  return row;
}

function showPrinted(text) {
  $("printed").hidden = !text;
  $("printed").textContent = text;
}

function showError(error) {
  $("error").hidden = !error;
  $("error").textContent = error ? (error.line ? `Line ${error.line}: ` : "") + error.text : "";
  paint(error?.line);
}

// -- views

async function open(name) {
  pane = name;
  for (const tab of tabs) {
    const chosen = tab.dataset.pane === name;
    tab.setAttribute("aria-selected", chosen);
    tab.tabIndex = chosen ? 0 : -1;
  }
  $("panel").setAttribute("aria-labelledby", `tab-${name}`);
  const asked = views;
  asked[name] ??= await ask("pane", [name]);
  if (pane === name && asked === views) await showView(asked[name], move);
}

// Sliders move faster than Python draws: of the values that arrive meanwhile the last ones count.
let moving = false;
let next = null;
async function move(values) {
  next = values;
  if (moving) return;
  moving = true;
  try {
    if (behind) await ask("run", [behind]);
    behind = null;
    while (next) {
      const now = next;
      next = null;
      showMoved(await ask("move", [now]));
    }
  } catch (error) {
    if (error.message !== "stopped") say(explained(error.message));
  }
  moving = false;
}

// -- examples and links

async function choose(number) {
  const example = number === 0 ? first : await (await fetch(`examples/${number}.json`)).json();
  if (running) restart("stopped");
  behind = example.code;
  setProgram(example.code);
  showAnswer(example.answer);
  views = { ...example.views };
  await open(pane);
}

async function openLink(text) {
  let program = "# The link is damaged: there is no program in it.\n";
  try {
    program = await unpacked(text);
  } catch { /* said above */ }
  setProgram(program);
  $("examples").selectedIndex = -1;
  showAnswer({ printed: "", error: null, rows: [], more: 0 });
  views = { graph: { error: "This program came with a link. Read it, then press Run." } };
  views.sliders = views.formula = views.graph;
  await open(pane);
}

$("share").onclick = async () => {
  const link = `${location.href.split("#")[0]}#code=${await packed($("code").value)}`;
  history.replaceState(null, "", link);
  try {
    await navigator.clipboard.writeText(link);
    say("Link copied");
  } catch {
    say("The link is in the address bar");
  }
};

for (const name of names) $("examples").append(new Option(name));
$("examples").onchange = () => {
  history.replaceState(null, "", location.pathname); // a link's program is no longer what is shown
  choose($("examples").selectedIndex);
};
$("run").onclick = run;
listen(() => { if (!running) run(); });
for (const tab of tabs) {
  tab.onclick = () => open(tab.dataset.pane).catch((error) => showError({ text: explained(error.message) }));
  tab.onkeydown = (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    const other = tabs.at((tabs.indexOf(tab) + step) % tabs.length);
    other.focus();
    other.click();
  };
}
addEventListener("hashchange", () => follow());
async function follow() {
  const given = location.hash.match(/^#code=(.+)$/);
  if (given) {
    if (running) restart("stopped");
    behind = null;
    await openLink(given[1]);
  }
  return Boolean(given);
}

whenReady();
if (!(await follow())) await choose(0);
document.documentElement.dataset.shown = "";
if ("serviceWorker" in navigator) navigator.serviceWorker.register("offline.js").catch(() => {}); // http without localhost
