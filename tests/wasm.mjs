// Runs pytest inside Pyodide: node wasm.mjs PYODIDE TREE PACKAGES ARGUMENT ... (see wasm.py)
const [folder, tree, packages, ...wanted] = process.argv.slice(2);
const { loadPyodide } = await import(`${folder}/pyodide.mjs`);
const python = await loadPyodide({ indexURL: `${folder}/`, stdout: (line) => console.log(line) });
await python.loadPackage("numpy", { messageCallback: () => {} });
for (const [place, root] of [["/tree", tree], ["/site-packages", packages]]) {
  python.FS.mkdir(place);
  python.FS.mount(python.FS.filesystems.NODEFS, { root }, place);
}
python.globals.set("wanted", python.toPy(wanted));
process.exitCode = python.runPython(`
import os, sys
sys.dont_write_bytecode = True
sys.path[:0] = ["/tree", "/site-packages"]
os.chdir("/tree")
import pytest
int(pytest.main([*wanted]))
`);
