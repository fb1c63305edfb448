// Keeps the front page and Python, so that they work without a network after the first visit; other pages are kept when
// they are read. One cache for each version of the site: the build writes the version and the list.
const CACHE = "autoflow-VERSION";
const FILES = [/* FILES */];

self.addEventListener("install", (event) => {
  const fresh = FILES.map((name) => new Request(name, { cache: "no-cache" }));
  event.waitUntil(caches.open(CACHE).then((cache) => cache.addAll(fresh)).then(() => self.skipWaiting()));
});

self.addEventListener("activate", (event) => {
  const old = (names) => names.filter((name) => name.startsWith("autoflow-") && name !== CACHE);
  event.waitUntil(caches.keys().then((names) => Promise.all(old(names).map((name) => caches.delete(name))))
    .then(() => self.clients.claim()));
});

self.addEventListener("fetch", (event) => {
  if (event.request.method !== "GET" || new URL(event.request.url).origin !== location.origin) return;
  event.respondWith(kept(event.request));
});

async function kept(request) {
  const cache = await caches.open(CACHE);
  const found = await cache.match(request, { ignoreSearch: true });
  if (found) return found;
  const answer = await fetch(request);
  if (answer.ok && answer.type === "basic") cache.put(request, answer.clone()).catch(() => {}); // the disk may be full
  return answer;
}
