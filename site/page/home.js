// The network at the top of the front page. It trains as soon as it is seen, for those who do not mind what moves; it
// rests where it cannot be seen, and when it has learned its points.

const LEARNED = 3000, PACE = 2; // steps; steps for each frame
const { state, play, $ } = document.querySelector("#network .autoflow-live").live;
let trains = !matchMedia("(prefers-reduced-motion: reduce)").matches; // when it is seen
$("many").value = PACE;

new IntersectionObserver(([{ isIntersecting: seen }]) => {
  if (!seen) trains = state.playing;
  if (state.playing !== (seen && trains)) play(seen && trains);
}, { rootMargin: "-80px 0px" }).observe(document.getElementById("network"));

const rest = setInterval(() => {
  if (state.at < LEARNED) return;
  clearInterval(rest); // once: who presses Train again wants more of it
  play(false);
}, 500);
