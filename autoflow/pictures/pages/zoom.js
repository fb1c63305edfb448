// Larger and smaller: Ctrl and the wheel, two fingers, the keys + - 0; what is larger than its frame can be dragged.
// A double click beside the cards fits the picture into the page again.
function zooming(page, frame) {
  const fingers = new Map();
  let zoom = 0, dragged = false, apart = 0; // 0: as the page has it
  const now = () => frame.querySelector("svg").getBoundingClientRect();
  const natural = () => Number(frame.querySelector("svg").getAttribute("width"));
  function set(next, x, y) {
    const before = now(), size = before.width / natural();
    zoom = next && Math.max(0.1, Math.min(8, next));
    frame.classList.toggle("zoomed", zoom > 0);
    frame.style.setProperty("--wide", `${zoom * natural()}px`);
    if (!zoom) return;
    frame.scrollLeft += (x - before.left) * (zoom / size - 1); // what is under the pointer stays there
    frame.scrollTop += (y - before.top) * (zoom / size - 1);
  }
  const by = (factor, x, y) => set(now().width / natural() * factor, x, y);
  frame.addEventListener("wheel", (event) => {
    if (!event.ctrlKey && !event.metaKey) return; // the page scrolls
    event.preventDefault();
    by(2 ** (-event.deltaY / 300), event.clientX, event.clientY);
  }, { passive: false });
  frame.addEventListener("dblclick", (event) => {
    if (event.target.closest("[data-node], .toggle")) return;
    set(0);
    frame.classList.add("fit");
  });
  page.addEventListener("keydown", (event) => {
    const factor = { "+": 1.25, "=": 1.25, "-": 0.8, 0: 0 }[event.key];
    if (factor === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
    if (["search", "text"].includes(event.target.type)) return;
    const { left, top, width, height } = frame.getBoundingClientRect();
    event.stopPropagation();
    if (factor) by(factor, left + width / 2, top + height / 2);
    else set(0);
  });
  frame.addEventListener("pointerdown", (event) => {
    fingers.set(event.pointerId, event);
    dragged = false;
    apart = 0;
  });
  window.addEventListener("pointermove", (event) => {
    const before = fingers.get(event.pointerId);
    if (!before) return;
    fingers.set(event.pointerId, event);
    const [a, b] = [...fingers.values()];
    if (b) {
      const wide = Math.hypot(a.clientX - b.clientX, a.clientY - b.clientY);
      if (apart) by(wide / apart, (a.clientX + b.clientX) / 2, (a.clientY + b.clientY) / 2);
      apart = wide;
      dragged = true;
    } else if (event.pointerType === "mouse" && (dragged || Math.hypot(event.movementX, event.movementY) > 3)) {
      frame.scrollLeft += before.clientX - event.clientX;
      frame.scrollTop += before.clientY - event.clientY;
      dragged = true;
    }
  });
  for (const name of ["pointerup", "pointercancel"]) window.addEventListener(name, (e) => fingers.delete(e.pointerId));
  frame.addEventListener("click", (event) => { if (dragged) event.stopPropagation(); }, true); // it was no click
}
