// Holds what was said between the bot, the twin and the webhooks' receivers against GitHub's published OpenAPI
// description. Nothing here knows what the twin does: operations, parameters, bodies, statuses and webhooks are the
// description's, and bodies are checked by JSON Schema with ajv. (graphql.cjs does the same for GraphQL.)
//
//   node description.cjs FOLDER DEVIATIONS [--partial]
//
// FOLDER is where the twin has kept its exchanges (PHASEGATE_EXCHANGES), DEVIATIONS the list of what differs on purpose.
// Each violation is held against that list by itself. Each entry must still be needed, and there must be exchanges, webhooks
// and GraphQL queries, unless they are only a part (--partial). The environment says where
// the oracles are, as tests/support/oracles.sh does.
"use strict";
const fs = require("fs");
const path = require("path");
const [folder, deviationsFile, partial] = process.argv.slice(2);
const oracle = (name) => {
  if (process.env[name]) return process.env[name];
  throw new Error(`${name} is not set: run tests/run.sh, which fetches what is compared with`);
};
const Ajv = require(oracle("PHASEGATE_AJV")).default;
const description = JSON.parse(fs.readFileSync(oracle("PHASEGATE_OPENAPI"), "utf8"));
const graphql = require("./graphql.cjs")(oracle("PHASEGATE_GRAPHQL"), oracle("PHASEGATE_GRAPHQL_SCHEMA"));

// --- OpenAPI 3.0 to JSON Schema

/** `nullable` is no word of JSON Schema, and without `type` validators skip it silently. */
function rewrite(schema) {
  if (Array.isArray(schema)) return schema.map(rewrite);
  if (schema === null || typeof schema !== "object") return schema;
  const out = {};
  for (const [key, value] of Object.entries(schema)) {
    if (key === "nullable" || key === "example" || key === "examples" || key === "discriminator") continue;
    if (key === "properties") {
      out.properties = Object.fromEntries(Object.entries(value).map(([name, one]) => [name, rewrite(one)]));
    } else if (key === "enum" || key === "required" || key === "default") {
      out[key] = value;
    } else {
      out[key] = rewrite(value);
    }
  }
  // A link that is "" where there is none: the description has it as the default, and then no link fits.
  if (schema.default === "") delete out.format;
  if (schema.nullable !== true) return out;
  return { anyOf: [{ type: "null" }, out] };
}

const components = Object.fromEntries(
  Object.entries(description.components.schemas).map(([name, schema]) => [name, rewrite(schema)]),
);
const ajv = new Ajv({ strict: false, allErrors: true, validateFormats: true, inlineRefs: false });
const date = /^\d{4}-(0\d|1[0-2])-([0-2]\d|3[01])$/;
ajv.addFormat("date", date);
ajv.addFormat("date-time", (text) => {
  const [day, time] = text.split("T");
  return date.test(day) && /^([01]\d|2[0-3]):[0-5]\d:([0-5]\d|60)(\.\d+)?(Z|[+-]\d\d:\d\d)$/.test(time || "");
});
// Git's own address has a host before its colon, and no scheme.
ajv.addFormat("uri", (text) => /^[a-z][a-z0-9+.-]*:[^\s"<>\\^`{|}]+$/i.test(text));
ajv.addFormat("uri-template", (text) => /^[a-z][a-z0-9+.-]*:[^\s"<>\\^`|]+$/i.test(text));
ajv.addFormat("email", /^[^\s@]+@[^\s@]+$/);
for (const known of ["int64", "int32", "float", "double", "binary", "byte", "hostname", "ssh-url", "repo.nwo"]) {
  ajv.addFormat(known, true);
}
ajv.addSchema({ $id: "github:", components: { schemas: components } });

/** A place in the description that may be a reference into it. */
function resolve(value) {
  while (value && value.$ref) {
    value = value.$ref
      .slice(2)
      .split("/")
      .reduce((at, key) => at[key.replace(/~1/g, "/").replace(/~0/g, "~")], description);
  }
  return value;
}

const compiled = new Map();
function validator(schema) {
  if (!compiled.has(schema)) {
    const local = JSON.parse(JSON.stringify(rewrite(schema)).replaceAll('"$ref":"#/', '"$ref":"github:#/'));
    compiled.set(schema, ajv.compile(local));
  }
  return compiled.get(schema);
}

// --- What a value violates

const show = (value) => {
  const text = value === undefined ? "nothing" : JSON.stringify(value);
  return text.length > 80 ? text.slice(0, 77) + "…" : text;
};
const at = (value, pointer) =>
  pointer
    .split("/")
    .slice(1)
    .reduce((here, key) => here?.[key.replace(/~1/g, "/").replace(/~0/g, "~")], value);
/** The same place of every item of a list is one place. */
const place = (pointer) => pointer.replace(/\/\d+(?=\/|$)/g, "/*") || "/";

/** The schemas that may speak about a value: through references and alternatives. */
function alternatives(schema, found = []) {
  schema = resolve(schema);
  if (!schema || found.includes(schema)) return found;
  found.push(schema);
  for (const word of ["allOf", "anyOf", "oneOf"]) for (const one of schema[word] || []) alternatives(one, found);
  return found;
}

/** Fields that no alternative knows: whoever reads one of these would not find it on GitHub. */
function unknown(value, schemas, pointer, tell) {
  if (Array.isArray(value)) {
    const items = schemas.flatMap((schema) => (schema.items ? alternatives(schema.items) : []));
    if (items.length > 0) value.forEach((one, index) => unknown(one, items, `${pointer}/${index}`, tell));
    return;
  }
  if (value === null || typeof value !== "object") return;
  const named = schemas.filter((schema) => schema.properties);
  const free = schemas.some(
    (schema) =>
      schema.additionalProperties === true ||
      (typeof schema.additionalProperties === "object" && schema.additionalProperties !== null),
  );
  // An object without a word about its fields may have any.
  if (named.length === 0) return;
  for (const [key, one] of Object.entries(value)) {
    const here = `${pointer}/${key.replace(/~/g, "~0").replace(/\//g, "~1")}`;
    const about = named.filter((schema) => Object.hasOwn(schema.properties, key));
    if (about.length > 0) unknown(one, about.flatMap((schema) => alternatives(schema.properties[key])), here, tell);
    else if (!free) tell(here, `is not in the description; found ${show(one)}`);
  }
}

function violations(value, schema, tell) {
  const validate = validator(schema);
  if (!validate(value)) {
    // What an alternative that was not meant says is noise beside what the right one says: the deepest speak.
    const errors = validate.errors.filter((error) => !["anyOf", "oneOf", "if", "allOf"].includes(error.keyword));
    const list = errors.length > 0 ? errors : validate.errors;
    for (const error of list) {
      const found = show(at(value, error.instancePath));
      const extra = error.keyword === "enum" ? ` ${show(error.params.allowedValues)}` : "";
      tell(error.instancePath, `${error.message}${extra}${error.keyword === "required" ? "" : `; found ${found}`}`);
    }
  }
  unknown(value, alternatives(schema), "", tell);
}

// --- Operations

const operations = [];
for (const [template, item] of Object.entries(description.paths)) {
  for (const [method, operation] of Object.entries(item)) {
    if (!operation.operationId) continue;
    const parameters = [...(item.parameters || []), ...(operation.parameters || [])].map(resolve);
    const segments = template.split("/").slice(1);
    const deep = new Set(parameters.filter((one) => one["x-multi-segment"]).map((one) => one.name));
    operations.push({ method: method.toUpperCase(), template, segments, deep, operation, parameters });
  }
}

/** Fits a path to a template; more literal segments are a better fit. */
function fit({ segments, deep }, parts) {
  const names = {};
  const match = (s, p) => {
    if (s === segments.length) return p === parts.length ? 0 : -1;
    const name = segments[s].match(/^\{(.+)\}$/)?.[1];
    if (!name) {
      // `{basehead}` and the like stand alone; a segment of text and name is not there.
      if (segments[s] !== parts[p]) return -1;
      const rest = match(s + 1, p + 1);
      return rest < 0 ? -1 : rest + 1;
    }
    for (let take = 1; take <= (deep.has(name) ? parts.length - p : 1); take++) {
      if (p + take > parts.length) break;
      const rest = match(s + 1, p + take);
      if (rest >= 0) {
        names[name] = decodeURIComponent(parts.slice(p, p + take).join("/"));
        return rest;
      }
    }
    return -1;
  };
  const rank = match(0, 0);
  return rank < 0 ? null : { rank, names };
}

function find(method, url) {
  const parts = url.split("/").slice(1);
  let best = null;
  for (const candidate of operations) {
    if (candidate.method !== method) continue;
    const fits = fit(candidate, parts);
    if (fits && (!best || fits.rank > best.rank)) best = { ...fits, ...candidate };
  }
  return best;
}

/** A parameter's text as the value that its schema speaks of. */
function typed(text, schema) {
  schema = resolve(schema) || {};
  const kinds = alternatives(schema).map((one) => one.type);
  if ((kinds.includes("integer") || kinds.includes("number")) && /^-?\d+$/.test(text)) return Number(text);
  if (kinds.includes("boolean") && /^(true|false)$/.test(text)) return text === "true";
  if (kinds.includes("array")) return text.split(",");
  return text;
}

const json = (content) => content && (content["application/json"] || content[Object.keys(content).find((type) => /\bjson$/.test(type))]);

function request(exchange, found, tell) {
  const inside = (name) => found.parameters.filter((one) => one.in === name);
  for (const parameter of inside("path")) {
    const text = found.names[parameter.name];
    violations(typed(text, parameter.schema), parameter.schema, (_, what) => tell(`path ${parameter.name}`, what));
  }
  const query = [...new URLSearchParams(exchange.query)];
  for (const [name, text] of query) {
    const parameter = inside("query").find((one) => one.name === name);
    if (!parameter) tell(`query ${name}`, "is not in the description");
    else violations(typed(text, parameter.schema), parameter.schema, (_, what) => tell(`query ${name}`, what));
  }
  for (const parameter of inside("query").filter((one) => one.required)) {
    if (!query.some(([name]) => name === parameter.name)) tell(`query ${parameter.name}`, "is required");
  }
  const body = resolve(found.operation.requestBody);
  const schema = json(body?.content)?.schema;
  if (exchange.request === undefined) {
    if (body?.required) tell("body", "is required");
  } else if (!schema) {
    tell("body", `there is none in the description; found ${show(exchange.request)}`);
  } else {
    violations(exchange.request, schema, (pointer, what) => tell(`body ${place(pointer)}`, what));
  }
}

/** Every operation can answer these, whether its description says so or not. */
const general = (status) => [304, 401, 403, 404, 422, 429].includes(status) || status >= 500;

function response(exchange, found, tell) {
  const documented = resolve(found.operation.responses[String(exchange.status)]);
  if (!documented && !general(exchange.status)) return tell("status", "is not in the description");
  if (exchange.raw) {
    // What was asked for is a file's text, not JSON.
    const types = Object.keys(documented?.content || {});
    return types.length > 0 ? undefined : tell("body", "has none in the description");
  }
  const schema = documented ? json(documented.content)?.schema : undefined;
  if (exchange.response === undefined) {
    if (schema && exchange.status !== 304) tell("body", "is missing");
  } else if (schema) {
    violations(exchange.response, schema, (pointer, what) => tell(place(pointer), what));
  } else if (!documented || exchange.status >= 400) {
    violations(exchange.response, description.components.schemas["basic-error"], (pointer, what) => tell(place(pointer), what));
  } else {
    tell("body", `there is none in the description; found ${show(exchange.response)}`);
  }
}

function webhook(exchange, tell) {
  const dashed = (text) => text.replaceAll("_", "-");
  const hooks = description["x-webhooks"];
  const name = exchange.action ? `${dashed(exchange.event)}-${dashed(exchange.action)}` : dashed(exchange.event);
  const told = hooks[name]?.post;
  if (!told) return tell("event", "is not in the description");
  for (const parameter of (told.parameters || []).map(resolve)) {
    const there = exchange.headers.some((header) => header.toLowerCase() === parameter.name.toLowerCase());
    if (parameter.in === "header" && !there) tell(`header ${parameter.name}`, "is missing");
  }
  violations(exchange.payload, json(told.requestBody.content).schema, (pointer, what) => tell(place(pointer), what));
}

// --- All of it

const deviations = JSON.parse(fs.readFileSync(deviationsFile, "utf8"));
const used = new Set();
/** Whether this differs on purpose: it begins with what an entry names. A star in front of a place stands for anything. */
function on_purpose(where, pointer, what) {
  const is = (pattern, text) => (pattern.startsWith("*") ? text.endsWith(pattern.slice(1)) : pattern === text);
  const says = (one) => [one.what].flat().some((words) => what.startsWith(words));
  const named = deviations.filter((one) => is(one.where, where) && is(one.at, pointer) && says(one));
  named.forEach((one) => used.add(one));
  return named.length > 0;
}

const tally = { operations: new Set(), exchanges: 0, requests: 0, webhooks: 0, events: new Set(), graphql: 0, played: 0 };
const problems = new Map();
for (const file of fs.readdirSync(folder).sort()) {
  if (!file.endsWith(".json")) continue;
  const exchange = JSON.parse(fs.readFileSync(path.join(folder, file), "utf8"));
  const teller = (where) => (pointer, what) => {
    // Before they are gathered: what is found at one place differs, and the first does not speak for the others.
    if (on_purpose(where, pointer, what)) return;
    const key = `${where}\t${pointer}\t${what.replace(/; found .*$/s, "")}`;
    const known = problems.get(key);
    if (known) known.times += 1;
    else problems.set(key, { where, pointer, what, story: exchange.story, file, times: 1 });
  };
  if (exchange.kind === "graphql") {
    tally.graphql += 1;
    const operation = /\{\s*(?:\w+\s*:\s*)?(\w+)/.exec(exchange.request?.query || "")?.[1];
    graphql(exchange, teller(`GraphQL ${operation}`));
    continue;
  }
  if (exchange.kind === "webhook") {
    tally.webhooks += 1;
    const name = `${exchange.event}${exchange.action ? `.${exchange.action}` : ""}`;
    tally.events.add(name);
    webhook(exchange, teller(`webhook ${name}`));
    continue;
  }
  const found = find(exchange.method, exchange.path);
  if (!found) {
    // That there is no such thing, GitHub says too.
    if (exchange.status !== 404 || exchange.bot) teller(`${exchange.method} ${exchange.route}`)("operation", "is not in the description");
    continue;
  }
  tally.exchanges += 1;
  tally.operations.add(`${found.method} ${found.template}`);
  if (exchange.bot) {
    tally.requests += 1;
    request(exchange, found, teller(`${found.method} ${found.template} request`));
  }
  if (exchange.played) tally.played += 1;
  else response(exchange, found, teller(`${found.method} ${found.template} ${exchange.status}`));
}

const left = [...problems.values()];
for (const { where, pointer, what, story, file, times } of left) {
  console.log(`${where}  ${pointer}: ${what}  (${story}; ${file}${times > 1 ? `; ${times} times` : ""})`);
}
let failed = left.length > 0;
for (const one of deviations) {
  if (!one.why || one.why.length < 20) {
    failed = true;
    console.log(`${deviationsFile}: ${one.where} ${one.at} does not say why`);
  }
  if (!used.has(one) && !partial) {
    failed = true;
    console.log(`${deviationsFile}: ${one.where} ${one.at} is no longer needed: take it out`);
  }
}
// What was not recorded was not compared.
for (const [kind, number] of Object.entries({ exchanges: tally.exchanges, webhooks: tally.webhooks, "GraphQL queries": tally.graphql })) {
  if (number > 0 || partial) continue;
  failed = true;
  console.log(`${folder} has no ${kind}: were the tests run with PHASEGATE_EXCHANGES set to it?`);
}
console.log(
  `${tally.operations.size} operations, ${tally.exchanges} exchanges (${tally.requests} requests of the bot; ` +
    `${tally.played} answers were played faults and not looked at), ${tally.webhooks} webhooks of ${tally.events.size} kinds; ` +
    `${tally.graphql} GraphQL queries; ${left.length} violations, ${used.size} deviations on purpose`,
);
process.exitCode = failed ? 1 : 0;
