// What the sweep says and where it starts, under Node's own runner: node --test tests/pages/js
import assert from "node:assert/strict";
import test from "node:test";
import * as sweep from "../../../scaling/course/widgets/sweep.js";

const sliders = [
  ["Chip", "", ["H100 SXM", "MI300X"]],
  ["Chips", "", [1, 2, 4, 8]],
  ["Batch", "sequences", [1, 64]],
];

test("a sweep starts at the reader's hardware where a slider is about it, and at the nearest number of chips", () => {
  const mine = { chip: "MI300X", chips: 6, model: "LLAMA3_70B", price: null };
  assert.deepEqual(sweep.startFor(sliders, [0, 0, 1], mine), [1, 3, 1]);
  assert.deepEqual(sweep.startFor([["Ways", "", [1, 2, 8]]], [0], mine), [2]);
  assert.deepEqual(sweep.startFor(sliders, [0, 0, 1], { ...mine, chip: "TPU_V5E", chips: 1 }), [0, 0, 1]);
});

test("a guess is compared with the first outcome", () => {
  const said = sweep.verdict(20, 10, ["sending", "us"]);
  assert.equal(said, "You guessed 20; sending is 10 us. Your guess is 2 times too large.");
});

test("outcomes of a position lie together, the last slider fastest", () => {
  const values = Float32Array.from({ length: 16 }, (_, i) => i);
  assert.deepEqual(sweep.lookup(values, [2, 4], 2, [1, 2]), [12, 13]);
});
