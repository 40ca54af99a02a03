// Evaluates lines of `pawl export --to agentevals`, each with a run, by the npm package agentevals. Usage: node evaluate.mjs DIR FILE, DIR being where
// agentevals is installed. FILE holds lines {"line": the exported line, "outputs": messages}; prints a JSON list of true and false.
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import path from "node:path";

const [dir, file] = process.argv.slice(2);
const { createTrajectoryMatchEvaluator } = await import(pathToFileURL(path.resolve(dir, "node_modules/agentevals/dist/trajectory/match.js")).href);

const scores = [];
for (const text of readFileSync(file, "utf8").trim().split("\n")) {
  const { line, outputs } = JSON.parse(text);
  const { trajectoryMatchMode, toolArgsMatchMode, toolArgsMatchOverrides, referenceOutputs } = line;
  const evaluate = createTrajectoryMatchEvaluator({ trajectoryMatchMode, toolArgsMatchMode, toolArgsMatchOverrides });
  scores.push((await evaluate({ outputs, referenceOutputs })).score);
}
console.log(JSON.stringify(scores));
