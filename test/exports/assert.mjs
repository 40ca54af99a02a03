// Runs the trajectory assertions of a promptfoo configuration by promptfoo's own functions. Usage: node assert.mjs DIR CONFIG, DIR being where promptfoo
// is installed. Each test is held to a run made of what its assertions ask for, and to one that calls another tool alone. Prints one JSON object
// {"asked": assertions, "met": passed by the first run, "missed": failed by the second, "wrong": [..]}.
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import path from "node:path";

const [dir, file] = process.argv.slice(2);
const { assertions } = (await import(pathToFileURL(path.resolve(dir, "node_modules/promptfoo/dist/src/index.js")).href)).default;

const span = (tool, args, i) => ({
  spanId: `s${i}`, name: `execute_tool ${tool}`, startTime: i, endTime: i + 1,
  attributes: { "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": tool, "gen_ai.tool.call.arguments": JSON.stringify(args) },
});

// A run in which the tools are called that the assertions name, each with arguments that they name.
const asked = (asserts) => {
  const args = asserts.filter((a) => a.type === "trajectory:tool-args-match").map((a) => a.value);
  const sequence = asserts.find((a) => a.type === "trajectory:tool-sequence");
  const used = asserts.filter((a) => a.type === "trajectory:tool-used").flatMap((a) => Array(a.value.min ?? 1).fill(a.value.name));
  const tools = sequence ? sequence.value.steps : used.length ? used : args.map((a) => a.name);
  const left = [...args];
  return tools.map((tool, i) => {
    const at = left.findIndex((a) => a.name === tool);
    return span(tool, at < 0 ? {} : left.splice(at, 1)[0].args, i);
  });
};

const out = { asked: 0, met: 0, missed: 0, wrong: [] };
for (const test of JSON.parse(readFileSync(file, "utf8")).tests) {
  const asserts = test.assert.filter((a) => /^(not-)?trajectory:/.test(a.type) && a.type !== "trajectory:step-count");
  const run = async (assertion, spans) =>
    (await assertions.runAssertion({ assertion, test, providerResponse: { output: "" }, traceId: "t", traceData: { traceId: "t", evaluationId: "e", testCaseId: "c", spans } })).pass;
  for (const a of asserts) {
    out.asked++;
    const [met, other] = [await run(a, asked(asserts.filter((x) => !x.type.startsWith("not-")))), await run(a, [span("another_tool", {}, 0)])];
    if (met) out.met++;
    if (!other) out.missed++;
    if (Object.values(a.value.args ?? {}).some((v) => Object.is(v, -0))) continue; // JSON.stringify makes it 0
    const banned = a.type.startsWith("not-"); // another tool alone keeps it too
    if (!banned && (!met || other)) out.wrong.push({ case: test.description, assertion: a, met, other });
  }
}
console.log(JSON.stringify(out));
process.exit(0);
