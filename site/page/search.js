// Search in the reader's browser: every word of the question has to occur in an entry of search.json.

import { $ } from "./page.js";

const MOST = 50, AROUND = 90; // results; characters around what was found
const index = fetch("search.json").then((answer) => answer.json());
const lower = (text) => text.toLowerCase().replaceAll("’", "'");

// How good an entry is for a word: the name itself, in the title, in the heading, in the text; 0 if it is not there.
function score(word, [kind, , title, heading, text]) {
  const [name, below, inside] = [title, heading, text].map(lower), starts = (where) => where.split(/[^\p{L}\p{N}_]+/u).some((part) => part.startsWith(word));
  if (kind === "reference" && name.split(".").at(-1) === word.split(".").at(-1) && name.endsWith(word)) return 100;
  if (starts(name) || name.includes(word)) return starts(name) ? 30 : 15;
  if (below.includes(word)) return starts(below) ? 25 : 12;
  const count = inside.split(word).length - 1;
  return count ? (starts(inside) ? 3 : 1) + Math.min(count, 5) / 5 : 0;
}

function found(entries, words) {
  const rated = entries.map((entry) => {
    const scores = words.map((word) => score(word, entry));
    return { entry, rating: Math.min(...scores) > 0 ? scores.reduce((a, b) => a + b) : 0 };
  });
  return rated.filter(({ rating }) => rating).sort((a, b) => b.rating - a.rating).map(({ entry }) => entry);
}

// The text around the first word, with all words marked.
function excerpt(text, words) {
  const plain = lower(text), places = words.map((word) => plain.indexOf(word)).filter((place) => place >= 0);
  const from = Math.max(0, Math.min(...places, text.length) - AROUND), part = text.slice(places.length ? from : 0, (places.length ? from : 0) + 3 * AROUND);
  const element = document.createElement("small"), pattern = new RegExp(words.map((word) => word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")).join("|"), "gi");
  let at = 0;
  if (places.length && from) element.append("… ");
  for (const match of part.matchAll(pattern)) {
    element.append(part.slice(at, match.index), Object.assign(document.createElement("mark"), { textContent: match[0] }));
    at = match.index + match[0].length;
  }
  element.append(part.slice(at));
  return element;
}

function row([kind, address, title, heading, text], words) {
  const item = document.createElement("li"), link = document.createElement("a");
  link.href = address;
  link.textContent = heading ? `${title}: ${heading}` : title;
  item.append(link, Object.assign(document.createElement("span"), { className: "kind", textContent: kind }), excerpt(text, words));
  return item;
}

async function search() {
  const question = $("question").value.trim(), words = [...new Set(lower(question).split(/\s+/).filter(Boolean))];
  history.replaceState(null, "", question ? `?q=${encodeURIComponent(question)}` : location.pathname);
  const all = words.length ? found(await index, words) : [];
  if ($("question").value.trim() !== question) return; // the reader types on
  $("results").replaceChildren(...all.slice(0, MOST).map((entry) => row(entry, words)));
  $("count").textContent = !words.length ? "" : all.length > MOST ? `${all.length} places; the best ${MOST}:` : `${all.length || "no"} place${all.length === 1 ? "" : "s"}`;
}

$("question").value = new URLSearchParams(location.search).get("q") ?? "";
$("question").oninput = search;
$("form").onsubmit = (event) => { event.preventDefault(); search(); };
$("question").focus();
search();
