// What the front ends share, under Node's own runner: node --test tests/pages/js
import assert from "node:assert/strict";
import test from "node:test";
import { atRest, floats, howFar, number, onEnter } from "../../../scaling/course/widgets/dom.js";

test("numbers have four digits, and thousands are separated", () => {
  const cases = [
    [13.7381, "13.74"],
    [0.57041, "0.5704"],
    [1058.6, "1,059"],
    [123456.7, "123,457"],
    [64, "64"],
    [0, "0"],
    [Number.NaN, "–"],
    [Infinity, "∞"],
  ];
  for (const [value, words] of cases) assert.equal(number(value), words);
  assert.equal(number(1234.5, 3), "1,235");
  assert.equal(number(1.2345, 3), "1.23");
});

test("a guess is off by a ratio, to one side or the other", () => {
  assert.equal(howFar(20, 10, "long", "short"), "2 times too long");
  assert.equal(howFar(4, 10, "long", "short"), "2.5 times too short");
  assert.equal(howFar(10.4, 10, "long", "short"), "within 5 %");
  assert.equal(howFar(9.6, 10, "long", "short"), "within 5 %");
});

test("a view that does not begin where a number may is read all the same", () => {
  const bytes = new Uint8Array(9);
  bytes.set(new Uint8Array(Float32Array.of(1.5, -2).buffer), 1);
  assert.deepEqual([...floats(new DataView(bytes.buffer, 1))], [1.5, -2]);
});

test("Enter counts, unless it ends a word that is being composed", () => {
  const heard = [];
  const press = (event) => onEnter({ preventDefault: () => heard.push("kept"), ...event }, () => heard.push(event.key));
  press({ key: "Enter" });
  press({ key: "Enter", isComposing: true });
  press({ key: "a" });
  assert.deepEqual(heard, ["kept", "Enter"]);
});

test("what waits is done once, when the handles rest, at once when asked, and never after the end", async () => {
  const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
  let done = 0;
  const rest = atRest(() => done++);
  for (let i = 0; i < 3; i++) {
    rest.moved();
    await pause(150);
  }
  assert.equal(done, 0);
  await pause(400);
  assert.equal(done, 1);
  rest.moved();
  rest.now();
  assert.equal(done, 2);
  rest.moved();
  rest.stop();
  await pause(500);
  assert.equal(done, 2);
});
