// The playground of the front page. It shows an example that the build has drawn, until Python has started; then it runs
// what the reader types.

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
let rendered = false; // is there a result?
let good = null; // the program whose result is shown
let behind = false; // Python has not run it: the build drew it, or Python has started again since

// -- running

async function run() {
  if (running) return restart("stopped");
  running = true;
  $("run").textContent = "Stop";
  $("panel").classList.add("old");
  showError(null); // that of the last run
  showPrinted("");
  const program = $("code").value;
  try {
    await whenReady();
    const begin = performance.now();
    say("Running …");
    const answer = await ask("run", [program], showPrinted);
    if (!answer.stays) [good, behind] = [program, false];
    showAnswer(answer);
    await open(pane);
    say(`Done in ${secondsSince(begin)}`);
  } catch (error) {
    behind = true;
    $("stays").hidden = !(rendered && $("code").value === program); // else something else is shown by now
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

function showAnswer({ printed, error, rows, more, note, stays }) {
  showPrinted(printed);
  showError(error);
  $("stays").hidden = !(stays && rendered);
  if (stays) return; // the program failed before it had a result: what is shown is that of the last one that had
  views = {};
  rendered = rows.length > 0;
  $("table").hidden = !rendered;
  $("table").tBodies[0].replaceChildren(...rows.map(tableRow));
  const notes = [more ? `and ${more} more` : "", note].filter(Boolean);
  $("more").hidden = !notes.length;
  $("more").textContent = notes.join(" · ");
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
  asked[name] ??= await askAbout("pane", name);
  if (pane === name && asked === views) await showView(asked[name], move);
}

// A question about the result that is shown.
async function askAbout(what, value) {
  if (behind && good !== null) await ask("run", [good]);
  behind = false;
  return ask(what, [value]);
}

// Sliders move faster than Python draws: of the values that arrive meanwhile the last ones count.
let moving = false;
let next = null;
async function move(values) {
  next = values;
  if (moving) return;
  moving = true;
  try {
    while (next) {
      const now = next;
      next = null;
      showMoved(await askAbout("move", now));
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
  setProgram(example.code);
  showAnswer(example.answer);
  [good, behind] = [example.code, true];
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
  good = null;
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
    await openLink(given[1]);
  }
  return Boolean(given);
}

if (!(await follow())) await choose(0);
document.documentElement.dataset.shown = "";

// Python comes when the editor does: those who look at the network at the top do not wait for 10 MB. What it has loaded
// is kept for the time without a network.
new IntersectionObserver(([{ isIntersecting }], observer) => {
  if (!isIntersecting) return;
  observer.disconnect();
  whenReady().then(() => navigator.serviceWorker?.register("offline.js")).catch(() => {}); // http without localhost
}).observe($("code"));
