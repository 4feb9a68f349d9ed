// The explorer's pure parts under Node's own runner: node --test tests/pages/js
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import test from "node:test";

const source = await readFile(new URL("../../../scaling/course/widgets/explorer.js", import.meta.url));
const ex = await import(`data:text/javascript;base64,${source.toString("base64")}`);

const axes = {
  chip: ["A", "B"], model: ["m", "n"], names: { A: "Chip A", B: "Chip B", m: "Model m", n: "Model n" }, prices: [2, null],
  sizes: [[[1, 2, 4], [2, 4]], [[4, 8], [8]]], weights: ["bf16", "int8"], kv: ["bf16", "int8"],
  context: [1024, 2048, 4096], batch: [1, 2, 4, 8], tokens: [[0, 1, 2, 3], [1, 2, 3, 4], [2, 3, 4, 5]],
};
const start = { chip: "A", model: "m", chips: 2, weights: "bf16", kv: "bf16", context: 2048, batch: 4 };
const figures = (over) => ({
  weights: 0.010, compute: 0.001, matmul: 0.010, cache: 0.004, rate: 90, ceiling: 300, critical: 240.5, need: 2, max_batch: 64,
  weight_bytes: 1e11, cache_bytes: 1e10, memory: 1.6e11, ...over,
});
const say = (over, at = {}) => ex.advice(figures(over), { ...start, ...at }, ex.choices(axes, { ...start, ...at }));

test("nearest goes by ratio, and to an end when outside", () => {
  assert.equal(ex.nearest([1, 2, 4, 8], 2.9), 2);
  assert.equal(ex.nearest([1, 2, 4, 8], 2.8), 1);
  assert.equal(ex.nearest([1, 2, 4, 8], 1000), 3);
  assert.equal(ex.nearest([1, 2, 4, 8], 0.1), 0);
});

test("numbers have four digits, and thousands are separated", () => {
  const cases = [[13.7381, "13.74"], [0.57041, "0.5704"], [1058.6, "1,059"], [123456.7, "123,457"], [64, "64"], [0, "0"], [NaN, "–"], [Infinity, "∞"]];
  for (const [value, words] of cases) assert.equal(ex.number(value), words);
  assert.equal(ex.short(131072), "128K");
  assert.equal(ex.short(1000), "1,000");
});

test("a position off the grid snaps to stored values, chips to a size of its chip and model", () => {
  assert.deepEqual(ex.snap(axes, { ...start, batch: 5, context: 3000 }), { ...start, batch: 4, context: 4096 });
  assert.equal(ex.snap(axes, { ...start, chip: "B", chips: 1 }).chips, 4);
  assert.deepEqual(ex.snap(axes, start), start);
});

test("indices count places over the ragged sizes of chips and models", () => {
  const at = ex.indices(axes, { ...start, chip: "B", model: "n", chips: 8, context: 4096, batch: 8 });
  assert.deepEqual([at.pair, at.place, at.tokens, at.context, at.batch], [3, 7, 5, 2, 3]);
  assert.deepEqual([ex.indices(axes, start).pair, ex.indices(axes, start).place], [0, 1]);
});

test("the grid is read in row-major order, from a view that need not be aligned", () => {
  const values = Float32Array.from({ length: 8 + 6 }, (_, i) => i);
  const bytes = new Uint8Array(values.byteLength + 1);
  bytes.set(new Uint8Array(values.buffer), 1);
  const grid = ex.openGrid([["a", ["place"], [8]], ["b", ["weights", "batch"], [2, 3]]], new DataView(bytes.buffer, 1));
  assert.equal(grid.size, 14);
  assert.deepEqual(grid.at({ place: 7, weights: 1, batch: 2 }), { a: 7, b: 8 + 5 });
});

test("the stack overlaps weights and compute and puts the cache on top", () => {
  const one = ex.stack(figures({}));
  assert.deepEqual(one.parts.map((p) => [p.term, p.from]), [["weights", 0], ["compute", 0], ["cache", 0.01]]);
  assert.ok(Math.abs(one.total - 0.014) < 1e-12);
  assert.equal(one.bound, "weights");
  assert.equal(ex.stack(figures({ compute: 0.02, matmul: 0.02 })).bound, "compute");
  assert.equal(ex.stack(figures({ cache: 0.03 })).bound, "cache");
});

test("the line names the binding term and only the help that is on offer", () => {
  const cache = say({ cache: 0.03 });
  assert.match(cache, /^Reading the KV cache takes 75 % of the step\. A shorter context, int8 for the KV cache or more chips would help; a bigger batch would not: .* 30 %/);
  assert.match(say({ cache: 0.03 }, { kv: "int8", chips: 4 }), /step\. A shorter context would help;/);
  assert.match(say({}), /^Reading the weights takes 71 % of the step\. .*up to 64 \(then memory is full\)\. Int8 weights or more chips/);
  assert.match(say({ max_batch: 900 }), /up to 241 \(the critical batch\)/);
  assert.match(say({ max_batch: 4 }), /Memory has no room for a bigger batch/);
  assert.match(say({}, { weights: "int8", chips: 4 }), /full\)\.$/);
  assert.match(say({ compute: 0.02, matmul: 0.02 }), /^Arithmetic takes 83 % of the step: the batch is beyond the critical 241\. A smaller batch or more chips/);
});

test("what does not fit says what it needs", () => {
  assert.equal(say({ need: 4 }), "Does not fit: needs 4 chips. At this context 64 at most fit on 2 chips.");
  assert.equal(say({ need: 4, max_batch: 0 }, { chips: 1 }), "Does not fit: needs 4 chips. Not even one sequence of this length fits on one chip.");
  assert.match(say({ need: 0, memory: 1e10 }), /^This batch fits on no number of these chips\. The weights alone are larger than the memory/);
  assert.equal(ex.fits(figures({ need: 0 }), start), false);
  assert.equal(ex.fits(figures({ need: 2 }), start), true);
});

test("a guess is compared as a ratio", () => {
  assert.match(ex.verdict(28, figures({}), start), /takes 14 ms\. Your guess is 2 times too long/);
  assert.match(ex.verdict(7, figures({}), start), /2 times too short/);
  assert.match(ex.verdict(14.2, figures({}), start), /within 5 %/);
  assert.match(ex.verdict(14, figures({ need: 4 }), start), /does not fit/);
});

test("a position survives the address, beside anchors and other explorers", () => {
  const hash = ex.encode("#section&ex-other=batch:2", "one", { ...start, batch: 8, price: 2.5 });
  assert.match(hash, /^#section&ex-other=batch:2&ex-one=chip:A,model:m,chips:2,weights:bf16,kv:bf16,context:2048,batch:8,price:2\.5$/);
  assert.deepEqual(ex.decode(hash, "one", axes, start), { ...start, batch: 8, price: 2.5 });
  assert.equal(ex.encode(hash, "one", start).match(/ex-one/g).length, 1);
  assert.equal(ex.encode("", "one", { ...start, price: null }).includes("price"), false);
  assert.equal(ex.decode("#section", "one", axes, start), null);
  assert.equal(ex.decode("#ex-one-more=batch:8", "one", axes, start), null);
});

test("an address cannot put the explorer into an impossible position", () => {
  const bad = "#ex-one=chip:Z,model:<b>,chips:-1,weights:fp0,context:1e999,batch:0,price:-3,__proto__:1,%E0%A4%A:2,batch";
  assert.deepEqual(ex.decode(bad, "one", axes, start), start);
  assert.equal(ex.decode("#ex-one=batch%3A8%2Ckv:int8", "one", axes, start).batch, 8);
});

test("scales are round and leave room for their labels", () => {
  assert.deepEqual(ex.scale(13.7), { top: 20, ticks: [0, 5, 10, 15, 20] });
  assert.deepEqual(ex.scale(5).ticks, [0, 1, 2, 3, 4, 5]);
  for (const [low, high] of [[10, 45], [0.3, 4000], [20, 21]]) {
    const ticks = ex.logTicks(low, high, 500, 40);
    assert.ok(ticks.every((t, i) => t >= low && t <= high && (!i || Math.log(t / ticks[i - 1]) / Math.log(high / low) * 500 >= 40)));
  }
  assert.ok(ex.logTicks(10, 45, 500, 40).length >= 4);
});
