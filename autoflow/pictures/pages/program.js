// The program beside the picture: a card that is pointed at lights its expression up, a click on a line shows its cards.

// Each line in pieces that belong to the same places.
function listing(parent, { files, spans }) {
  const box = make("details", parent, { class: "program", open: "" });
  make("summary", box, {}, "program");
  const pieces = spans.map(() => []), lines = []; // of each span its file, first and last line, first and last column
  files.forEach((file, k) => {
    if (file.name) make("div", box, { class: "file" }, file.name);
    let before = file.lines[0][0];
    for (const [number, text] of file.lines) {
      if (number > before + 1) make("div", box, { class: "gap", "aria-hidden": "true" }, "⋮");
      before = number;
      const here = spans.map(([f, first, last, begin, end], n) => ({
        n, begin: first < number ? 0 : begin, end: last > number ? text.length : end, on: f === k && first <= number && number <= last,
      })).filter((span) => span.on);
      const line = make("div", box, { class: "line" });
      make("span", line, { class: "number", "aria-hidden": "true" }, String(number));
      const code = make("code", line);
      const cuts = [...new Set([0, text.length, ...here.flatMap((s) => [s.begin, s.end])])].sort((a, b) => a - b);
      cuts.slice(1).forEach((end, i) => {
        const piece = make("span", code, {}, text.slice(cuts[i], end));
        for (const s of here) if (s.begin <= cuts[i] && end <= s.end) pieces[s.n].push(piece);
      });
      if (!here.length) continue;
      for (const [name, value] of Object.entries({ role: "button", tabindex: "0" })) line.setAttribute(name, value);
      lines.push({ line, spans: here.map((s) => s.n) });
    }
  });
  return { box, pieces, lines };
}

// Gives what marks the place of a step, and what is to be done when another picture comes into the frame.
function program(parent, frame, told) {
  const { box, pieces, lines } = listing(parent, told);
  let cards = told.cards, at = [], step = null;
  function light(spans, name, follow) {
    for (const piece of box.querySelectorAll(`.${name}`)) piece.classList.remove(name);
    const lit = spans.flatMap((n) => pieces[n]);
    for (const piece of lit) piece.classList.add(name);
    const line = follow && lit[0]?.closest(".line");
    if (line && (line.offsetTop < box.scrollTop || line.offsetTop + line.offsetHeight > box.scrollTop + box.clientHeight)) {
      box.scrollTop = line.offsetTop - box.clientHeight / 2; // the page itself stays where it is
    }
  }
  const over = (event) => {
    const card = event.target.closest?.("[data-node]");
    light(card ? cards[card.dataset.node] ?? [] : [], "lit", Boolean(card));
  };
  for (const name of ["mouseover", "focusin", "mouseleave", "focusout"]) frame.addEventListener(name, over);
  function open(spans) {
    for (let tries = 0; tries < 4; tries++) { // boxes in boxes
      const ids = Object.keys(cards).filter((id) => cards[id].some((n) => spans.includes(n)));
      const found = ids.map((id) => frame.querySelector(`[data-node="${id}"]`)).filter(Boolean);
      const folded = found.every((card) => card.matches(".sco.toggle")) && found[0];
      if (folded) {
        folded.onclick();
        continue;
      }
      for (const card of frame.querySelectorAll("[data-node]")) card.classList.toggle("found", found.includes(card));
      found[0]?.scrollIntoView({ block: "nearest", inline: "center" });
      return light(spans, "lit", false);
    }
  }
  for (const { line, spans } of lines) {
    line.onclick = () => open(spans);
    line.onkeydown = (event) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      event.stopPropagation();
      open(spans);
    };
  }
  const mark = (node) => {
    step = node;
    light(cards[at.length ? at[node] : node] ?? [], "now", true);
  };
  return { mark, change: (_, places, parts, inside, fold) => { at = places; cards = fold.program; mark(step); } };
}
