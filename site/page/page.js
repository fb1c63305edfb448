// What the parts of the playground share.

export const $ = (id) => document.getElementById(id);

// The line below the editor; with a number, a bar that is filled so far (of 100).
export function say(text, filled) {
  $("status").textContent = text;
  $("progress").hidden = filled === undefined;
  if (filled !== undefined) $("progress").value = filled;
}

export const secondsSince = (begin) => `${((performance.now() - begin) / 1000).toFixed(1)} s`;
