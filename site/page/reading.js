// What is too wide for the page can be scrolled with the keyboard as well.
for (const part of document.querySelectorAll("article pre, article table, .output, math")) {
  if (part.scrollWidth > part.clientWidth && part.clientWidth) part.tabIndex = 0;
}
