// Holds GraphQL queries and their answers against GitHub's published schema, with the reference implementation.
"use strict";
const fs = require("fs");

/** A function (exchange, tell) for a package `graphql` and a file with the schema. */
module.exports = (home, file) => {
  const graphql = require(home);
  let schema;

  /** The type of what stands there: a scalar by its own parser, an enum by its values, an object by its fields. */
  function typed(value, type, selections, context, pointer, tell) {
    if (graphql.isNonNullType(type)) {
      // Where a field failed, null comes up to the next one that may be null.
      if (value === null && !context.failed) return tell(pointer, `is never null: ${type}`);
      return value === null ? undefined : typed(value, type.ofType, selections, context, pointer, tell);
    }
    if (value === null) return;
    if (graphql.isListType(type)) {
      if (!Array.isArray(value)) return tell(pointer, `is a list: ${type}`);
      return value.forEach((one) => typed(one, type.ofType, selections, context, `${pointer}/*`, tell));
    }
    if (graphql.isLeafType(type)) {
      try {
        type.parseValue(value);
      } catch (error) {
        tell(pointer, error.message);
      }
      return;
    }
    if (typeof value !== "object") return tell(pointer, `is an object: ${type}`);
    const left = new Set(Object.keys(value));
    fields(value, type, selections, context, pointer, tell, left);
    for (const key of left) tell(`${pointer}/${key}`, "was not asked for");
  }

  function fields(value, type, selections, context, pointer, tell, left) {
    for (const one of selections.selections) {
      if (one.kind === "Field") {
        const key = (one.alias || one.name).value;
        left.delete(key);
        if (one.name.value === "__typename") continue;
        const field = type.getFields?.()[one.name.value];
        // A fragment on another type that this object is not of.
        if (!field) continue;
        if (value[key] === undefined) tell(`${pointer}/${key}`, "was asked for and is missing");
        else typed(value[key], field.type, one.selectionSet, context, `${pointer}/${key}`, tell);
        continue;
      }
      const fragment = one.kind === "InlineFragment" ? one : context.fragments.get(one.name.value);
      const on = fragment.typeCondition ? schema.getType(fragment.typeCondition.name.value) : type;
      // Which of the types it is, an answer does not say; it is this one if it has this one's fields. One without any is of
      // another, where there are others: a folder among files.
      const has = (field) => field.kind !== "Field" || (field.alias || field.name).value in value;
      const empty = Object.keys(value).length === 0;
      const meant = empty ? on === type || !graphql.isAbstractType(type) : fragment.selectionSet.selections.every(has);
      if (meant) fields(value, on, fragment.selectionSet, context, pointer, tell, left);
    }
  }

  return (exchange, tell) => {
    schema ??= graphql.buildSchema(fs.readFileSync(file, "utf8"), { assumeValid: true });
    let document;
    try {
      document = graphql.parse(exchange.request.query);
    } catch (error) {
      return exchange.bot ? tell("query", error.message) : undefined;
    }
    const operation = document.definitions.find((one) => one.kind === "OperationDefinition");
    const errors = graphql.validate(schema, document);
    if (errors.length === 0) {
      const given = graphql.getVariableValues(schema, operation.variableDefinitions || [], exchange.request.variables || {});
      errors.push(...(given.errors || []));
    }
    if (exchange.bot) errors.forEach((error) => tell("query", error.message));
    if (exchange.played || errors.length > 0) return;
    const root = operation.operation === "mutation" ? schema.getMutationType() : schema.getQueryType();
    const { data, errors: told } = exchange.response;
    if (told !== undefined && !(Array.isArray(told) && told.every((one) => typeof one.message === "string"))) {
      tell("/errors", "is a list of errors with messages");
    }
    if (data === undefined || data === null) return told ? undefined : tell("/data", "is missing");
    const fragments = document.definitions.filter((one) => one.kind === "FragmentDefinition");
    const context = { failed: Boolean(told), fragments: new Map(fragments.map((one) => [one.name.value, one])) };
    typed(data, root, operation.selectionSet, context, "/data", tell);
  };
};
