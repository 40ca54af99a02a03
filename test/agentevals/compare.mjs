// Judges pairs of runs with the npm package agentevals. Usage: node compare.mjs DIR PAIRS, DIR being where agentevals is installed. A pair is a line
// {"mode","arguments","tools","reference":[[{"tool","arguments"}]],"got":[[...]]}, each inner list being what was asked for in one answer.
// Prints {"holds":[bool],"evaluator_ns","scorer_ns"}: CPU time for each pair, of the public evaluator and of its comparison alone.
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import path from "node:path";

const [dir, file] = process.argv.slice(2);
const load = (p) => import(pathToFileURL(path.resolve(dir, "node_modules/agentevals", p)).href);
const { createTrajectoryMatchEvaluator } = await load("dist/trajectory/match.js");
const scorers = {};
for (const mode of ["strict", "unordered", "subset", "superset"]) scorers[mode] = (await load(`dist/trajectory/${mode}.js`))._scorer;

const messages = (groups) => {
  const out = [{ role: "user", content: "go" }];
  for (const group of groups) {
    out.push({ role: "assistant", content: "", tool_calls: group.map((c, i) => ({ id: `c${i}`, type: "function", function: { name: c.tool, arguments: c.arguments } })) });
    group.forEach((c, i) => out.push({ role: "tool", tool_call_id: `c${i}`, content: "ok" }));
  }
  out.push({ role: "assistant", content: "done" });
  return out;
};

const pairs = readFileSync(file, "utf8").trim().split("\n").map(JSON.parse);
const jobs = pairs.map((p) => ({
  mode: p.mode, args: p.arguments, tools: Object.keys(p.tools).length ? p.tools : undefined,
  outputs: messages(p.got), referenceOutputs: messages(p.reference),
}));
const evaluate = (j) => createTrajectoryMatchEvaluator({ trajectoryMatchMode: j.mode, toolArgsMatchMode: j.args, toolArgsMatchOverrides: j.tools })
  ({ outputs: j.outputs, referenceOutputs: j.referenceOutputs });
const score = (j) => scorers[j.mode]({ outputs: j.outputs, referenceOutputs: j.referenceOutputs, toolArgsMatchMode: j.args, toolArgsMatchOverrides: j.tools });

const timed = async (f) => {
  for (const j of jobs.slice(0, 500)) await f(j); // warm
  const before = process.cpuUsage();
  const results = [];
  for (const j of jobs) results.push(await f(j));
  const { user, system } = process.cpuUsage(before);
  return [results, ((user + system) * 1000) / jobs.length];
};
const [results, evaluator_ns] = await timed(evaluate);
const [, scorer_ns] = await timed(score);
console.log(JSON.stringify({ holds: results.map((r) => r.score === true), evaluator_ns, scorer_ns }));
