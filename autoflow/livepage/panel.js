// The panel: the program, or what one card says: its line, its derivative, its product, its entries.

let picked = null, hovered = null, cell = 0, answered = false, right = 0, asked = 0;
const escaped = (t) => String(t).replace(/[<>&]/g, (x) => ({ "<": "&lt;", ">": "&gt;", "&": "&amp;" })[x]);
const hidden = () => $("quiz").checked && !answered; // are gradients to be guessed first?

function code(only) { // the source; what the picked card computes is marked
  const place = (picked ?? hovered)?.place;
  return A.source.map((lines, f) => lines.map((text, k) => {
    const here = place && place[0] === f && k >= place[1] && k <= place[3];
    if (only && !here) return null;
    if (!here) return escaped(text);
    const from = k === place[1] ? place[2] : text.search(/\S/), to = k === place[3] ? place[4] : text.length;
    return `${escaped(text.slice(0, from))}<mark>${escaped(text.slice(from, to))}</mark>${escaped(text.slice(to))}`;
  }).filter((x) => x !== null).join("\n")).filter(Boolean).join("\n\n");
}

function mark() { // the card under the pointer lights up its expression, the picked one its card
  for (const card of drawn) card.g.classList.toggle("picked", card.c === picked);
  const pre = $("panel").querySelector("pre.whole");
  if (pre) pre.innerHTML = code(false);
}

function pick(c, focus) {
  const box = $("panel"), was = picked, within = box.contains(root.activeElement); // the focus goes where it came from
  [picked, cell, answered] = [c ?? null, 0, false];
  if (!picked) {
    if (within) drawn.find((card) => card.c === was)?.g.focus({ preventScroll: true });
    box.innerHTML = `<h2>your program</h2><pre class="whole"></pre><p class="hint">Point at a card to see its expression. Click
      it for its derivative. Drag inside a weight’s card to change the weight.</p>`;
    mark();
    return;
  }
  const operation = c.sends !== undefined, own = operation ? `<pre>${code(true)}</pre>` : "";
  const rows = (c.sends ?? []).map((s, k) => `<tr><th scope="row">${escaped(s.to)}</th><td>${s.flows ? escaped(s.rule || "no short form") : "no gradient"}
    <output data-id="product${k}"></output></td></tr>`).join("");
  box.innerHTML = `<button data-id="close" class="quiet" aria-label="back to the program">×</button>
    <h2 class="name">${escaped(c.name)} <small>${escaped(c.word)} · ${c.shape.join(" × ") || "a number"}</small></h2>${own}
    ${operation ? `<table><caption>sends back, where g is ∂loss/∂${escaped(c.name)}</caption>${rows}</table>` : ""}
    <div class="images"><figure><figcaption data-id="valueText"></figcaption><canvas data-id="values"></canvas></figure>
    <figure data-id="second"><figcaption data-id="gradientText"></figcaption><canvas data-id="gradients"></canvas></figure></div>
    <div data-id="question" class="question" hidden></div>
    ${c.kind === "Variable" ? `<canvas data-id="slice" role="img" aria-label="the loss along this entry"></canvas>
    <p class="hint">The loss if only this entry changes; its slope is the gradient. Drag an entry up or down. Keys: arrows choose, + and − change.</p>` : ""}`;
  $("close").onclick = () => pick(null);
  const { rows: r, columns: k } = gridOf(c.shape), size = Math.max(2, Math.min(24, 150 / k, (c.kind === "Variable" ? 130 : 90) / r));
  for (const name of ["values", "gradients"]) {
    const canvas = $(name);
    Object.assign(canvas.style, { width: k * size + "px", height: r * Math.max(size, 8) + "px" });
    if (c.kind === "Variable" && name === "values") editable(canvas, c, size, focus);
  }
  ask();
  mark();
  state.dirty = true;
}

function choose(k) { // an entry of the picked card
  cell = Math.max(0, Math.min(valueOf(picked).length - 1, k));
  ask();
  state.dirty = true;
}

function editable(canvas, c, size, focus) {
  const { rows, columns, down, across } = gridOf(c.shape);
  Object.assign(canvas, { tabIndex: 0, className: "edit", ariaLabel: `entries of ${c.name}: arrows choose, plus and minus change` });
  canvas.setAttribute("role", "application");
  canvas.onpointerdown = (e) => {
    const { x, y, height } = boxOf(canvas, e);
    const k = Math.min(columns - 1, Math.floor(x / size)), r = Math.min(rows - 1, Math.floor(y / height * rows));
    choose(r * down + k * across);
    drag(e, canvas, c, cell);
  };
  canvas.onkeydown = (e) => {
    const to = { ArrowRight: across, ArrowLeft: -across, ArrowDown: down, ArrowUp: -down }[e.key], by = { "+": 0.05, "=": 0.05, "-": -0.05 }[e.key];
    if (to) choose(cell + to);
    else if (by) { params[c.input][cell] += by; edited(); tell(); } else return;
    consume(e);
  };
  if (focus) canvas.focus();
}

function placeText(c, k) {
  const columns = c.shape.at(-1);
  return !c.shape.length ? "" : c.shape.length > 1 ? `[${Math.floor(k / columns)}, ${k % columns}]` : `[${k}]`;
}

function drawPanel() {
  const c = picked;
  if (!c) return;
  const { rows, columns, down, across } = gridOf(c.shape), hide = hidden();
  for (const [name, kind, a] of [["values", "value", valueOf(c)], ["gradients", "gradient", gradientOf(c)]]) {
    if (!a) { $("second").hidden = true; continue; }
    const [ctx, w, h] = sized($(name)), secret = hide && kind === "gradient";
    ctx.imageSmoothingEnabled = false;
    if (!secret) ctx.drawImage(heat(a, rows, columns, kind, down, across), 0, 0, columns, rows, 0, 0, w, h);
    outline(ctx, 0, 0, w, h);
    const { mean, spread, rms } = statistics(a);
    let text = a.length === 1 ? short(a[0], 5) : kind === "value" ? `${short(mean, 3)} ± ${short(spread, 3)}` : `size ${short(rms, 3)}`;
    if (c.kind === "Variable") {
      cell = Math.min(cell, a.length - 1);
      const k = Math.floor(cell / across) % columns, r = Math.floor(cell / down) % rows;
      if (a.length > 1) outline(ctx, k * w / columns + 1, r * h / rows + 1, w / columns - 2, h / rows - 2, theme.ink, 2);
      text = `${placeText(c, cell)} = ${short(a[cell], 5)}`;
    }
    $(name === "values" ? "valueText" : "gradientText").textContent = `${kind} ${secret ? "?" : text}`;
  }
  (c.sends ?? []).forEach((s, k) => drawProduct(c, s, $("product" + k), hide));
  if (c.kind === "Variable") drawSlice(c, hide);
}

function drawProduct(c, s, output, hide) { // where g is largest: the local derivative, and the product that is sent
  const from = A.cards[s.card], g = gradientOf(c);
  output.textContent = "";
  if (!from || !s.flows || !s.alone || from.grad === null || String(from.shape) !== String(c.shape)) return;
  let k = 0;
  for (let i = 0; i < g.length; i++) if (Math.abs(g[i]) > Math.abs(g[k])) k = i;
  if (!g[k]) return; // of a product with 0, or of NaN, one factor is not known
  const sent = gradientOf(from)[k];
  output.textContent = `g${placeText(c, k)} × local = ${short(g[k], 3)} × ${short(sent / g[k], 3)} = ${hide ? "?" : short(sent, 3)}`;
}

function ask() { // "predict first": the reader says what comes, then sees it
  const box = $("question"), c = picked;
  box.hidden = !$("quiz").checked || c.grad === null;
  if (box.hidden) return;
  answered = false;
  box.innerHTML = c.kind === "Variable"
    ? `<span>A small step against the gradient: does it let ${escaped(c.name)}${placeText(c, cell)} grow or shrink?</span>
      <button data-say="1">grow</button> <button data-say="-1">shrink</button>`
    : `<span>Guess what is sent back.</span> <button data-say="0">show</button>`;
  for (const button of box.querySelectorAll("button")) button.onclick = () => {
    const said = +button.dataset.say, g = gradientOf(c)[cell] ?? 0;
    answered = true;
    if (said && !g) box.innerHTML = `<span role="status">Neither: the gradient is ${short(g, 3)}.</span>`;
    else if (said) {
      const fits = said === -Math.sign(g);
      asked++;
      right += fits;
      box.innerHTML = `<span role="status"><b>${fits ? "Right" : "No"}</b>: the gradient is ${short(g, 3)}, so it will ${g < 0 ? "grow" : "shrink"}. ${right} of ${asked} right.</span>`;
    } else box.hidden = true;
    state.dirty = true;
  };
}

function drawSlice(c, hide) { // the loss along one entry: the program once more, 41 times
  const [ctx, w, h] = sized($("slice")), a = params[c.input], here = a[cell], slope = gradientOf(c)[cell], z = losses[state.at];
  const half = Math.max(1.5, Math.abs(here) * 0.8), points = [];
  for (let i = 0; i <= 40; i++) {
    a[cell] = here + half * (i / 20 - 1);
    S.run();
    points.push([a[cell], S.outputs[0][0]]);
  }
  a[cell] = here;
  S.run();
  const fine = points.map((p) => p[1]).filter(isFinite), low = Math.min(...fine), high = Math.max(...fine);
  const room = 0.12 * (high - low) + 1e-9 * Math.max(Math.abs(low), Math.abs(high)) || 1;
  const at = ([x, y]) => [6 + (x - here + half) / (2 * half) * (w - 12), h - 20 - (y - low + room) / (high - low + 2 * room) * (h - 24)];
  ctx.textAlign = "center";
  for (const x of [here - half, here, here + half]) ctx.fillText(short(x, 3), Math.max(20, Math.min(w - 20, at([x, 0])[0])), h - 5);
  line(ctx, points.map(at), theme["var-line"], 2);
  if (!hide) {
    line(ctx, [-half / 2, half / 2].map((d) => at([here + d, z + slope * d])), theme.grad, 2);
    ctx.fillStyle = theme.grad;
    ctx.fillText(`slope ${short(slope, 3)}`, Math.min(w - 50, at([here, z])[0] + 50), Math.max(12, at([here, z])[1] - 9));
  }
  dot(ctx, at([here, z]), 4.5, theme.grad);
}
