// Slides that fit their screen; arrow keys that step what is on a slide; notes for the speaker (S).

const WIDE = 1280, HIGH = 720;
const LEAST = { IMG: 300, PRE: 14, zoom: 0.4 }; // how small a thing may get: pixels of height, of type; a share
const MOST = document.body.matches(".lecture") ? 2 : 1; // how large a picture may get: a share
const ALIVE = ".autoflow-live, .autoflow-picture", UNSEEN = "style, script, .notes, .keys";
const HEADING = /^H[1-6]$/;

document.documentElement.setAttribute("theme", "light"); // of pictures that follow the page

// Of a live page a slide has the controls, the data, the loss and the graph.
for (const host of document.querySelectorAll(".autoflow-live")) {
  const style = host.shadowRoot.appendChild(document.createElement("style"));
  style.textContent = ".panel, details, .hint, .check, h2.title, .key { display: none } .head { float: right } .bar { margin-bottom: 8px } "
    + ".top { grid-template-columns: 206px 1fr; grid-auto-rows: 212px } canvas[data-id=plane] { max-width: 160px } "
    + "canvas[data-id=losses] { min-height: 0 } .below { margin-top: 8px }";
}

// ---------------------------------------------------------------- what is too tall is shrunk a little, or goes on

const measure = Object.assign(document.createElement("div"), { className: "reveal measure" });
measure.innerHTML = '<div class="slides"></div>';
const frames = () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));

function fits(slide) {
  return slide.offsetHeight <= HIGH && slide.scrollWidth <= WIDE;
}

// Smaller, as far as one can still read it. Does the slide fit then?
function shrink(slide, part) {
  const images = part.tagName === "IMG" ? [part] : [...part.querySelectorAll("img")];
  for (const image of images) {
    const room = image.offsetHeight - (slide.offsetHeight - HIGH);
    if (room >= Math.min(LEAST.IMG, image.offsetHeight)) image.style.maxHeight = `${room}px`;
  }
  for (const pre of part.matches("pre") ? [part] : part.querySelectorAll("pre")) {
    for (let size = parseFloat(getComputedStyle(pre).fontSize); size > LEAST.PRE && !fits(slide);) pre.style.fontSize = `${--size}px`;
  }
  if (!fits(slide)) for (const one of [...images, ...part.querySelectorAll("pre"), part]) one.style.maxHeight = one.style.fontSize = "";
  return fits(slide);
}

// Pictures as large as they can be; else the last resort: the whole part smaller.
async function zoom(slide, part, most = 0.95) {
  for (let share = most; share >= LEAST.zoom; share -= 0.05) {
    part.style.zoom = share;
    if (part.matches(ALIVE)) await frames(); // a live page arranges its cards anew
    if (fits(slide)) return;
  }
}

// The end of a part that is too long: lines of a program, items of a list, rows of a table. Nothing if it has none.
function cut(slide, part) {
  const rest = part.cloneNode(false), body = part.matches("table") && part.tBodies[0];
  rest.style.fontSize = "";
  const items = part.matches("pre") ? (part.firstElementChild ?? part).innerHTML.split("\n") : body ? [...body.rows] : part.matches("ul, ol") ? [...part.children] : [];
  if (items.length < 2) return null;
  const inside = part.matches("pre") && part.firstElementChild?.tagName === "CODE" ? part.firstElementChild : body || part;
  const fill = (owner, some) => { if (part.matches("pre")) owner.innerHTML = some.join("\n"); else owner.replaceChildren(...some); };
  for (let count = items.length - 1; count > 0; count--) {
    fill(inside, items.slice(0, count));
    if (!fits(slide)) continue;
    const owner = inside === part ? rest : rest.appendChild(inside.cloneNode(false));
    if (body && part.tHead) rest.prepend(part.tHead.cloneNode(true));
    if (part.matches("ol")) rest.start = (part.start || 1) + count;
    fill(owner, items.slice(count));
    return rest;
  }
  fill(inside, items);
  return null;
}

// The slides that a slide becomes, one for what fits after the other.
async function paged(slide) {
  const waiting = [...slide.children].flatMap((part) => (part.matches(".cell") ? [...part.children].flatMap(apart) : [part]));
  const heading = waiting.find((part) => HEADING.test(part.tagName)), done = [];
  let page = slide, kept; // kept: how many parts are on the page, without headings
  const turn = () => {
    page = done.length ? slide.cloneNode(false) : slide;
    page.replaceChildren();
    if (done.length && heading) page.append(Object.assign(document.createElement("p"), { className: "rest", textContent: `${heading.textContent} …` }));
    measure.firstChild.replaceChildren(page);
    done.push(page);
    kept = 0;
  };
  turn();
  while (waiting.length) {
    const part = waiting.shift(), counts = !HEADING.test(part.tagName) && !part.matches(UNSEEN);
    page.append(part);
    if (part.matches(ALIVE) || (MOST > 1 && part.matches("img"))) await zoom(page, part, MOST);
    if (fits(page) || shrink(page, part)) {
      kept += counts;
      continue;
    }
    part.remove();
    if (kept) {
      const last = page.lastElementChild;
      turn();
      if (last && HEADING.test(last.tagName)) page.append(last); // a heading goes with what follows it
      waiting.unshift(part);
      continue;
    }
    page.append(part);
    const rest = cut(page, part);
    if (rest) waiting.unshift(rest);
    else await zoom(page, part);
    kept++;
  }
  return done;
}

// The outputs of a cell one by one, each with its line at the left.
function apart(part) {
  if (!part.matches(".output")) return [part];
  return [...part.children].map((one) => {
    const around = one.matches("pre") ? one : part.cloneNode(false);
    if (around === one) one.classList.add("output");
    else around.append(one);
    return around;
  });
}

async function fit() {
  document.body.append(measure);
  await Promise.all([...document.images].map((image) => image.decode().catch(() => {})));
  const { firstChild: place } = measure;
  for (const slide of [...document.querySelectorAll(".slides section")].filter((one) => !one.querySelector("section"))) {
    if (measure.contains(slide)) continue;
    const mark = document.createComment("");
    slide.replaceWith(mark);
    const pages = await paged(slide);
    place.replaceChildren();
    mark.replaceWith(...pages);
  }
  measure.remove();
}

// ---------------------------------------------------------------- keys

// What an arrow does on a slide that has something alive: one step of it. False where there is nothing left to step.
function step(slide, back) {
  const live = slide.querySelector(".autoflow-live")?.live;
  if (live) {
    live.$(back ? "back" : "one").click();
    return true;
  }
  const page = slide.querySelector(".autoflow-picture > div:not([hidden])")?.shadowRoot;
  const button = page?.querySelector(`[aria-label="${back ? "previous" : "next"} step"]`);
  if (!button || button.disabled) return false;
  button.click();
  return true;
}

addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || Reveal.isOverview()) return;
  if (/^s$/i.test(event.key)) openNotes();
  else if (!/^Arrow(Right|Left)$/.test(event.key) || !step(Reveal.getCurrentSlide(), event.key === "ArrowLeft")) return;
  event.preventDefault();
  event.stopImmediatePropagation(); // neither reveal.js nor the thing itself
}, true);

// ---------------------------------------------------------------- notes for the speaker, in a window of their own

let notes = null;
function openNotes() {
  notes = open("", "notes", "width=720,height=640");
  if (!notes) return;
  const { document: page } = notes;
  page.title = `Notes: ${document.title}`;
  page.body.style.cssText = "font:20px/1.45 system-ui,sans-serif;margin:24px;max-width:44em;color-scheme:light dark";
  notes.onkeydown = ({ key }) => {
    if (/^(ArrowRight|PageDown| )$/.test(key)) (key !== "ArrowRight" || !step(Reveal.getCurrentSlide(), false)) && Reveal.next();
    if (/^(ArrowLeft|PageUp)$/.test(key)) (key !== "ArrowLeft" || !step(Reveal.getCurrentSlide(), true)) && Reveal.prev();
  };
  tell();
}
function tell() {
  if (!notes || notes.closed) return;
  const here = Reveal.getCurrentSlide(), all = Reveal.getSlides(), at = all.indexOf(here);
  const titled = (slide) => slide?.querySelector("h1, h2, .rest")?.textContent ?? "the end";
  const line = (tag, text) => Object.assign(notes.document.createElement(tag), { textContent: text });
  const words = notes.document.createElement("div");
  words.innerHTML = here.querySelector(".notes")?.innerHTML ?? "<p>No notes.</p>";
  notes.document.body.replaceChildren(line("p", `${at + 1} of ${all.length}`), line("h2", titled(here)), words, line("p", `Next: ${titled(all[at + 1])}`));
}

fit().then(() => Reveal.initialize({
  width: WIDE, height: HIGH, margin: 0.04, center: false, hash: true, controls: false, slideNumber: "c/t", transition: "none",
})).then(() => {
  Reveal.on("slidechanged", tell);
  document.documentElement.dataset.ready = "";
});
