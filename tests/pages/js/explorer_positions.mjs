// Reads an explorer's saved state as JSON from standard input and prints, as float32, what the page shows at every
// position of it: the step time, whether it fits, and the figures that the state asks for by name.
import { readFile } from "node:fs/promises";
import { text } from "node:stream/consumers";

const source = await readFile(new URL("../../../scaling/course/widgets/explorer.js", import.meta.url));
const ex = await import(`data:text/javascript;base64,${source.toString("base64")}`);
const { axes, tables, grid, names } = JSON.parse(await text(process.stdin));
const bytes = Buffer.from(grid, "base64");
const { at, size } = ex.openGrid(tables, new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength));
if (size * 4 !== bytes.byteLength) throw new Error(`the tables hold ${size} values, the grid ${bytes.byteLength / 4}`);

const out = [];
const lists = (position) => ["chip", "model", "chips", "weights", "kv", "context", "batch"].filter((name) => !(name in position));
(function walk(position) {
  const [name] = lists(position);
  if (name) {
    const values = name in axes ? axes[name] : ex.choices(axes, position)[name];
    for (const value of values) walk({ ...position, [name]: value });
    return;
  }
  const f = at(ex.indices(axes, ex.snap(axes, position)));
  out.push(ex.stack(f).total, Number(ex.fits(f, position)), ...names.map((figure) => f[figure]));
})({});
process.stdout.write(Buffer.from(Float32Array.from(out).buffer));
