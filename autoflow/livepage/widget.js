// The widget: the page in a cell of a notebook. What it tells becomes ``state``, which Python reads.
export default { render({ model, el }) {
  const host = document.createElement("div"), style = document.createElement("style");
  host.className = "autoflow-live";
  style.textContent = model.get("colours");
  el.append(style, host);
  const notify = (state) => { model.set("state", state); model.save_changes(); };
  live(host, model.get("about"), makeStep, makePrediction, notify);
} };
