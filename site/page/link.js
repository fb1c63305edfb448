// A program in a link: compressed, behind the #, which browsers do not send to the server.

const LONGEST = 100_000; // characters; a short link may unpack to gigabytes

export async function packed(text) {
  const stream = new Blob([text]).stream().pipeThrough(new CompressionStream("deflate-raw"));
  const bytes = new Uint8Array(await new Response(stream).arrayBuffer());
  const letters = Array.from(bytes, (byte) => String.fromCharCode(byte)).join("");
  return btoa(letters).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

export async function unpacked(text) {
  const bytes = Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (c) => c.charCodeAt(0));
  const reader = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw")).getReader();
  const decoder = new TextDecoder();
  let found = "";
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    found += decoder.decode(part.value, { stream: true });
    if (found.length > LONGEST) throw new Error("the program in the link is too long");
  }
  return found + decoder.decode();
}
