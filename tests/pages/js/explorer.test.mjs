// What the explorer knows and says, under Node's own runner: node --test tests/pages/js
import assert from "node:assert/strict";
import test from "node:test";
import * as dom from "../../../scaling/course/widgets/dom.js";
import * as figuresOf from "../../../scaling/course/widgets/figures.js";
import * as hardware from "../../../scaling/course/widgets/hardware.js";
import * as places from "../../../scaling/course/widgets/places.js";
import * as state from "../../../scaling/course/widgets/state.js";

const ex = { ...dom, ...figuresOf, ...places, ...state };

const axes = {
  chip: ["A", "B"],
  model: ["m", "n"],
  names: { A: "Chip A", B: "Chip B", m: "Model m", n: "Model n" },
  prices: [2, null],
  sizes: [
    [
      [1, 2, 4],
      [2, 4],
    ],
    [[4, 8], [8]],
  ],
  weights: ["bf16", "int8"],
  kv: ["bf16", "int8"],
  smaller: { weights: { bf16: "int8" }, kv: { bf16: "int8" } },
  context: [1024, 2048, 4096],
  batch: [1, 2, 4, 8],
  tokens: [
    [0, 1, 2, 3],
    [1, 2, 3, 4],
    [2, 3, 4, 5],
  ],
};
const start = { chip: "A", model: "m", chips: 2, weights: "bf16", kv: "bf16", context: 2048, batch: 4 };
const figures = (over) => ({
  weights: 0.01,
  compute: 0.001,
  matmul: 0.01,
  cache: 0.004,
  rate: 90,
  plateau: 300,
  chip_hours: 3,
  critical: 240.5,
  whole_critical: 241,
  need: 2,
  max_batch: 64,
  weight_bytes: 1e11,
  cache_bytes: 1e10,
  memory: 1.6e11,
  ...over,
});
const say = (over, at = {}) => ex.advice(figures(over), { ...start, ...at }, axes);

/** An explorer of one figure a table: at `start` a step of 10 ms, at a batch of 8 its cache takes 6 ms. */
function explorer() {
  const f = figures({ compute: 0.001, weights: 0.007, matmul: 0.007 });
  const tables = Object.keys(f).map((name) => (name === "cache" ? [name, ["batch"], [4]] : [name, [], []]));
  const cache = [0.001, 0.002, 0.003, 0.006];
  const values = Object.keys(f).flatMap((name) => (name === "cache" ? cache : [f[name]]));
  const grid = new DataView(Float32Array.from(values).buffer);
  const traits = { axes, tables, grid, start, show: ["step", "front"], key: "one", assumed: { asks: "total" } };
  const set = (name, value) => {
    traits[name] = value;
  };
  return new ex.State({ get: (name) => traits[name], set, save_changes() {} });
}

test("nearest goes by ratio, and to an end when outside", () => {
  assert.equal(ex.nearest([1, 2, 4, 8], 2.9), 2);
  assert.equal(ex.nearest([1, 2, 4, 8], 2.8), 1);
  assert.equal(ex.nearest([1, 2, 4, 8], 1000), 3);
  assert.equal(ex.nearest([1, 2, 4, 8], 0.1), 0);
});

test("a context is a multiple of 1,024 tokens, or written out", () => {
  assert.equal(ex.short(8192), "8K");
  assert.equal(ex.short(131072), "128K");
  assert.equal(ex.short(8000), "8,000");
  assert.equal(ex.short(512), "512");
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
  const grid = ex.openGrid(
    [
      ["a", ["place"], [8]],
      ["b", ["weights", "batch"], [2, 3]],
    ],
    new DataView(bytes.buffer, 1),
  );
  assert.equal(grid.size, 14);
  assert.deepEqual(grid.at({ place: 7, weights: 1, batch: 2 }), { a: 7, b: 8 + 5 });
});

test("the stack overlaps weights and compute and puts the cache on top", () => {
  const one = ex.stack(figures({}));
  assert.deepEqual(
    one.blocks.map((p) => [p.term, p.from]),
    [
      ["weights", 0],
      ["compute", 0],
      ["cache", 0.01],
    ],
  );
  assert.ok(Math.abs(one.total - 0.014) < 1e-12);
  assert.equal(one.longest, "weights");
  assert.equal(ex.stack(figures({ compute: 0.02, matmul: 0.02 })).longest, "compute");
  assert.equal(ex.stack(figures({ cache: 0.03 })).longest, "cache");
});

test("the line names the longest term and only the help that is on offer", () => {
  const cache = say({ cache: 0.03 });
  assert.match(
    cache,
    /^Reading the KV cache takes 75 % of the step\. A shorter context, int8 for the KV cache or more chips would help; a bigger batch would not: throughput is at 30 % of its plateau for this context\.$/,
  );
  assert.match(say({ cache: 0.03 }, { kv: "int8", chips: 4 }), /step\. A shorter context would help;/);
  assert.match(
    say({}),
    /^Reading the weights takes 71 % of the step\. .*up to 64 \(then memory is full\)\. Int8 weights or more chips/,
  );
  assert.match(say({ max_batch: 900 }), /up to 241 \(the critical batch\)/);
  assert.match(say({ max_batch: 4 }), /Memory has no room for a bigger batch/);
  assert.match(say({}, { weights: "int8", chips: 4 }), /full\)\.$/);
  assert.equal(
    say({ compute: 0.02, matmul: 0.02 }),
    "Arithmetic takes 83 % of the step: the batch is beyond the critical 241. A smaller batch or more chips would " +
      "shorten it; smaller weights would not, and a bigger batch only adds latency.",
  );
});

test("what does not fit says what it needs", () => {
  assert.equal(say({ need: 4 }), "Does not fit: needs 4 chips. At this context 64 at most fit on 2 chips.");
  assert.equal(
    say({ need: 4, max_batch: 0 }, { chips: 1 }),
    "Does not fit: needs 4 chips. Not even one sequence of this length fits on one chip.",
  );
  assert.match(
    say({ need: 0, memory: 1e10 }),
    /^This batch fits on no number of these chips\. The weights alone are larger than the memory/,
  );
  assert.equal(ex.fits(figures({ need: 0 }), start), false);
  assert.equal(ex.fits(figures({ need: 2 }), start), true);
});

test("a guess is compared as a ratio", () => {
  const said = (guess) => ex.verdict(guess, figures(), start);
  assert.equal(said(28), "You guessed 28 ms; the step takes 14 ms. Your guess is 2 times too long.");
  assert.equal(said(7), "You guessed 7 ms; the step takes 14 ms. Your guess is 2 times too short.");
  assert.match(said(14.2), /within 5 %/);
  assert.match(ex.verdict(14, figures({ need: 4 }), start), /does not fit/);
});

test("a guess is judged where the question was asked, wherever the explorer has gone since", () => {
  const state = explorer();
  assert.match(state.judge(10), /the step takes 10 ms\. Your guess is within 5 %/);
  state.go({ ...start, batch: 8 });
  assert.equal(state.scene(640).f.cache, Math.fround(0.006));
  assert.match(state.judge(10), /the step takes 10 ms\. Your guess is within 5 %/);
});

test("what is said in numbers: names, values, units", () => {
  assert.deepEqual(ex.stepRows(figures(), start, 2), [
    ["Step time (TPOT)", "14", "ms"],
    ["Per stream", "71.43", "tokens/s"],
    ["Per chip", "90", "tokens/s"],
    ["Cost", "6", "USD per million tokens"],
    ["Room for", "64", "sequences"],
    ["Critical batch", "240.5", "sequences"],
  ]);
  const values = (over, price) => ex.stepRows(figures(over), start, price).map(([, value, unit]) => `${value} ${unit}`);
  assert.equal(values({}, null)[3], "– USD per million tokens");
  assert.deepEqual(
    values({ need: 4 }, 2)
      .slice(0, 4)
      .map((words) => words[0]),
    ["–", "–", "–", "–"],
  );
  assert.equal(values({ max_batch: 1 }, 2)[4], "1 sequence");
});

test("what is said of the prefill", () => {
  const f = figures({ prefill: 0.25, prefill_attention: 0.3, ratio: 1.2345, leaving: 0.0078125 });
  const assumed = { compute: "bf16", params: "exact", mfu: 0.4, decode_tokens: 512 };
  const rows = [
    ["Prefill of 2K (TTFT)", "0.25", "s, at 40 % of peak"],
    ["TTFT with attention", "0.3", "s, at 40 % of peak"],
    ["Prefill to decode", "1.23 : 1", "servers, 512 tokens out"],
    ["Leaving per step", "0.007813", "sequences"],
  ];
  assert.deepEqual(ex.prefillRows(f, start, assumed), rows);
  const without = ex.prefillRows({ ...f, need: 4 }, start, assumed);
  assert.deepEqual(
    without.map(([, value]) => value),
    ["0.25", "0.3", "–", "–"],
  );
});

test("memory is said in GB, of 10^9 bytes", () => {
  assert.equal(ex.memoryLine(figures()), "Memory: 100 GB of weights and 10 GB of cache, of 160 GB");
  assert.equal(ex.memoryUse(figures()), "110 of 160");
});

test("the terms and the place in words", () => {
  assert.deepEqual(ex.termRows(figures()), [
    ["reading the weights", "10", "ms"],
    ["arithmetic", "1", "ms"],
    ["reading the KV cache", "4", "ms"],
  ]);
  const place = "Model m on 2 x Chip A, weights bf16, KV cache bf16, context 2,048, batch 4";
  assert.equal(ex.placeLine(axes, start), place);
});

const batches = [1, 10, 100, 300, 400, 500, 600, 700];
const points = (some) =>
  ex.frontPoints(some, start, (batch) => figures({ cache: batch / 1e4, rate: 10 * batch, need: batch > 300 ? 4 : 2 }));

test("a point of the front is the step and the rate of its batch", () => {
  assert.deepEqual(points([10, 400]), [
    { batch: 10, total: 0.011, rate: 100, fits: true },
    { batch: 400, total: 0.05, rate: 4000, fits: false },
  ]);
});

test("the dots of the front lie at their times and rates, on the axes that are labelled", () => {
  const place = ex.frontScale(points(batches), 9000, 640);
  assert.deepEqual(
    place.points.map(({ batch }) => batch),
    [1, 10, 100, 300, 400, 500, 600],
  );
  const dots = ex.frontDots(place, figures());
  // Two labelled values of an axis say where any other lies.
  const between = ([a, b], at, value) => at(a) + ((at(b) - at(a)) * Math.log(value / a)) / Math.log(b / a);
  for (const [i, { total, rate }] of place.points.entries()) {
    const cx = between(place.timeTicks, (tick) => place.x(tick / 1000), total * 1000);
    const cy = between(place.rateTicks, place.y, rate);
    assert.ok(Math.abs(dots[i].cx - cx) < 1e-6 && Math.abs(dots[i].cy - cy) < 1e-6, `batch ${place.points[i].batch}`);
    assert.ok(dots[i].cx > 50 && dots[i].cx < 624 && dots[i].cy > 30 && dots[i].cy < place.height - 40);
  }
  const kinds = dots.map((dot) => dot.class.replace("sx-point", "").trim());
  assert.deepEqual(kinds, ["", "", "", "sx-beyond", "sx-outside", "sx-outside", "sx-outside"]);
});

test("the front in words", () => {
  const words = ex.frontLine(points(batches), { ...start, batch: 10 }, figures({ cache: 0.001, rate: 100 }));
  assert.match(
    words,
    /^Throughput .* batches 1 to 700; up to 300 fit\. Now: batch 10, 11 ms, 100 tokens\/s per chip\.$/,
  );
  assert.match(ex.frontLine(points([400, 500]), start, figures({ need: 4 })), /400 to 500; none fits\. $/);
});

test("a position that is not stored is asked of the kernel, and its answer counts until the reader goes on", () => {
  const state = explorer();
  state.go({ ...start, batch: 5 });
  assert.equal(state.at.batch, 4);
  assert.equal(state.note, "Without a kernel only stored values show: batch 4 for 5.");
  assert.deepEqual(state.model.get("request"), { ...start, batch: 5, id: 1 });
  state.model.set("exact", { id: 0, at: {}, front: [] });
  assert.equal(state.answered(), false, "an answer to an older question");
  state.model.set("exact", { id: 1, at: figures({ cache: 0.005 }), front: axes.batch.map(() => figures()) });
  assert.equal(state.answered(), true);
  assert.equal(state.at.batch, 5);
  assert.equal(state.scene(640).f.cache, 0.005);
  state.go({ ...start, batch: 8 });
  assert.equal(state.answered(), false, "the reader has gone on");
  assert.equal(state.scene(640).f.cache, Math.fround(0.006));
});

test("the price is the reader's, or else the chip's", () => {
  const state = explorer();
  assert.equal(state.price, 2);
  state.go({ ...start, price: 3.5 });
  assert.equal(state.price, 3.5);
  state.go({ ...start, price: 0 });
  assert.equal(state.price, 0);
  state.go({ ...start, chip: "B", chips: 4 });
  assert.equal(state.price, null);
});

test("a position survives the address, beside anchors and other explorers", () => {
  const hash = ex.encode("#section&ex-other=batch:2", "one", { ...start, batch: 8, price: 2.5 });
  assert.match(
    hash,
    /^#section&ex-other=batch:2&ex-one=chip:A,model:m,chips:2,weights:bf16,kv:bf16,context:2048,batch:8,price:2\.5$/,
  );
  assert.deepEqual(ex.decode(hash, "one", axes, start), { ...start, batch: 8, price: 2.5 });
  assert.equal(ex.encode(hash, "one", start).match(/ex-one/g).length, 1);
  assert.equal(ex.encode("", "one", { ...start, price: null }).includes("price"), false);
  assert.equal(ex.decode("#section", "one", axes, start), null);
  assert.equal(ex.decode("#ex-one-more=batch:8", "one", axes, start), null);
});

test("an address cannot put the explorer into an impossible position", () => {
  const bad =
    "#ex-one=chip:Z,model:<b>,chips:-1,weights:fp0,context:1e999,batch:0,price:-3,__proto__:1,%E0%A4%A:2,batch";
  assert.deepEqual(ex.decode(bad, "one", axes, start), start);
  assert.equal(ex.decode("#ex-one=batch%3A8%2Ckv:int8", "one", axes, start).batch, 8);
});

test("what an address says and nobody understands is said, and the rest is taken", () => {
  const said = ex.unread("#ex-one=chip:A,batch:many,colour:1&ex-two=chip:Z", "one", axes);
  assert.equal(said, "The address says “batch:many”, which is not on offer here; the rest of it was taken.");
  assert.equal(ex.unread("#ex-one=chip:A,batch:3", "one", axes), "");
  assert.ok(ex.unread(`#ex-one=${"x".repeat(5000)}`, "one", axes).length < 200);
});

test("a question may ask for a rate or for the room", () => {
  const said = (asks, guess, over = {}) => ex.verdict(guess, figures(over), start, asks);
  assert.equal(said("rate", 45), "You guessed 45 tokens/s; one chip gives 90 tokens/s. Your guess is 2 times too low.");
  assert.equal(
    said("max_batch", 640),
    "You guessed 640 sequences; there is room for 64 sequences. Your guess is 10 times too large.",
  );
  assert.match(said("rate", 45, { need: 4 }), /does not fit/);
  assert.equal(said("max_batch", 5, { max_batch: 0 }), "You guessed 5 sequences; there is room for 0 sequences.");
});

test("the memory and the three large numbers", () => {
  assert.deepEqual(ex.memoryRows(figures(), start), [
    ["Room for", "64", "sequences"],
    ["Weights", "100", "GB"],
    ["Cache of 4", "10", "GB"],
    ["Fewest chips", "2", "for this batch"],
  ]);
  assert.equal(
    ex.memoryAdvice(figures(), start),
    "The weights take 63 % of the memory, and this batch's cache 6 %. There is room for 64.",
  );
  assert.match(ex.memoryAdvice(figures({ need: 4 }), start), /^Does not fit: needs 4 chips/);
  assert.deepEqual(
    ex.heroRows(figures(), start, 2).map(([, value, unit]) => `${value} ${unit}`),
    ["14 ms", "180 tokens/s", "6 USD"],
  );
  assert.deepEqual(
    ex.heroRows(figures({ need: 4 }), start, 2).map(([, value]) => value),
    ["–", "–", "–"],
  );
});

test("an explorer starts at the reader's hardware, or the nearest that it has, and says so", () => {
  const mine = (some) => ex.atHardware(axes, start, { chip: "A", chips: 2, model: "m", price: null, ...some });
  assert.deepEqual(mine({ chips: 4, price: 3 }).at, { ...start, chips: 4, price: 3 });
  assert.equal(mine({ chips: 4 }).said, "This is your hardware: 4 x Chip A.");
  assert.equal(mine({ chip: "B", chips: 5 }).at.chips, 4);
  assert.equal(mine({ chip: "B", chips: 5 }).said, "This is your hardware: 4 x Chip B, the nearest to your 5.");
  assert.deepEqual(mine({ chip: "Z" }), { at: start, said: "Your hardware, Z, is not among the chips here." });
  const text = { ...axes, chip: ["A_TEXT", "B"] };
  const at = { ...start, chip: "B", chips: 4 };
  const named = ex.atHardware(text, at, { chip: "A", chips: 2, model: "m", price: null });
  assert.equal(named.at.chip, "A_TEXT", "the same chip, with the constants of the text");
  assert.match(mine({ model: "z" }).said, /Your model, z, is not among those here\.$/);
});

test("a stored hardware that is not ours is none", () => {
  const good = '{"chip":"H100","chips":8,"model":"LLAMA3_70B","price":2.5}';
  assert.deepEqual(hardware.parseHardware(good), { chip: "H100", chips: 8, model: "LLAMA3_70B", price: 2.5 });
  assert.equal(hardware.parseHardware(good.replace("2.5", "-1")).price, null);
  const bad = [null, "", "x", "[]", "3", good.replace("8", "0"), good.replace("8", '"8"'), good.replace("H100", "<b>")];
  for (const text of bad) assert.equal(hardware.parseHardware(text), null, String(text));
  assert.ok(hardware.same("TPU_V5E", "TPU v5e") && hardware.same("LLAMA3_70B", "LLaMA 3-70B"));
  assert.ok(!hardware.same("H100", "H200 SXM"));
});

test("scales are round and leave room for their labels", () => {
  assert.deepEqual(ex.scale(13.7), { top: 20, ticks: [0, 5, 10, 15, 20] });
  assert.deepEqual(ex.scale(5).ticks, [0, 1, 2, 3, 4, 5]);
  for (const [low, high] of [
    [10, 45],
    [0.3, 4000],
    [20, 21],
  ]) {
    const ticks = ex.logTicks(low, high, 500, 40);
    assert.ok(
      ticks.every(
        (t, i) => t >= low && t <= high && (!i || (Math.log(t / ticks[i - 1]) / Math.log(high / low)) * 500 >= 40),
      ),
    );
  }
  assert.ok(ex.logTicks(10, 45, 500, 40).length >= 4);
});
