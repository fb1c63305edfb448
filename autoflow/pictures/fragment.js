// Replaces the image of a picture by the same picture alive, with controls that step through it.
//
// It computes nothing: html.py wrote down, for each step, what changes. A frame is made from the first step on, so
// that it is the same whichever way one came there. Texts enter the page as text, never as HTML.
(() => {
  "use strict";
  const PACE = 1400; // milliseconds per step while it plays

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

  // What a step changes, on the elements of one SVG.
  function stage(svg) {
    const cards = new Map(), edges = new Map();
    for (const card of svg.querySelectorAll("[data-node]")) cards.set(Number(card.dataset.node), card);
    for (const edge of svg.querySelectorAll("[data-edge]")) edges.set(edge.dataset.edge, edge);
    const amounts = new Map(); // the texts of the complete gradients
    for (const [id, card] of cards) amounts.set(id, card.querySelector(".gradient")?.textContent);
    const classes = ["wait", "dry", "partly", "act", "quiet", "busy", "back", "unsent"];

    function clear() {
      for (const element of svg.querySelectorAll("." + classes.join(",."))) element.classList.remove(...classes);
      for (const [id, card] of cards) {
        if (amounts.get(id) !== undefined) card.querySelector(".gradient").textContent = amounts.get(id);
      }
    }

    // The frame of step k. A step whose answer is hidden counts as one that has sent nothing yet.
    return function show(steps, k, hidden) {
      clear();
      if (steps[k].phase === "end") return;
      const waits = new Set(), dry = new Set(cards.keys()), sent = new Set(), sums = new Map();
      for (const step of steps) if (step.phase === "forward") waits.add(step.node);
      steps.slice(0, k + 1).forEach((step, place) => {
        const secret = hidden && place === k;
        if (step.phase === "forward" && !secret) waits.delete(step.node);
        if (step.phase === "seed") {
          dry.delete(step.node);
          if (step.sum !== undefined) sums.set(step.node, [step.sum, step.complete]);
        }
        for (const product of secret ? [] : step.products || []) {
          sent.add(product.edge);
          dry.delete(product.to);
          sums.set(product.to, [product.sum, product.complete]);
        }
      });
      for (const id of waits) cards.get(id)?.classList.add("wait");
      for (const id of dry) cards.get(id)?.classList.add("dry");
      for (const [id, [sum, complete]] of sums) {
        const text = cards.get(id)?.querySelector(".gradient");
        if (!text || complete) continue;
        text.textContent = sum;
        cards.get(id).classList.add("partly");
      }
      for (const step of steps) {
        for (const product of step.products || []) {
          if (sent.has(product.edge)) continue;
          edges.get(product.edge)?.classList.add("quiet");
          cards.get(step.node)?.querySelectorAll(".sent")[product.row]?.classList.add("unsent");
        }
      }
      cards.get(steps[k].node)?.classList.add("act");
      for (const edge of steps[k].inputs || []) edges.get(edge)?.classList.add("busy");
      for (const product of steps[k].products || []) {
        edges.get(product.edge)?.classList.remove("quiet");
        edges.get(product.edge)?.classList.add("back");
      }
    };
  }

  function controls(host, page, svg, data) {
    const { steps } = data, last = steps.length - 1, show = stage(svg);
    const bar = make("div", page, { class: "bar", role: "group", "aria-label": "steps" });
    const before = make("button", bar, { type: "button", "aria-label": "previous step" }, "◀");
    const next = make("button", bar, { type: "button", "aria-label": "next step" }, "▶");
    const play = make("button", bar, { type: "button" }, "Play");
    const slider = make("input", bar, { type: "range", min: "0", max: String(last), "aria-label": "step" });
    const where = make("span", bar, { class: "where" });
    const choice = make("label", bar);
    const predict = make("input", choice, { type: "checkbox" });
    choice.append("predict first");
    const caption = make("div", page, { class: "caption", role: "status", "aria-live": "polite" });
    let k = 0, hidden = false, timer = 0;

    function draw() {
      const step = steps[k];
      show(steps, k, hidden);
      slider.value = String(k);
      slider.setAttribute("aria-valuetext", `${k} of ${last}, ${step.phase}`);
      where.textContent = `${k} / ${last}  ${step.phase}`;
      caption.textContent = hidden ? `${step.question}   what will it be? ▶ shows it` : step.caption;
      before.disabled = k === 0;
      next.disabled = k === last && !hidden;
      play.textContent = timer ? "Pause" : "Play";
    }
    function go(place, forward = false) {
      k = Math.max(0, Math.min(last, place));
      hidden = forward && predict.checked && Boolean(steps[k].question);
      draw();
    }
    function advance() {
      if (!hidden) return go(k + 1, true);
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
          if (k === last) stop();
          draw();
        }, PACE);
      }
      draw();
    }
    before.onclick = () => { stop(); go(k - 1); };
    next.onclick = () => { stop(); advance(); };
    play.onclick = toggle;
    slider.oninput = () => { stop(); go(Number(slider.value)); };
    predict.onchange = () => { hidden = false; draw(); };
    const keys = {
      ArrowRight: advance, ArrowLeft: () => go(k - 1), Home: () => go(0), End: () => go(last),
    };
    page.onkeydown = (event) => {
      if (!(event.key in keys) || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault(); // the page would scroll, the notebook would go to another cell
      event.stopPropagation();
      stop();
      keys[event.key]();
    };
    go(data.start < 0 ? last : data.start);
  }

  // Boxes fold and open: a click puts another picture into the frame. Steps are told on the first one only.
  function boxes(page, frame, first, folds) {
    function clickable(element, target, expanded) {
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
      const svg = k === 0 ? first : parsed(folds[k].svg);
      frame.style.setProperty("--least", least(svg));
      frame.replaceChildren(svg);
      page.classList.toggle("elsewhere", k !== 0);
      const heads = [...svg.querySelectorAll(".sco")].filter((g) => g.querySelector(".band") && !g.dataset.node);
      folds[k].frames.forEach((target, place) => clickable(heads[place], target, true));
      for (const [id, target] of Object.entries(folds[k].cards)) {
        clickable(svg.querySelector(`[data-node="${id}"]`), target, false);
      }
      const same = [...svg.querySelectorAll(".toggle")].filter((e) => name && e.textContent.includes(name));
      same[0]?.focus({ preventScroll: true }); // the keyboard stays where it was
    }
    show(0, "");
  }

  function least(svg) {
    return `${0.6 * svg.getAttribute("width")}px`; // smaller is not legible: scroll
  }

  function render(fragment) {
    if (fragment.dataset.live) return;
    fragment.dataset.live = "1";
    const image = fragment.querySelector("img");
    const data = JSON.parse(fragment.querySelector(".autoflow-data").textContent);
    const host = document.createElement("div");
    host.setAttribute("data-lm-suppress-shortcuts", "true"); // JupyterLab leaves the arrow keys to us
    const root = host.attachShadow({ mode: "open" });
    make("style", root, {}, data.css);
    const around = make("div", root);
    const page = make("div", around, { class: "page" });
    const svg = picture(image);
    const frame = document.createElement("div");
    frame.className = "picture";
    frame.style.setProperty("--least", least(svg));
    frame.append(svg);
    if (data.folds.length) boxes(page, frame, svg, data.folds);
    followTheme(around, data.light);
    if (data.steps.length && svg.querySelector("[data-node]")) {
      page.tabIndex = 0;
      page.setAttribute("aria-label", image.alt);
      controls(host, page, svg, data);
    }
    page.append(frame);
    image.replaceWith(host);
  }

  const own = document.currentScript && document.currentScript.closest(".autoflow-picture");
  for (const fragment of own ? [own] : document.querySelectorAll(".autoflow-picture")) {
    try {
      render(fragment);
    } catch (error) {
      console.error("autoflow: the picture stays as it is.", error); // the image is still there
    }
  }
})();
