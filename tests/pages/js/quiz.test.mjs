// The quiz grader under Node's own runner: node --test tests/pages/js
import assert from "node:assert/strict";
import test from "node:test";
import { grade, parseNumber, parseQuantity } from "../../../scaling/course/widgets/grading.js";
import { fingerprint, progressLine } from "../../../scaling/course/widgets/quiz.js";

const close = (a, b) => Math.abs(a - b) <= 1e-9 * Math.abs(b);
const numeric = (over) => ({
  id: "00-n",
  kind: "numeric",
  prompt: "?",
  hints: ["a", "b", "c"],
  solution: "s",
  unit: "kB",
  answer: 163840,
  rtol: 0.02,
  right: "Two tensors for each of 80 layers.",
  traps: [],
  sharper: [],
  ...over,
});
const traps = [
  { value: 81920, feedback: "Only the keys are in there." },
  { value: 1310720, feedback: "These are the query heads." },
];
const option = (text, correct = false) => ({ text, correct, feedback: `about ${text}` });
const choice = (kind, ...options) => ({ id: "00-c", kind, prompt: "?", hints: [], solution: "s", options });
const order = {
  id: "00-o",
  kind: "ordering",
  prompt: "?",
  hints: [],
  solution: "s",
  items: ["a", "b", "c"],
  right: "yes, a b c",
  other: "another",
  traps: [{ order: ["c", "b", "a"], feedback: "backwards" }],
};

test("numbers as people write them", () => {
  // biome-ignore format: a table
  const spellings = {
    "163840": 163840, "163,840": 163840, "1,234,567": 1234567, "1,234.5": 1234.5, "1.234,5": 1234.5, "1.234.567": 1234567,
    "163 840": 163840, "163\u00a0840": 163840, "163\u2009840": 163840, "163\u202f840": 163840, "163'840": 163840, "163’840": 163840,
    "163_840": 163840, "1_000": 1000, "１６３８４０": 163840, "１６３，８４０": 163840, "１．５": 1.5,
    "1.6e5": 1.6e5, "1.6E+5": 1.6e5, "5.2e-3": 5.2e-3, "5.2×10^3": 5200, "5.2 x 10^3": 5200, "5.2*10**3": 5200, "5.2·10³": 5200,
    "5.2 × 10⁻³": 5.2e-3, "10^3": 1000, "10³": 1000, "2^30": 2 ** 30, "80 × 2^30": 80 * 2 ** 30, "1/8": 0.125, "2 * 3 * 4": 24,
    "0,164": 0.164, "1,6": 1.6, "1234,567": 1234.567, ".5": 0.5, "5.": 5, "-5": -5, "−5": -5, "+5": 5, " 5 ": 5, "~5": 5, "≈ 5": 5, "about 5": 5,
    "007": 7, "0": 0,
  };
  for (const [text, value] of Object.entries(spellings)) {
    const read = parseNumber(text);
    assert.ok(
      Math.abs(read.value - value) <= 1e-12 * Math.abs(value) && read.rest === "",
      `${text}: ${JSON.stringify(read)}`,
    );
  }
  for (const text of ["1,234", "163,840"]) assert.equal(parseNumber(text).doubt, text);
  for (const text of ["1,6", "1,234.5", "1,234,567", "0,164"]) assert.equal(parseNumber(text).doubt, "");
});

test("what is not a number is told, in a sentence", () => {
  // biome-ignore format: a table
  const refused = [
    "", " ", "abc", "e5", "--5", "1e999", "10^9999", "1/0", "1,23,4", "1.2.3", "12 34", "1,2,3", "1, 2", "NaN", "Infinity", "-", ".", ",",
    "null", "<b>5</b>", "<img src=x onerror=alert(1)>", "1".repeat(10_000), `${"9".repeat(100)}e400`, "\u0000", "{}", "五", "½",
  ];
  for (const text of refused) {
    const { outcome, say } = grade(numeric(), text);
    assert.equal(outcome, "", text.slice(0, 40));
    assert.match(say, /^\S.{10,200}[.)]$/s, text.slice(0, 40));
  }
  for (const value of [null, undefined, 5, {}, [], true]) assert.equal(grade(numeric(), value).outcome, "");
});

test("units, with prefixes and quotients", () => {
  // biome-ignore format: a table
  const same = [
    ["163840 B", "kB", 163840], ["160 KiB", "kB", 163840], ["0.16384 MB", "kB", 163840], ["163.84kB", "kB", 163840], ["163.84 KB", "kB", 163840],
    ["163.84 kilobytes", "kB", 163840], ["163840 bytes", "kB", 163840], ["1 byte", "kB", 1], ["5 gb", "GB", 5e9], ["5 GB", "GB", 5e9],
    ["5 gib", "GB", 5 * 2 ** 30], ["5 GiB", "GB", 5 * 2 ** 30], ["5 gibibytes", "GB", 5 * 2 ** 30], ["5 megabytes", "GB", 5e6], ["5 TB", "GB", 5e12], ["5 TiB", "GB", 5 * 2 ** 40],
    ["160 KiB/token", "KiB", 163840], ["160 KiB per token", "KiB", 163840],
    ["5.2 ms", "ms", 5.2e-3], ["5200 us", "ms", 5.2e-3], ["5200 µs", "ms", 5.2e-3], ["5200 μs", "ms", 5.2e-3], ["5.2 MS", "ms", 5.2e-3],
    ["5.2 milliseconds", "ms", 5.2e-3], ["5 ns", "ms", 5e-9], ["0.0052 s", "ms", 5.2e-3], ["2 min", "s", 120], ["2 minutes", "s", 120], ["2 h", "s", 7200], ["1 day", "h", 86400],
    ["3.35 TB/s", "TB/s", 3.35e12], ["3350 GB per second", "TB/s", 3.35e12], ["3350 GBps", "TB/s", 3.35e12], ["3.35 TB / s", "TB/s", 3.35e12],
    ["989 TFLOP/s", "FLOP/s", 989e12], ["989 TFLOPS", "FLOP/s", 989e12], ["989 TFLOPs/s", "FLOP/s", 989e12], ["989 teraflops", "FLOP/s", 989e12], ["1.4 TFLOPs", "GFLOP", 1.4e12],
    ["$2.5/h", "USD/h", 2.5 / 3600], ["2.5 USD/h", "USD/h", 2.5 / 3600], ["2.5 $ per hour", "USD/h", 2.5 / 3600], ["250 cents/h", "USD/h", 2.5 / 3600],
    ["0.4 USD per million tokens", "USD/million tokens", 4e-7], ["$0.4 per 1M tokens", "USD/million tokens", 4e-7], ["0.4 USD / 1,000,000 tokens", "USD/million tokens", 4e-7],
    ["4e17 FLOP/USD", "FLOP/USD", 4e17], ["295 FLOP/B", "FLOP/B", 295], ["295 FLOPs per byte", "FLOP/B", 295],
    ["16", "chips", 16], ["16 chips", "chips", 16], ["16 GPUs", "chips", 16], ["8-way", "ways", 8], ["8 ways", "ways", 8], ["1 way", "ways", 1], ["1,024 tokens", "tokens", 1024],
    ["1.2 million tokens", "tokens", 1.2e6], ["1 M tokens", "tokens", 1e6], ["40 seqs", "sequences", 40], ["3 queries", "query", 3], ["3", "", 3], ["3x", "", 3], ["3 times", "", 3], ["3 ×", "", 3],
    ["78 %", "%", 0.78], ["78%", "", 0.78], ["78 percent", "%", 0.78], ["78 per cent", "%", 0.78], ["７８％", "%", 0.78], ["500 tokens/s", "tokens/s", 500], ["0.5 tokens/ms", "tokens/s", 500], ["500 /s", "tokens/s", 500],
    ["7 images", "images", 7], ["7 image", "images", 7],
    ["96 tokens/step", "tokens", 96], ["96 tokens per step", "tokens", 96], ["96 tokens", "tokens per step", 96], ["96", "tokens per step", 96],
    ["1 per 128 steps", "sequences per step", 1 / 128], ["1/128 sequences/step", "sequences per step", 1 / 128],
    ["500 tokens/s", "tokens/s per card", 500], ["500 tokens/s/GPU", "tokens/s per card", 500],
  ];
  for (const [text, asked, value] of same) {
    const read = parseQuantity(text, asked);
    assert.ok(
      read.values?.some((v) => close(v, value)),
      `${text} as ${asked}: ${JSON.stringify(read)}`,
    );
  }
});

test("a number without a unit is in the unit asked, which is said when it is wrong", () => {
  assert.equal(grade(numeric(), "163.84").outcome, "right");
  assert.deepEqual(grade(numeric({ traps }), "81.92"), { outcome: "wrong", say: traps[0].feedback });
  assert.match(grade(numeric(), "163,840").say, /\(I read “163,840” as 163840; decimals take a point\.\)$/);
  assert.match(grade(numeric(), "163840.0").say, /too large.*\(I took it to be in kB\.\)$/);
  assert.equal(grade(numeric({ unit: "tokens/s", answer: 500 }), "500").outcome, "right");
});

test("what a dollar buys may be said without the dollar, and what was typed is what is quoted", () => {
  const q = numeric({ unit: "FLOP/USD", answer: 5.91e17 });
  for (const text of ["5.91e17 FLOP", "5.91e17 FLOP/USD", "591,000 TFLOP", "5.91e17"]) {
    assert.equal(grade(q, text).outcome, "right", text);
  }
  for (const text of ["5.91e17 FLOP/s", "5.91e17 B"]) assert.equal(grade(q, text).outcome, "", text);
  assert.match(grade(numeric({ unit: "USD/h", answer: 6 / 3600 }), "$6").say, /^“\$6” is a sum of money;/);
});

test("a whole number of things is exact, and the advice is to round", () => {
  const q = numeric({
    unit: "GPUs",
    answer: 280,
    rtol: 0,
    traps: [{ value: 278, feedback: "these are no whole servers" }],
  });
  assert.equal(grade(q, "280").outcome, "right");
  for (const text of ["280.4", "279.5"]) assert.match(grade(q, text).say, /no whole number, and GPUs come whole/);
  for (const text of ["278", "277.6"]) assert.equal(grade(q, text).say, "these are no whole servers");
  assert.match(grade(q, "281").say, /too many: in whole GPUs only one number is right/);
  assert.match(grade(q, "277").say, /too few/);
});

test("an answer that counts more than was asked is right, with its sentence", () => {
  const q = numeric({ unit: "ms", answer: 5.224e-3, sharper: [{ value: 5.265e-3, feedback: "You took all." }] });
  assert.deepEqual(grade(q, "5.265 ms"), { outcome: "right", say: "And sharper than was asked. You took all." });
  assert.match(grade(q, "5.24 ms").say, /^Within rounding/);
  const whole = numeric({ unit: "cards", answer: 43, rtol: 0, sharper: [{ value: 42, feedback: "You took all." }] });
  assert.equal(grade(whole, "42").outcome, "right");
  for (const text of ["41", "42.4", "42.9"]) assert.equal(grade(whole, text).outcome, "wrong", text);
});

test("a unit that is unknown or of another kind is told", () => {
  // biome-ignore format: a table
  const told = [
    ["5 apples", "kB", /I don't know the unit “apples”\. This question asks for kB/], ["5 B/apple", "B/s", /“apple”/],
    ["5 Gb", "GB", /bits.*bytes/], ["5 gbit", "GB", /bits/], ["5 bits", "GB", /bits/], ["5 b", "GB", /bits/], ["5 Gbps", "GB/s", /bits/], ["5 Kib", "KiB", /bits/],
    ["5 mb", "GB", /milli.*MB/], ["5 mB", "GB", /milli/], ["8K", "tokens", /1000 or 1024/], ["8k tokens", "tokens", /1000 or 1024/],
    ["5 GB", "ms", /an amount of data.*asks for ms/], ["5 ms", "GB", /a time/], ["5 GB/s", "GB", /a bandwidth/], ["5 GB", "GB/s", /an amount of data/],
    ["5 TFLOP", "GB", /a number of operations/], ["5 %", "ms", /a plain number/], ["5 USD", "USD/h", /a sum of money/], ["5 /s", "s", /a rate/], ["5 s*s*B", "s", /another kind/],
    ["5 chips", "tokens", /a count of something else/], ["5 tokens/s/chip", "tokens/s", /count of something else/], ["5 queries/s", "tokens/s", /count of something else/],
    ["128 steps", "sequences per step", /a count of something else/], ["5 chips per step", "tokens", /a count of something else/],
    ["0.78 %", "sequences", /a share, not a count.*asks for sequences\./], ["0.78 % of the sequences", "sequences per step", /a share, not a count/],
    ["０．７８％", "sequences per step", /a share, not a count/], ["78 percent", "chips", /a share, not a count/], ["78 per cent", "chips", /a share, not a count/],
    ["5 ms 3 us", "ms", /more than one number/], ["1 h 30 min", "s", /more than one number/], ["5 <b>ms</b>", "ms", /“<b>ms<”|don't know/],
    ["5 constructor", "tokens", /don't know/], ["5 __proto__", "tokens", /don't know/], ["5 toString", "ms", /don't know/],
    [`5 ${"x".repeat(90)}`, "ms", /don't know the unit “x{30}…”/], ["$", "USD", /Type a number|can't read/],
  ];
  for (const [text, asked, pattern] of told) {
    const verdict = grade(numeric({ unit: asked }), text);
    assert.equal(verdict.outcome, "", text);
    assert.match(verdict.say, pattern, text);
  }
});

test("numeric: right, within rounding, at the edge of the tolerance", () => {
  const q = numeric();
  for (const text of ["163,840 B", "160 KiB", "0.16384 MB", "163.84 kB", "163840.00001 B"]) {
    assert.deepEqual(grade(q, text), { outcome: "right", say: q.right });
  }
  assert.deepEqual(grade(q, "0.164 MB"), {
    outcome: "right",
    say: `Within rounding: it is 163.84 kB, more exactly. ${q.right}`,
  });
  assert.equal(grade(q, `${163840 * 1.0199} B`).outcome, "right");
  assert.equal(grade(q, `${163840 * 1.0201} B`).outcome, "wrong");
  assert.equal(grade(q, `${163840 * 0.9801} B`).outcome, "right");
  assert.equal(grade(q, `${163840 * 0.9799} B`).outcome, "wrong");
  const exact = numeric({ answer: 43, unit: "sequences", rtol: 0 });
  assert.equal(grade(exact, "43").outcome, "right");
  assert.equal(grade(exact, "43.0 sequences").outcome, "right");
  assert.equal(grade(exact, "43.001").outcome, "wrong");
  assert.equal(grade(numeric({ answer: 0.1 + 0.2, unit: "", rtol: 0 }), "0.3").outcome, "right");
  assert.match(grade(numeric({ answer: 64 / 3, unit: "" }), "21.3").say, /it is 21\.3333, more exactly/);
  assert.equal(grade(numeric({ answer: -4, unit: "" }), "-4").outcome, "right");
});

test("numeric: a lone comma that may be either is read as thousands, and said when the answer is wrong", () => {
  assert.equal(grade(numeric(), "163,840 B").outcome, "right");
  assert.match(grade(numeric(), "500,000 B").say, /\(I read “500,000” as 500000; decimals take a point\.\)$/);
  assert.doesNotMatch(grade(numeric(), "5,5 MB").say, /I read/);
});

test("numeric: the exact value has all the digits of a whole number", () => {
  const q = numeric({ answer: 5368709120, unit: "B" });
  assert.match(grade(q, "5.37 GB").say, /it is 5,368,709,120 B, more exactly/);
  assert.match(grade({ ...q, unit: "GB" }, "5.4e9 B").say, /it is 5\.36871 GB, more exactly/);
  assert.equal(grade(q, "5 GiB").say, q.right);
});

test("numeric: percentages may come as a share or as a percentage", () => {
  const q = numeric({ answer: 0.78, unit: "%" });
  for (const text of ["78 %", "78", "0.78", "78.0%"]) assert.equal(grade(q, text).outcome, "right", text);
  assert.equal(grade(q, "0.78 %").outcome, "wrong");
  assert.match(grade(q, "78.5 %").say, /it is 78 %, more exactly/);
});

test("numeric: the nearest trap speaks, and the key goes first", () => {
  const q = numeric({ traps });
  assert.deepEqual(grade(q, "81.92 kB"), { outcome: "wrong", say: traps[0].feedback });
  assert.deepEqual(grade(q, "80 KiB"), { outcome: "wrong", say: traps[0].feedback });
  assert.deepEqual(grade(q, "1.31 MB"), { outcome: "wrong", say: traps[1].feedback });
  assert.equal(grade(q, "81,920 B").say, traps[0].feedback);
  const near = numeric({ rtol: 0.02, traps: [{ value: 163840 * 1.03, feedback: "too many" }] });
  assert.equal(grade(near, `${163840 * 1.015} B`).outcome, "right");
  const exact = numeric({
    answer: 43,
    unit: "sequences",
    rtol: 0,
    traps: [
      { value: 43.9, feedback: "rounded up" },
      { value: 5.333333, feedback: "per chip" },
    ],
  });
  assert.equal(grade(exact, "5.33").say, "per chip");
  assert.equal(grade(exact, "43.9").say, "rounded up");
  assert.match(
    grade({ ...exact, traps: [{ value: 43.2, feedback: "a little more" }] }, "43.05").say,
    /no whole number/,
  );
});

test("numeric: any other wrong number is placed vaguely and never given away", () => {
  const q = numeric({ traps });
  // biome-ignore format: a table
  const says = {
    "500 kB": /about 3.1 times too large/, "54 kB": /about 3 times too small/, "2.62 MB": /16 times too large: 4 factors of 2/, "328 kB": /2 times too large: one factor of 2/, "3.4 MB": /about 21 times/, "170 kB": /close, a little too large/, "155 kB": /close, a little too small/,
    "200 kB": /too large, by less than a factor of two/, "163 GB": /more than ten thousand times too large/, "0.1 B": /more than ten thousand times too small/,
    "0 kB": /not zero/, "-163 kB": /sign/,
  };
  for (const [text, pattern] of Object.entries(says)) {
    const { outcome, say } = grade(q, text);
    assert.equal(outcome, "wrong", text);
    assert.match(say, pattern);
    assert.match(say, /hint/);
    assert.doesNotMatch(say, /163|160/);
  }
});

test("single", () => {
  const q = choice("single", option("a"), option("b", true), option("c"));
  assert.deepEqual(grade(q, 0), { outcome: "wrong", say: "about a", at: [0] });
  assert.deepEqual(grade(q, 1), { outcome: "right", say: "about b" });
  for (const answer of [null, undefined, "1", 3, -1, 1.5, [1], {}, NaN, "<b>"]) {
    assert.deepEqual(grade(q, answer), { outcome: "", say: "Choose one of these first." });
  }
});

test("multiple: a wrong choice first, then how many are missing, not which", () => {
  const q = choice("multiple", option("a", true), option("b"), option("c", true), option("d"));
  assert.deepEqual(grade(q, [0, 2]), { outcome: "right", say: "about a about c" });
  assert.deepEqual(grade(q, [2, 0, 0]), { outcome: "right", say: "about a about c" });
  assert.deepEqual(grade(q, [3, 1]), { outcome: "wrong", say: "about b", at: [1] });
  assert.deepEqual(grade(q, [0, 2, 3]), { outcome: "wrong", say: "about d", at: [3] });
  assert.equal(grade(q, [0]).outcome, "wrong");
  assert.equal(grade(q, [0]).say, "What you chose belongs here, and 1 more does.");
  const three = choice("multiple", option("a", true), option("b"), option("c", true), option("d", true));
  assert.equal(grade(three, [2]).say, "What you chose belongs here, and 2 more do.");
  for (const answer of [null, [], [9], ["0"], "0", 0, [null], {}])
    assert.equal(grade(q, answer).outcome, "", JSON.stringify(answer));
});

test("ordering", () => {
  assert.deepEqual(grade(order, ["a", "b", "c"]), { outcome: "right", say: "yes, a b c" });
  assert.deepEqual(grade(order, ["c", "b", "a"]), { outcome: "wrong", say: "backwards" });
  assert.deepEqual(grade(order, ["b", "a", "c"]), {
    outcome: "wrong",
    say: "All but two are in their places. another",
  });
  assert.deepEqual(grade(order, ["b", "c", "a"]), { outcome: "wrong", say: "another" });
  for (const answer of [null, [], ["a"], ["a", "b", "d"], ["a", "a", "b"], "abc", { length: 3 }, [1, 2, 3]]) {
    assert.equal(grade(order, answer).outcome, "", JSON.stringify(answer));
  }
});

test("whatever the answer is made of, it is graded or told, never thrown at", () => {
  const hostile = {
    toString() {
      throw new Error("no");
    },
  };
  const odd = [Symbol("x"), Object.create(null), hostile, 1n, NaN, new Array(3), () => 1, "__proto__", [[0]]];
  const questions = [
    numeric(),
    choice("single", option("a", true), option("b")),
    choice("multiple", option("a", true), option("b")),
    order,
  ];
  for (const question of questions) {
    for (const answer of odd.flatMap((value) => [value, [value], [value, "a", "b"], [value, value, value]])) {
      assert.equal(grade(question, answer).outcome, "", question.kind);
    }
  }
});

test("random text at any unit: one of three outcomes and a sentence", () => {
  // biome-ignore format: a table
  const pieces = [
    ..."0123456789.,_'+-eE xX×*/^% ()$<>&\"`~≈", "GB", "KiB", "kB", "ms", " s", " per ", "tokens", "bits", "million", "1e5", "1e-400", "0x10", "NaN", "Infinity",
    "\u200b", "\u200f", "\u202e", "\u0660", "\u0967", "１", "，", "．", "％", "⁵", "⁻", "½", "五", "∞", "constructor", "__proto__", "valueOf", "\u0000", "\ud800", "🍎", "\n", "µ",
  ];
  const units = ["GB", "ms", "GB/s", "tokens/s per card", "FLOP/USD", "USD/h", "", "%", "sequences per step", "FLOP/B"];
  let seed = 7;
  const below = (n) => {
    seed = (seed * 48271) % 2147483647;
    return seed % n;
  };
  for (let i = 0; i < 3000; i++) {
    const text =
      (below(2) ? `${below(1e6) / 1000} ` : "") +
      Array.from({ length: 1 + below(10) }, () => pieces[below(pieces.length)]).join("");
    const { outcome, say } = grade(numeric({ unit: units[below(units.length)] }), text);
    assert.ok(["", "wrong", "right"].includes(outcome), text);
    assert.match(say, /^\S.{10,300}[.)]$/s, JSON.stringify(text));
  }
});

test("grading changes neither the question nor the answer", () => {
  const freeze = (value) => {
    if (typeof value === "object" && value) for (const part of Object.values(value)) freeze(part);
    return Object.freeze(value);
  };
  const [n, m, o] = [
    freeze(numeric({ traps })),
    freeze(choice("multiple", option("a", true), option("b"))),
    freeze(order),
  ];
  const [chosen, items] = [Object.freeze([1, 0]), Object.freeze(["c", "b", "a"])];
  grade(n, "5 kB");
  grade(m, chosen);
  grade(o, items);
});

test("a question that is changed is another one, its texts as well as its key", () => {
  const [n, c] = [numeric(), choice("single", option("a", true), option("b"))];
  const changed = [numeric({ answer: 163841 }), numeric({ unit: "B" }), numeric({ prompt: "!" }), c];
  changed.push(choice("single", option("a"), option("b")), choice("single", option("a", true), option("c")), order);
  const marks = [n, ...changed].map(fingerprint);
  assert.equal(new Set(marks).size, marks.length);
  assert.equal(fingerprint(numeric({ hints: [], solution: "other", right: "yes" })), fingerprint(n));
});

test("progress is said in words", () => {
  assert.equal(progressLine(["right", "", "right"]), "2 of 3 answered right.");
  assert.equal(progressLine(["right", "wrong", "wrong"]), "1 of 3 answered right, 2 not yet.");
});
