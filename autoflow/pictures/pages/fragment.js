// Replaces the image of a picture by the same picture alive, with controls that step through it.
//
// It computes nothing: html.py wrote down, for each step, what changes. A frame is made from the first step on, so
// that it is the same whichever way one came there. Texts enter the page as text, never as HTML.

// milliseconds per step while it plays; cards, from which on there is something to search for
const PACE = 1400, MANY = 10;
const LEFT_OUT = "This page does not have every set of folded boxes. Python draws it: graph(open=\"name\").";

function make(tag, parent, attributes = {}, text = "") {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.textContent = text;
  parent.append(element);
  return element;
}

// The SVG inside the image, as XML: what a parser of HTML would run stays text.
function picture(image) {
  const bytes = Uint8Array.from(atob(image.src.split(",")[1]), (c) => c.charCodeAt(0));
  return parsed(new TextDecoder().decode(bytes));
}
function parsed(text) {
  return document.importNode(new DOMParser().parseFromString(text, "image/svg+xml").documentElement, true);
}

// Which theme the page around us has, where it says so: JupyterLab, VS Code, Colab.
function theme() {
  const { body, documentElement: html } = document;
  const said = body.dataset.jpThemeLight || html.dataset.jpThemeLight;
  if (said) return said;
  if (body.classList.contains("vscode-dark") || body.classList.contains("vscode-high-contrast")) return "false";
  if (body.classList.contains("vscode-light")) return "true";
  const name = html.getAttribute("theme");
  return name === "dark" ? "false" : name === "light" ? "true" : "";
}

// Says it again inside the shadow root, where no selector sees the page around.
function followTheme(around, fixed) {
  const follow = () => {
    const light = fixed || theme();
    if (light) around.setAttribute("data-jp-theme-light", light);
    else around.removeAttribute("data-jp-theme-light");
  };
  follow();
  if (fixed) return;
  const filter = { attributes: true, attributeFilter: ["data-jp-theme-light", "class", "theme"] };
  const observer = new MutationObserver(follow);
  for (const element of [document.body, document.documentElement]) observer.observe(element, filter);
}

function within(svg, name) { // all elements with that data- attribute, by what it says
  return new Map([...svg.querySelectorAll(`[data-${name}]`)].map((e) => [e.dataset[name], e]));
}

// What a step changes, on the elements of one SVG. Steps are told on the first picture; where boxes are folded
// otherwise, `at` has for each card of the first one the card that stands for it; of a box that is folded there and open
// here, `parts` has all cards: they have one step.
function stage(svg, at, parts) {
  const cards = new Map([...within(svg, "node")].map(([id, card]) => [Number(id), card]));
  const edges = within(svg, "edge");
  const here = (id) => (at.length ? at[id] : Number(id));
  const folded = (id) => cards.get(id)?.classList.contains("sco");
  const gradients = (id) => [...(cards.get(id)?.querySelectorAll(".gradient") ?? [])]; // of several results several
  const amounts = new Map(); // the texts of the complete gradients
  for (const id of cards.keys()) amounts.set(id, gradients(id).map((text) => text.textContent));
  const classes = ["wait", "dry", "partly", "act", "quiet", "busy", "back", "unsent", "unasked"];

  const together = new Map(Object.entries(parts).map(([id, all]) => [here(id), all]));
  const group = (id) => together.get(id) ?? [id];

  // from any card of one box to any of another one; of a single card to its row
  function arrow(name) {
    const [source, target, slot] = name.split("-"), from = group(here(source)), to = group(here(target));
    const any = to.length > 1 || folded(to[0]);
    return [...edges].find(([key]) => {
      const [a, b, row] = key.split("-");
      return from.includes(Number(a)) && to.includes(Number(b)) && (any || row === slot);
    })?.[1];
  }
  function clear() {
    for (const element of svg.querySelectorAll("." + classes.join(",."))) element.classList.remove(...classes);
    for (const [id, texts] of amounts) gradients(id).forEach((text, i) => { text.textContent = texts[i]; });
  }

  // The frame of step k. A step whose answer is hidden counts as one that is still to come.
  return function show(steps, k, hidden, predict) {
    clear();
    veil(svg, predict && steps[k].phase !== "end");
    if (steps[k].phase === "end") return;
    const waits = new Set(), dry = new Set(cards.keys()), coming = new Set(), sums = new Map();
    const sent = new Set(), sending = new Set(), quiet = [];
    steps.forEach((step, place) => {
      const done = place < k + !hidden, receivers = step.phase === "seed" ? [step.node] : [];
      if (step.phase === "forward" && !done) waits.add(here(step.node));
      if (step.phase === "backward" && done) sending.add(here(step.node));
      if (step.phase === "seed" && step.sum !== undefined && done) {
        sums.set(`${here(step.node)} 0`, [step.sum, step.complete]);
      }
      if (predict && step.products && !done) cards.get(here(step.node))?.classList.add("unasked");
      for (const product of step.products || []) {
        receivers.push(product.to);
        if (!done) {
          quiet.push([step.node, product]);
          continue;
        }
        sent.add(arrow(product.edge));
        sums.set(`${here(product.to)} ${product.place ?? 0}`, [product.sum, product.complete]);
      }
      for (const id of receivers) done ? dry.delete(here(id)) : coming.add(here(id));
    });
    for (const id of [...waits].flatMap(group)) cards.get(id)?.classList.add("wait");
    for (const [id, all] of together) {
      if (!dry.has(id)) all.forEach((one) => dry.delete(one));
      if (sending.has(id)) continue;
      for (const [name, edge] of edges) if (all.includes(Number(name.split("-")[1]))) edge.classList.add("quiet");
    }
    for (const id of cards.keys()) if (folded(id) && coming.has(id)) dry.add(id); // its amount is that of all inside
    for (const id of dry) cards.get(id).classList.add("dry");
    for (const id of cards.keys()) {
      if (folded(id) || dry.has(id) || together.has(id)) continue;
      gradients(id).forEach((text, i, all) => {
        const [sum, complete] = sums.get(`${id} ${i}`) ?? ["", all.length === 1];
        if (complete) return;
        text.textContent = sum;
        cards.get(id).classList.add("partly");
      });
    }
    for (const [node, product] of quiet) {
      if (!sent.has(arrow(product.edge))) arrow(product.edge)?.classList.add("quiet");
      if (folded(here(node))) continue;
      cards.get(here(node))?.querySelectorAll(".sent")[product.row]?.classList.add("unsent");
    }
    for (const id of group(here(steps[k].node))) cards.get(id)?.classList.add("act");
    for (const edge of steps[k].inputs || []) arrow(edge)?.classList.add("busy");
    for (const product of steps[k].products || []) {
      arrow(product.edge)?.classList.remove("quiet");
      arrow(product.edge)?.classList.add("back");
    }
  };
}

// Gives what is to be done when another picture comes into the frame.
function controls(host, page, svg, data) {
  const { steps } = data, last = steps.length - 1;
  let show = stage(svg, [], {});
  const top = make("div", page, { class: "stay" });
  const bar = make("div", top, { class: "bar", role: "group", "aria-label": "steps" });
  const before = make("button", bar, { type: "button", "aria-label": "previous step" }, "◀");
  const next = make("button", bar, { type: "button", "aria-label": "next step" }, "▶");
  const play = make("button", bar, { type: "button" }, "Play");
  const pace = make("select", bar, { "aria-label": "speed" });
  for (const speed of ["½×", "1×", "2×"]) make("option", pace, {}, speed);
  pace.selectedIndex = 1;
  const slider = make("input", bar, { type: "range", min: "0", max: String(last), "aria-label": "step" });
  const where = make("span", bar, { class: "where" });
  const caption = make("div", top, { class: "caption", role: "status", "aria-live": "polite" });
  let k = 0, hidden = false, timer = 0;
  const predict = predictor(bar, top, steps, data.values, {
    reveal: () => { hidden = false; draw(); },
    next: () => { stop(); advance(); },
    again: () => { hidden = hidden && predict.ask(k); draw(); },
  });

  function draw() {
    const step = steps[k];
    data.mark?.(step.node);
    show(steps, k, hidden, predict.on);
    for (const answers of data.answers) answers.hidden = predict.on;
    slider.value = String(k);
    slider.setAttribute("aria-valuetext", `${k} of ${last}, ${step.phase}`);
    where.textContent = `${k} / ${last}  ${step.phase}`;
    caption.title = hidden ? "" : step.rule ?? "";
    caption.textContent = hidden ? `${step.question}   what will it be? ▶ shows it`
      : step.caption + (step.phase === "end" ? predict.summary() : "");
    before.disabled = k === 0;
    next.disabled = k === last && !hidden;
    play.textContent = timer ? "Pause" : "Play";
    page.querySelector(".act")?.scrollIntoView({ block: "nearest", inline: "nearest" });
  }
  function go(place, forward = false) {
    k = Math.max(0, Math.min(last, place));
    hidden = forward && predict.ask(k);
    if (!hidden) predict.rest();
    draw();
  }
  function advance() {
    if (!hidden) return go(k + 1, true);
    predict.giveUp();
    hidden = false;
    draw();
  }
  function stop() {
    clearInterval(timer);
    timer = 0;
  }
  function toggle() {
    if (timer) {
      stop();
    } else {
      if (k === last) go(0);
      timer = setInterval(() => {
        if (!host.isConnected) return stop();
        advance();
        if (k === last || hidden) stop(); // a question waits for its answer
        draw();
      }, PACE * [2, 1, 0.5][pace.selectedIndex]);
    }
    draw();
  }
  before.onclick = () => { stop(); go(k - 1); };
  next.onclick = () => { stop(); advance(); };
  play.onclick = toggle;
  slider.oninput = () => { stop(); go(Number(slider.value)); };
  pace.onchange = () => { if (timer) { stop(); toggle(); } };
  const keys = {
    ArrowRight: advance, ArrowLeft: () => go(k - 1), Home: () => go(0), End: () => go(last), " ": toggle,
  };
  page.onkeydown = (event) => {
    if (!(event.key in keys) || event.ctrlKey || event.metaKey || event.altKey) return;
    if (["search", "text"].includes(event.target.type) || event.target.tagName === "SELECT") return;
    if (event.key === " " && event.target !== page) return; // a button, a box: that is meant
    // the page would scroll, the notebook would go to another cell
    event.preventDefault();
    event.stopPropagation();
    if (event.key === " ") return toggle();
    stop();
    keys[event.key]();
  };
  go(data.start < 0 ? last : data.start);
  if (data.quiz) predict.start();
  return (other, at, parts) => { show = stage(other, at, parts); draw(); };
}

// Finds cards by what stands on them, and in folded boxes by the names inside.
function search(page, frame) {
  const bar = make("div", page, { class: "bar", role: "search" });
  const field = make("input", bar, { type: "search", placeholder: "find a node", "aria-label": "find a node" });
  const count = make("span", bar, { class: "where", role: "status" });
  let found = [], next = 0, inside = {};
  function mark() {
    const text = field.value.trim().toLowerCase(), cards = [...frame.querySelectorAll("[data-node]")];
    const has = (card) => `${card.textContent} ${inside[card.dataset.node] ?? ""}`.toLowerCase().includes(text);
    found = text ? cards.filter(has) : [];
    next = 0;
    for (const card of cards) {
      card.classList.toggle("found", found.includes(card));
      card.classList.toggle("missed", text !== "" && !found.includes(card));
    }
    count.textContent = text ? `${found.length} of ${cards.length}` : "";
  }
  field.oninput = mark;
  field.onkeydown = (event) => {
    event.stopPropagation();
    if (event.key !== "Enter" || !found.length) return;
    const card = found[next++ % found.length];
    card.scrollIntoView({ block: "nearest", inline: "center" });
    paths(frame, card);
  };
  return (names) => { inside = names; mark(); };
}

// Lights all ways from a card to the output, and fades the rest; without a card all is as it was.
function paths(frame, card) {
  const cards = within(frame, "node"), edges = within(frame, "edge"), lit = new Set();
  if (card) lit.add(card.dataset.node);
  for (const id of lit) {
    for (const name of edges.keys()) {
      const [source, target] = name.split("-");
      if (source === id) lit.add(target);
    }
  }
  for (const [id, element] of cards) element.classList.toggle("aside", Boolean(card) && !lit.has(id));
  for (const [name, element] of edges) {
    element.classList.toggle("aside", Boolean(card) && !lit.has(name.split("-")[0]));
  }
  if (card) card.dataset.chosen = "1";
  for (const element of cards.values()) if (element !== card) delete element.dataset.chosen;
}

// An arrow that is cut has a name at both ends; each leads to the other.
function jump(frame, event) {
  const end = event.target.closest("[data-goto]");
  if (!end || (event.key ?? "Enter") !== "Enter") return false;
  const card = frame.querySelector(`[data-node="${end.dataset.goto}"]`);
  card.scrollIntoView({ block: "center" });
  paths(frame, card);
  return true;
}

// Boxes fold and open: a click puts another picture into the frame.
function boxes(page, frame, first, folds, changed) {
  const note = make("div", page, { class: "left-out", role: "status" });
  function clickable(element, target, expanded) {
    // a box whose picture the page does not have has no sign
    if (target < 0) element?.querySelector(".word").replaceChildren();
    if (!element || target < 0) return;
    const attributes = { class: "toggle", role: "button", tabindex: "0", "aria-expanded": String(expanded) };
    for (const one of element.classList) attributes.class += ` ${one}`;
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    const name = element.querySelector(".title").textContent;
    element.onclick = () => show(target, "");
    element.onkeydown = (event) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      event.stopPropagation();
      show(target, name);
    };
  }
  function show(k, name) {
    const { frames, cards, at, parts, inside } = folds[k], svg = k ? parsed(folds[k].svg) : first;
    frame.style.setProperty("--least", least(svg));
    frame.replaceChildren(svg);
    paths(frame, null);
    const heads = [...svg.querySelectorAll(".sco")].filter((g) => g.querySelector(".band") && !g.dataset.node);
    frames.forEach((target, place) => clickable(heads[place], target, true));
    for (const [id, target] of Object.entries(cards)) {
      clickable(svg.querySelector(`[data-node="${id}"]`), target, false);
    }
    note.textContent = [...frames, ...Object.values(cards)].includes(-1) ? LEFT_OUT : "";
    for (const follow of changed) follow(svg, at, parts, inside, folds[k]);
    reachable(svg);
    const same = [...svg.querySelectorAll(".toggle")].filter((e) => name && e.textContent.includes(name));
    same[0]?.focus({ preventScroll: true }); // the keyboard stays where it was
  }
  show(0, "");
}

// Cards can be reached by the keyboard.
function reachable(svg) {
  for (const card of svg.querySelectorAll("[data-node]:not(.toggle)")) card.setAttribute("tabindex", "0");
}

function least(svg) {
  return `${0.6 * svg.getAttribute("width")}px`; // smaller is not legible: scroll
}

async function render(fragment) {
  if (fragment.dataset.live) return;
  fragment.dataset.live = "1";
  const image = fragment.querySelector("img");
  const data = await unpacked(fragment.dataset.autoflow);
  data.answers = fragment.querySelectorAll("details");
  const host = document.createElement("div");
  // JupyterLab leaves the arrow keys to us
  host.setAttribute("data-lm-suppress-shortcuts", "true");
  const root = host.attachShadow({ mode: "open" });
  make("style", root, {}, data.css);
  const around = make("div", root);
  const page = make("div", around, { class: "page" });
  const svg = picture(image);
  const frame = document.createElement("div");
  frame.className = "picture";
  frame.style.setProperty("--least", least(svg));
  frame.append(svg);
  followTheme(around, data.light);
  const changed = [], beside = document.createElement("div");
  beside.className = "beside";
  beside.append(frame);
  frame.style.setProperty("--room", `${0.7 * svg.getAttribute("width")}px`);
  if (data.program) {
    const { mark, change } = program(beside, frame, data.program);
    data.mark = mark;
    changed.push(change);
  }
  if (data.steps.length && svg.querySelector("[data-node]")) {
    page.tabIndex = 0;
    page.setAttribute("aria-label", image.alt);
    changed.push(controls(host, page, svg, data));
  }
  if (svg.querySelectorAll("[data-node]").length >= MANY || data.folds.length) {
    const names = search(page, frame);
    changed.push((_, at, parts, inside) => names(inside));
  }
  page.append(beside);
  fitting(frame);
  zooming(page, frame);
  reachable(svg);
  if (data.folds.length) boxes(page, frame, svg, data.folds, changed);
  frame.onkeydown = (event) => {
    const card = event.key === "Enter" && !jump(frame, event) && event.target.closest("[data-node]:not(.toggle)");
    if (card) paths(frame, card.dataset.chosen ? null : card);
  };
  frame.onclick = (event) => {
    if (jump(frame, event)) return;
    const card = event.target.closest("[data-node]");
    if (!event.target.closest(".toggle")) paths(frame, card && !card.dataset.chosen ? card : null);
  };
  image.replaceWith(host);
  if (fragment.parentElement === document.body && document.body.children.length === 1) {
    // a page of one picture: keys go to it
    page.focus({ preventScroll: true });
  }
  fragment.querySelector("[hidden]").remove();
}

const own = document.currentScript && document.currentScript.closest(".autoflow-picture");
for (const fragment of own ? [own] : document.querySelectorAll(".autoflow-picture")) {
  render(fragment).catch((error) => {
    // the image is still there
    console.error("autoflow: the picture stays as it is.", error);
  });
}
