// Formulas of pages: elements of class math, and in the reference $...$ in the text of docstrings.
for (const element of document.querySelectorAll(".math")) {
  const text = element.textContent.trim();
  const tex = text.replace(/^(\$\$?|\\\(|\\\[)/, "").replace(/(\$\$?|\\\)|\\\])$/, "");
  const displayMode = element.tagName === "DIV";
  const made = katex.renderToString(tex.trim(), { output: "mathml", displayMode, throwOnError: false, trust: false });
  element.innerHTML = made.replaceAll("<mo>\u2061</mo>", '<mo>\u2061</mo><mspace width="0.17em"></mspace>'); // sin x
}
