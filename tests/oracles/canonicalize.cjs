// Reads JSON values, one a line, and writes each in the form of RFC 8785. The first argument is the package's folder.
const canonicalize = require(process.argv[2]);
const lines = require("fs").readFileSync(0, "utf8").split("\n").filter((line) => line !== "");
process.stdout.write(lines.map((line) => canonicalize(JSON.parse(line)) + "\n").join(""));
