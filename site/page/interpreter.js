// Python, in a worker (python.js). A worker that is told to stop, or that has died, is replaced by a new one.
//
// The worker is made from a blob: such a worker has the page's security policy, so a program in it can load files of this
// site and nothing else.

import { say, secondsSince } from "./page.js";

const BASE = new URL("./", import.meta.url).href; // of the site, also for a page in a folder
const FILLED = { Python: 10, NumPy: 55, autoflow: 80 };
let source, worker, begun, number = 0;
let waiting = new Map(); // number of a question -> who waits for the answer
let alive = null; // a promise: Python is there; null until somebody needs it
let giveUp;

function start() {
  begun = performance.now();
  alive = new Promise((resolve, reject) => {
    giveUp = reject;
    source ??= fetch(`${BASE}python.js`).then((answer) => answer.text());
    source.then((text) => begin(text, resolve, reject), reject);
  });
  alive.catch(() => {}); // those who wait for it hear of it
}

function begin(text, resolve, reject) {
  const address = URL.createObjectURL(new Blob([text], { type: "text/javascript" }));
  const mine = new Worker(address, { type: "module" });
  worker = mine;
  mine.postMessage({ base: BASE, ...settings });
  mine.onerror = (event) => {
    event.preventDefault();
    if (mine === worker) restart(event.message || "Python has stopped");
  };
  mine.onmessage = ({ data }) => {
    if (mine !== worker) return;
    if (data.stage) say(`Starting: ${data.stage} …`, FILLED[data.stage]);
    else if (data.ready) {
      URL.revokeObjectURL(address);
      if (!waiting.size) say(`Ready, after ${secondsSince(begun)}`);
      resolve();
    } else if (data.failedToStart) {
      say(`Python did not start: ${data.failedToStart}`);
      reject(new Error(data.failedToStart));
    } else answer(data);
  };
}

function answer({ id, printed, result, failed, dead }) {
  const asker = waiting.get(id);
  if (!asker) return;
  if (printed !== undefined) return asker.told(printed);
  waiting.delete(id);
  if (dead) restart(failed);
  failed === undefined ? asker.resolve(result) : asker.reject(new Error(failed));
}

// End what runs, and start again. All who wait get an error with this text.
export function restart(why) {
  worker?.terminate();
  worker = null;
  giveUp?.(new Error(why));
  for (const { reject } of waiting.values()) reject(new Error(why));
  waiting = new Map();
  start();
}

// What a function of runner.py answers. `told` gets what is printed meanwhile.
export async function ask(what, args, told = () => {}) {
  await whenReady();
  return new Promise((resolve, reject) => {
    const id = number++;
    waiting.set(id, { resolve, reject, told });
    worker.postMessage({ id, ask: what, args });
  });
}

// Python is some 10 MB, so it is loaded when it is needed first.
export function whenReady() {
  if (!alive) start();
  return alive;
}

// What python.js gets besides: packages, another file of Python.
let settings = {};
export function prepare(more) {
  settings = more;
}
