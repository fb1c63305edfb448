// The worker in which Python runs: {base}, then {id, ask, args}; answers {id, result} or {id, failed}, and {stage} while
// it starts. With {base} may come {packages, lock}, what is loaded besides NumPy and where it is listed, and {more}, a file
// that is asked instead of runner.py. After a fatal error of Python it says `dead`, and the page starts another worker.

let runner;
let started;

async function start({ base, packages = [], lock, more }) {
  const report = (stage) => postMessage({ stage });
  report("Python");
  const at = (name) => new URL(name, base).href;
  const { loadPyodide } = await import(at("vendor/pyodide.mjs"));
  const python = await loadPyodide({ indexURL: at("vendor/"), ...(lock && { lockFileURL: at(lock) }) });
  report("NumPy");
  const say = { messageCallback: () => {}, errorCallback: () => {}, checkIntegrity: true };
  await python.loadPackage(["numpy", ...packages], say);
  report("autoflow");
  const text = (name) => fetch(at(name)).then((answer) => answer.text());
  const [wheel, ...sources] = await Promise.all([
    fetch(at("autoflow.zip")).then((answer) => answer.arrayBuffer()),
    text("runner.py"), ...(more ? [text(more)] : []),
  ]);
  python.unpackArchive(wheel, "zip", { extractDir: "/lib/autoflow" });
  withdraw();
  python.globals.set("sources", python.toPy(sources));
  return python.runPython(`
import importlib, sys, types
sys.path.insert(0, "/lib/autoflow")
importlib.invalidate_caches()
for name, source in zip(["autoflow.playground", "autoflow.lesson"], sources):
    runner = sys.modules[name] = types.ModuleType(name)
    exec(compile(source, f"{name}.py", "exec"), runner.__dict__)
runner`);
}

// What a program from somebody's link could do harm with: the copies of this site that the browser keeps, its storage,
// other workers, connections. (The page's policy allows no other host anyway.)
function withdraw() {
  const names = ["caches", "indexedDB", "Worker", "SharedWorker", "BroadcastChannel", "WebSocket", "EventSource",
    "WebTransport", "XMLHttpRequest", "fetch", "importScripts"];
  for (let owner = self; owner && owner !== Object.prototype; owner = Object.getPrototypeOf(owner)) {
    for (const name of names) if (Object.hasOwn(owner, name)) delete owner[name];
  }
  for (const name of ["storage", "locks", "serviceWorker"]) delete Object.getPrototypeOf(navigator)[name];
}

self.onmessage = async ({ data: { id, ask, args, ...settings } }) => {
  if (settings.base) {
    started = start(settings);
    try {
      runner = await started;
      postMessage({ ready: true });
    } catch (error) {
      postMessage({ failedToStart: String(error.message || error) });
    }
    return;
  }
  await started;
  try {
    if (ask === "run") args = [...args, (printed) => postMessage({ id, printed })];
    postMessage({ id, result: JSON.parse(runner[ask](...args)) });
  } catch (error) { // errors of the reader's program are answers; this is Python itself
    postMessage({ id, failed: String(error.message || error).slice(-2000), dead: true });
  }
};
