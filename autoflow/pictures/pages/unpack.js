// What Python wrote down: JSON, or of long data its compressed bytes.
async function unpacked(text) {
  if (text.startsWith("{")) return JSON.parse(text);
  const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return JSON.parse(await new Response(stream).text());
}

// A picture that is wider than its place keeps a size that can be read, and scrolls; a button shows all of it.
function fitting(frame) {
  const button = document.createElement("button");
  button.type = "button";
  const say = () => { button.textContent = frame.classList.contains("fit") ? "Full size" : "Fit to the page"; };
  button.onclick = () => {
    frame.classList.toggle("fit");
    say();
  };
  say();
  const bar = document.createElement("div");
  bar.className = "bar";
  bar.append(button);
  const look = () => {
    if (frame.classList.contains("fit")) return;
    if (frame.scrollWidth <= frame.clientWidth + 1) bar.remove();
    else if (!bar.isConnected) (frame.closest(".beside") ?? frame).before(bar);
  };
  new ResizeObserver(look).observe(frame);
}
