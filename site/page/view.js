// What runs in the frame of the views: a document without origin, network or storage, which can only draw.
//
// The page sends {html}, {tape} or {inputs, picture}; what Python wrote never gets into the page itself. The build puts
// the programs of autoflow's pictures, and each operation's JavaScript, where two braces stand.

const place = document.getElementById("place");
const tell = (message) => parent.postMessage(message, "*");

function showPictures() {
  {{pictures}}
}

const sliders = (() => {
  {{sliders}}
  const rows = {{{rows}}};
  return { mount: (element) => mount(element, rows), widget };
})();

// Sliders of arrays: Python computes, the page carries numbers to it and pictures back.
let state = null;
const listeners = {};
const model = {
  get: (key) => state[key],
  set: (key, value) => { state[key] = value; },
  on: (event, listener) => { listeners[event] = listener; },
  save_changes: () => tell({ move: state.values }),
};

const kinds = {
  hello: () => tell({ ready: true }), // the page may begin to listen after this document has said so
  html(text) {
    place.innerHTML = text;
    showPictures();
  },
  tape(text) {
    const element = document.createElement("div");
    element.className = "autoflow-explore";
    element.dataset.autoflow = text;
    place.replaceChildren(element);
    sliders.mount(element);
  },
  inputs(inputs, { picture }) {
    state = { inputs, values: inputs.map((s) => s.start), picture, note: "", digits: 4, colours: "", point: {} };
    place.replaceChildren();
    sliders.widget(model, place);
  },
  moved({ picture, note }) {
    if (picture) state.picture = picture;
    state.note = note;
    listeners["change:picture"]();
  },
};

addEventListener("message", ({ source, data }) => {
  if (source !== parent) return;
  for (const [kind, show] of Object.entries(kinds)) if (data[kind] !== undefined) show(data[kind], data);
});
new ResizeObserver(() => tell({ height: Math.ceil(place.getBoundingClientRect().height) })).observe(place);
tell({ ready: true });
