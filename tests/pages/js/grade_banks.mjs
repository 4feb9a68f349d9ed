// Reads [{question, answer}, ...] as JSON from standard input and prints the grader's verdicts, in the same order, as JSON.
// An answer {base: x} stands for the number x of base units, typed in the question's own unit; {base: x, bare: true} for
// the same without the unit's name.
import { text } from "node:stream/consumers";
import { grade, parseQuantity } from "../../../scaling/course/widgets/grading.js";

const typed = ({ base, bare }, unit) => `${base / parseQuantity(`1 ${unit}`, unit).values[0]} ${bare ? "" : unit}`;
const tasks = JSON.parse(await text(process.stdin));
const verdicts = tasks.map(({ question, answer }) =>
  grade(question, answer?.base === undefined ? answer : typed(answer, question.unit)),
);
console.log(JSON.stringify(verdicts));
