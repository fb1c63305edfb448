"""The page in a notebook as a widget (extra ``widget``): the same face, and its weights come back to Python."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..pictures.render.svg import properties

ESM = """
export default { render({ model, el }) {
  const host = document.createElement("div"), style = document.createElement("style");
  host.className = "autoflow-live";
  style.textContent = model.get("colours");
  el.append(style, host);
  const notify = (state) => { model.set("state", state); model.save_changes(); };
  live(host, model.get("about"), makeStep, makePrediction, notify);
} };
"""


def widget(page: Any) -> Any:
    """The widget of a page; whenever it pauses, ``page.params`` gets its weights. (anywidget is imported only here.)"""
    import anywidget
    import traitlets

    class Live(anywidget.AnyWidget):  # type: ignore[misc]
        _esm = "\n".join([page.module, ESM])
        about = traitlets.Dict().tag(sync=True)
        colours = traitlets.Unicode().tag(sync=True)
        state = traitlets.Dict().tag(sync=True)  # step, loss, and the parameters as flat lists

    made = Live(about={**page.about, "full": False, "css": page.style}, colours=properties("autoflow-live", "auto"))

    def take(change: Any) -> None:
        for (name, old), flat in zip(page.study.params.items(), change["new"]["params"], strict=True):
            page.params[name] = np.array(flat, old.dtype).reshape(old.shape)

    made.observe(take, ["state"])
    return made
