// Formulas of pages: elements of class math, and in the reference $...$ in the text of docstrings.
for (const element of document.querySelectorAll(".math")) {
  const text = element.textContent.trim();
  const tex = text.replace(/^(\$\$?|\\\(|\\\[)/, "").replace(/(\$\$?|\\\)|\\\])$/, "");
  const displayMode = element.tagName === "DIV";
  katex.render(tex.trim(), element, { output: "mathml", displayMode, throwOnError: false, trust: false });
}
