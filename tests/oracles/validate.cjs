// Reads {"schema", "values"} and writes for each value whether the schema accepts it. The first argument is the
// folder of the package `ajv`. In strict mode a keyword or format that it does not know is an error, and the schema
// itself is checked against its meta-schema first. The formats are those of Rust's integers.
const Ajv = require(process.argv[2] + "/dist/2020").default;
const { schema, values } = JSON.parse(require("fs").readFileSync(0, "utf8"));
const ajv = new Ajv({ strict: true, strictTypes: false, strictRequired: false, formats: { uint32: true, uint64: true } });
if (!ajv.validateSchema(schema)) {
  console.error(ajv.errorsText());
  process.exit(1);
}
const validate = ajv.compile(schema);
process.stdout.write(JSON.stringify(values.map((value) => validate(value))));
