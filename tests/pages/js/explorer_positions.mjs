// Reads an explorer's saved state as JSON from standard input and prints, as float32, what the page shows at every
// position of it: the step time, its longest term, whether it fits, and the figures that the state asks for by name.
import { text } from "node:stream/consumers";
import * as ex from "../../../scaling/course/widgets/figures.js";

const { axes, tables, grid, names } = JSON.parse(await text(process.stdin));
const bytes = Buffer.from(grid, "base64");
const { at, size } = ex.openGrid(tables, new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength));
if (size * 4 !== bytes.byteLength) throw new Error(`the tables hold ${size} values, the grid ${bytes.byteLength / 4}`);

const out = [];
const lists = (position) =>
  ["chip", "model", "chips", "weights", "kv", "context", "batch"].filter((name) => !(name in position));
(function walk(position) {
  const [name] = lists(position);
  if (name) {
    const values = name === "chips" ? ex.choices(axes, position).chips : axes[name];
    for (const value of values) walk({ ...position, [name]: value });
    return;
  }
  const f = at(ex.indices(axes, ex.snap(axes, position)));
  const { total, longest } = ex.stack(f);
  const place = Object.keys(ex.TERMS).indexOf(longest);
  out.push(total, place, Number(ex.fits(f, position)), ...names.map((figure) => f[figure]));
})({});
process.stdout.write(Buffer.from(Float32Array.from(out).buffer));
