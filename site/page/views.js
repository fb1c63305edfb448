// The frame in which results are drawn. It may run scripts and nothing else (see view.js); it and the page exchange data.

import { $ } from "./page.js";

const frame = $("view");
const LARGEST = 20_000; // pixels: a height that a page can have
let loaded, moved;
const ready = new Promise((resolve) => { loaded = resolve; });

addEventListener("message", ({ source, data }) => {
  if (source !== frame.contentWindow) return;
  if (data.ready) loaded();
  if (Number.isFinite(data.height)) frame.style.height = `${Math.min(Math.max(data.height, 40) + 4, LARGEST)}px`;
  if (Array.isArray(data.move) && data.move.every(Number.isFinite)) moved?.(data.move);
});

frame.contentWindow.postMessage({ hello: true }, "*");

// Show a view, or a sentence instead of one. `move` gets the values of sliders that Python has to compute with.
export async function show(view, move) {
  const text = view.error ?? (Object.keys(view).length === 0 && "Nothing to draw yet: compute something from an af.Variable.");
  const none = view.inputs && !view.inputs.length && `No sliders: ${view.reason}, and no Variable has six elements or fewer.`;
  $("instead").hidden = !(text || none);
  $("instead").textContent = text || none || "";
  frame.hidden = Boolean(text || none);
  if (frame.hidden) return;
  moved = move;
  const message = view.latex ? { html: await typeset(view.latex) } : view;
  await ready;
  frame.contentWindow.postMessage(message, "*");
}

export const showMoved = (picture) => frame.contentWindow.postMessage({ moved: picture }, "*");

// Formulas as MathML, which the browser draws. KaTeX is loaded when it is needed first.
let loading;
async function typeset(formulas) {
  loading ??= new Promise((resolve, reject) => {
    const script = Object.assign(document.createElement("script"), { src: "vendor/katex.min.js", onload: resolve, onerror: reject });
    document.head.append(script);
  });
  await loading;
  const options = { output: "mathml", displayMode: true, throwOnError: false, trust: false };
  const { katex } = globalThis;
  const apart = (text) => text.replaceAll("<mo>\u2061</mo>", '<mo>\u2061</mo><mspace width="0.17em"></mspace>'); // sin x
  const shown = ([title, tex]) => `<p>${title}</p><div class="formula">${apart(katex.renderToString(tex, options))}</div>`;
  return formulas.map(shown).join("");
}
