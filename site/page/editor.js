// The editor: a textarea, and under it the same text in colours.

import { $ } from "./page.js";

const STRING = /"""[\s\S]*?"""|'''[\s\S]*?'''|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'/;
const WORDS = "and as assert async await break class continue def del elif else except finally for from global if import in "
  + "is lambda nonlocal not or pass raise return try while with yield True False None";
const NUMBER = /\b\d[\d_]*\.?\d*(?:[eE][+-]?\d+)?\b/;
const TOKENS = new RegExp(`(#.*)|(${STRING.source})|\\b(${WORDS.replaceAll(" ", "|")})\\b|(${NUMBER.source})`, "g");
const OPENS = /:\s*(#.*)?$/; // a line that a block follows
const KINDS = ["comment", "string", "keyword", "number"];

const code = $("code");

// Colours and line numbers; the line `bad` is marked.
export function paint(bad) {
  const lines = [[]];
  const add = (text, kind) => text.split("\n").forEach((part, k) => {
    if (k) lines.push([]);
    if (part) lines.at(-1).push(span(part, kind));
  });
  let at = 0;
  for (const match of code.value.matchAll(TOKENS)) {
    add(code.value.slice(at, match.index));
    add(match[0], KINDS[match.slice(1).findIndex((found) => found !== undefined)]);
    at = match.index + match[0].length;
  }
  add(code.value.slice(at));
  const rows = lines.map((parts, k) => {
    const row = span("", k + 1 === bad ? "line bad" : "line");
    row.append(...parts, "\n");
    return row;
  });
  $("colours").replaceChildren(...rows);
  $("lines").replaceChildren(...lines.map((_, k) => span(`${k + 1}\n`, k + 1 === bad ? "bad" : "")));
}

function span(text, kind) {
  const element = document.createElement("span");
  if (kind) element.className = kind;
  element.textContent = text;
  return element;
}

export function setProgram(text) {
  code.value = text;
  paint();
}

const insert = (text) => document.execCommand("insertText", false, text); // which can be undone, unlike .value =

// How far the line of the cursor can be indented: as the last line above it that is not empty, and one level more after
// a colon.
function deepest() {
  const above = code.value.slice(0, code.selectionStart).split("\n").slice(0, -1).findLast((line) => line.trim());
  return above === undefined ? 0 : above.match(/^ */)[0].length + (OPENS.test(above) ? 4 : 0);
}

let leaving = false; // Escape was pressed: the next Tab leaves, wherever the cursor is

export function listen(run) {
  code.addEventListener("input", () => paint());
  code.addEventListener("keydown", (event) => {
    const before = code.value.slice(0, code.selectionStart).split("\n").at(-1);
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey || event.shiftKey)) {
      event.preventDefault();
      run();
    } else if (event.key === "Enter") {
      const indent = before.match(/^ */)[0] + (OPENS.test(before) ? "    " : "");
      if (indent) {
        event.preventDefault();
        insert(`\n${indent}`);
      }
    } else if (event.key === "Tab" && !event.shiftKey && !leaving && before.length < deepest() && /^ *$/.test(before)) {
      event.preventDefault(); // only where Python could be indented: elsewhere Tab leaves the editor, as keyboards expect
      insert(" ".repeat(4 - before.length % 4));
    }
    leaving = event.key === "Escape";
  });
}
