// Python in a worker: {id, call, args} in, {id, value} or {id, error} out; before that {loaded} in bytes, then {ready: true},
// or {failed: sentence}. Nothing here knows of a page, and everything comes from this folder.
import { loadPyodide } from "./pyodide.mjs";

const here = new URL("./", import.meta.url).href;
const plainFetch = globalThis.fetch.bind(globalThis);
let loaded = 0;

/** A response that reports what arrives. A file that is missing must be told: Pyodide would wait for it for ever. */
async function counted(address) {
  const name = address.split("/").pop();
  const response = await plainFetch(address).catch(() => undefined);
  if (!response?.ok) {
    postMessage({ failed: `${name} did not arrive (${response?.status ?? "no answer"})` });
    throw new Error(name);
  }
  const count = new TransformStream({
    transform(part, out) {
      loaded += part.length;
      postMessage({ loaded });
      out.enqueue(part);
    },
  });
  return response.body.pipeThrough(count);
}

globalThis.fetch = async (request) => {
  const address = String(request.url ?? request);
  if (!address.endsWith(".wasm")) return new Response(await counted(address));
  const unpacked = (await counted(`${address}.packed`)).pipeThrough(new DecompressionStream("gzip"));
  return new Response(unpacked, { headers: { "Content-Type": "application/wasm" } });
};

async function start() {
  try {
    new WebAssembly.Module(Uint8Array.of(0, 97, 115, 109, 1, 0, 0, 0)); // the smallest; Pyodide would wait for ever
  } catch {
    throw new Error("this browser, or the policy of the site, does not allow WebAssembly");
  }
  const info = { abi_version: "2026_0", arch: "wasm32", platform: "emscripten_5_0_3", python: "3.14.2" };
  const [python, book] = await Promise.all([
    loadPyodide({ indexURL: here, packageBaseUrl: here, lockFileContents: { info, packages: {} } }), // so no list is fetched
    fetch(`${here}book.zip`).then((response) => response.arrayBuffer()),
  ]);
  python.unpackArchive(book, "zip", { extractDir: "/course" });
  python.runPython('import sys; sys.path[:0] = ["/course", "/course/book"]; from lab import call');
  return python.globals.get("call");
}

const started = start();
started.then(
  () => postMessage({ ready: true }),
  (error) =>
    postMessage({
      failed: String(error?.message ?? error)
        .trim()
        .split("\n")
        .pop(),
    }),
);

addEventListener("message", async ({ data: { id, call, args } }) => {
  const python = await started;
  try {
    postMessage({ id, ...JSON.parse(python(call, JSON.stringify(args))) });
  } catch (error) {
    // Not even Python could catch this one (its stack or its memory is gone): the page starts another.
    postMessage({
      id,
      broken: String(error?.message ?? error)
        .trim()
        .split("\n")
        .pop()
        .slice(0, 200),
    });
  }
});
