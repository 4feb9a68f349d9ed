// What is counted, exported, imported and left alone of a reader's progress: node --test tests/pages/js
import assert from "node:assert/strict";
import test from "node:test";
import * as progress from "../../../scaling/course/widgets/progress.js";

const kept = (outcome) => JSON.stringify({ of: 1, answer: "160 KiB", outcome, attempts: 1 });
const entries = {
  "scaling/quiz/02-a": kept("right"),
  "scaling/quiz/02-b": kept("wrong"),
  "scaling/quiz/02-c": "<b>not ours</b>",
  "scaling/code/my_cache": "return 1",
  "scaling/hardware": "{}",
  "scaling/place": "{}",
  "scaling/else": "x",
};
const chapters = [{ page: "02_memory", title: "2. Memory", ids: ["02-a", "02-b", "02-c"] }];

test("right answers are counted, and what is not an answer of ours counts for nothing", () => {
  const count = progress.tally(["02-a", "02-b", "02-c", "02-d"], entries);
  assert.deepEqual(count, { outcomes: ["right", "wrong", "", ""], right: 1, wrong: 1, all: 4 });
  assert.equal(progress.ringWords(count), "1 of 4 answered right");
});

test("what is not ours is known as such", () => {
  assert.deepEqual(progress.strange(entries).sort(), ["scaling/else", "scaling/quiz/02-c"]);
});

test("what is exported comes back, and only that", () => {
  const { entries: back, said } = progress.imported(progress.exported(entries));
  const ours = ["scaling/code/my_cache", "scaling/quiz/02-a", "scaling/quiz/02-b"];
  assert.deepEqual(Object.keys(back).sort(), ours);
  for (const key of ours) assert.equal(back[key], entries[key]);
  assert.equal(said, "3 entries taken.");
});

test("a file that is not ours changes nothing, and strange entries of one that is are left out and counted", () => {
  for (const text of ["", "null", "[]", "<b>", '{"entries":{}}', '{"kind":"x","entries":{"scaling/quiz/a":"{}"}}']) {
    const { entries: none, said } = progress.imported(text);
    assert.deepEqual([none, said], [{}, "This file holds no answers to this course, so nothing was changed."], text);
  }
  const file = JSON.parse(progress.exported(entries));
  Object.assign(file.entries, {
    theme: "dark",
    "scaling/quiz/x": "{}",
    "scaling/code/y": 3,
    "scaling/code/z": "x".repeat(2e5),
  });
  const { entries: good, said } = progress.imported(JSON.stringify(file));
  assert.equal(Object.keys(good).length, 3);
  assert.equal(said, "3 entries taken. Left out: 4 that are not ours.");
});

test("a place is a chapter of today, or none", () => {
  const at = (some) => progress.place(JSON.stringify(some), chapters);
  assert.deepEqual(at({ page: "02_memory", at: "recap" }), { href: "02_memory.html#recap", title: "2. Memory" });
  assert.equal(at({ page: "02_memory", at: "<b>" }).href, "02_memory.html");
  for (const nonsense of [{ page: "99_gone" }, { page: "//evil" }, 3, null]) assert.equal(at(nonsense), null);
  assert.equal(progress.place("not JSON", chapters), null);
});
