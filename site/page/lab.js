// Links of lessons: documentation is a page of the site, another lesson a notebook. JupyterLite takes both for files of
// its own, and for its own to open: so they are put right before it hears of the click, and before the browser looks.
const site = new URL("../..", document.baseURI).href;
const files = `${site}lab/files/`;
for (const kind of ["mousedown", "click"]) {
  document.addEventListener(kind, (event) => {
    const link = event.target.closest?.("a[href]");
    if (link?.href.startsWith(files)) {
      const file = link.href.slice(files.length);
      link.href = file.endsWith(".ipynb") ? `${site}lab/notebooks/index.html?path=${file}` : site + file;
      link.dataset.page = "";
    }
    if (link && "page" in link.dataset) event.stopPropagation();
  }, true);
}
