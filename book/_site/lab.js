/* Python in the page, for whoever asks: scalingLab.call(name, args) gives a promise of what py/lab.py answers. Nothing
   is loaded before the first call. A promise that fails does so with a sentence for the reader. */
(() => {
  "use strict";
  const folder = new URL("py/", /** @type {HTMLScriptElement} */ (document.currentScript).src);
  const TOTAL = 6.2e6; // bytes that start Python, for the bar; a test compares it with the files
  const SILENCE = 60; // seconds without a byte: the line is dead
  const LONGEST = 10; // seconds for one call; an exercise takes a hundredth of one

  /** @typedef {{worker: Worker, ready: Promise<void>}} Python */
  /** @type {Python | undefined} */
  let python;
  let calls = 0;

  /** @param {Python | undefined} which */
  function end(which) {
    which?.worker.terminate();
    if (python === which) python = undefined;
  }

  /** @param {(share: number) => void} progress how much of Python is here, of 1 */
  function start(progress) {
    const worker = new Worker(new URL("worker.mjs", folder), { type: "module" });
    const ready = new Promise((/** @type {(value: void) => void} */ resolve, reject) => {
      /** @param {string} why */
      const fail = (why) => reject(new Error(`Python could not start here: ${why}.`));
      const wait = () => setTimeout(() => fail(`nothing more arrived for ${SILENCE} seconds`), SILENCE * 1000);
      let silent = wait();
      worker.onerror = () => fail("a file is missing, or this browser or its settings do not allow it");
      worker.addEventListener("message", ({ data }) => {
        clearTimeout(silent);
        if (data.ready) resolve();
        else if (data.failed) fail(data.failed);
        else if (data.loaded) {
          silent = wait();
          progress(Math.min(1, data.loaded / TOTAL));
        }
      });
    });
    const started = { worker, ready };
    ready.catch(() => end(started));
    return started;
  }

  /** @param {Python} from @param {string} call @param {object} args */
  function answer(from, call, args) {
    return new Promise((resolve, reject) => {
      const id = ++calls;
      /** @param {string} why */
      const stop = (why) => {
        end(from); // nothing else stops Python; the next call starts another
        reject(new Error(why));
      };
      const timer = setTimeout(() => stop(`Stopped after ${LONGEST} seconds. Does a loop never end?`), LONGEST * 1000);
      from.worker.addEventListener("message", function listen({ data }) {
        if (data.id !== id) return;
        from.worker.removeEventListener("message", listen);
        clearTimeout(timer);
        if ("value" in data) resolve(data.value);
        else if ("error" in data) reject(new Error(data.error));
        else stop(`Python itself broke down (${data.broken}). The next run starts it anew.`);
      });
      from.worker.postMessage({ id, call, args });
    });
  }

  /** One after the other, so that a call never waits within another's ten seconds. @type {Promise<unknown>} */
  let last = Promise.resolve();

  /** @param {string} name @param {object} args @param {(share: number) => void} progress */
  async function call(name, args, progress = () => {}) {
    if (location.protocol === "file:") {
      throw new Error(
        "Python runs here only when the page comes from a web server: in the folder of the site run " +
          "python -m http.server and open http://localhost:8000.",
      );
    }
    const before = last;
    const mine = (async () => {
      await before.catch(() => {});
      python ??= start(progress);
      await python.ready;
      return answer(python, name, args);
    })();
    last = mine;
    return mine;
  }

  Object.assign(globalThis, { scalingLab: { call } });
})();
