//! GraphQL over a narrow schema: what the bot asks, and errors for all else.
//!
//! A document is parsed, checked against the table in [`schema`] before anything is done, and then run field by field.
//! Aliases, variables, and named and inline fragments work. A field that can't be resolved is null and named in
//! `errors`, with HTTP 200, as on GitHub.

mod commit;
mod schema;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use graphql_parser::query::{
    Definition, Document, Field, FragmentDefinition, OperationDefinition, Selection, SelectionSet, TypeCondition,
    Value as Literal,
};
use serde_json::{Map, Value, json};

use super::auth::Actor;
use super::state::State;
pub(crate) use commit::draft_or_ready;
pub(crate) use schema::Node;
use schema::{Out, fits, result_type};

/// An error of one field.
#[derive(Debug, Clone)]
pub(crate) struct Trouble {
    kind: Option<&'static str>,
    message: String,
}

impl Trouble {
    fn new(kind: &'static str, message: impl Into<String>) -> Self {
        Self { kind: Some(kind), message: message.into() }
    }
}

impl From<super::reply::Problem> for Trouble {
    fn from(problem: super::reply::Problem) -> Self {
        let kind = match problem.status {
            403 => "FORBIDDEN",
            404 => "NOT_FOUND",
            422 | 409 => "UNPROCESSABLE",
            _ => "INTERNAL",
        };
        Self::new(kind, problem.message)
    }
}

type Parsed<'a> = Document<'a, String>;
type Fields<'a> = SelectionSet<'a, String>;

struct Run<'d, 'a> {
    state: &'d mut State,
    actor: &'d Actor,
    fragments: Vec<&'d FragmentDefinition<'a, String>>,
    variables: Map<String, Value>,
    errors: Vec<Value>,
    /// Set when the check gave up: fragments that spread each other would keep it busy for ever.
    too_deep: bool,
}

/// Queries that were read before: whoever asks often asks the same.
static READ: Mutex<BTreeMap<String, Arc<Parsed<'static>>>> = Mutex::new(BTreeMap::new());

/// So many are kept.
const MOST_READ: usize = 200;

fn parsed(query: &str) -> Result<Arc<Parsed<'static>>, String> {
    let mut read = READ.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = read.get(query) {
        return Ok(Arc::clone(known));
    }
    let document = graphql_parser::parse_query::<String>(query).map_err(|error| error.to_string())?;
    let document = Arc::new(document.into_static());
    if read.len() < MOST_READ {
        read.insert(query.to_owned(), Arc::clone(&document));
    }
    Ok(document)
}

/// Is the request a mutation? Asked before it runs, for the log.
pub(crate) fn is_mutation(body: &Value) -> bool {
    let query = body.get("query").and_then(Value::as_str).unwrap_or_default();
    match parsed(query) {
        Ok(document) => operation(&document, body.get("operationName").and_then(Value::as_str))
            .is_some_and(|op| matches!(op, OperationDefinition::Mutation(_))),
        Err(_) => false,
    }
}

fn operation<'d, 'a>(document: &'d Parsed<'a>, name: Option<&str>) -> Option<&'d OperationDefinition<'a, String>> {
    let named = |op: &OperationDefinition<'a, String>| match op {
        OperationDefinition::Query(op) => op.name.clone(),
        OperationDefinition::Mutation(op) => op.name.clone(),
        _ => None,
    };
    document.definitions.iter().find_map(|definition| match definition {
        Definition::Operation(op) if name.is_none() || named(op).as_deref() == name => Some(op),
        _ => None,
    })
}

/// Runs a request and answers its whole response body.
pub(crate) fn execute(state: &mut State, actor: &Actor, body: &Value) -> Value {
    let failed = |message: String| json!({"errors": [{"message": message}]});
    let Some(query) = body.get("query").and_then(Value::as_str) else {
        return failed("A query attribute must be specified and must be a string.".into());
    };
    let document = match parsed(query) {
        Ok(document) => document,
        Err(error) => return failed(error),
    };
    let Some(op) = operation(&document, body.get("operationName").and_then(Value::as_str)) else {
        return failed("No operation to execute".into());
    };
    let nothing = Vec::new();
    let (root, fields, definitions) = match op {
        OperationDefinition::SelectionSet(fields) => (Node::Query, fields, &nothing),
        OperationDefinition::Query(op) => (Node::Query, &op.selection_set, &op.variable_definitions),
        OperationDefinition::Mutation(op) => (Node::Mutation, &op.selection_set, &op.variable_definitions),
        OperationDefinition::Subscription(_) => return failed("Subscriptions are not supported".into()),
    };
    let mut variables = body.get("variables").and_then(Value::as_object).cloned().unwrap_or_default();
    for definition in definitions {
        let given = variables.get(&definition.name).is_some_and(|value| !value.is_null());
        let required = matches!(definition.var_type, graphql_parser::query::Type::NonNullType(_));
        match &definition.default_value {
            Some(default) if !given => {
                variables.insert(definition.name.clone(), literal(default, &Map::new()));
            }
            None if !given && required => {
                return failed(format!("Variable ${} was provided invalid value", definition.name));
            }
            _ => {}
        }
    }
    let fragments = document
        .definitions
        .iter()
        .filter_map(|definition| match definition {
            Definition::Fragment(fragment) => Some(fragment),
            Definition::Operation(_) => None,
        })
        .collect();
    let mut run = Run { state, actor, fragments, variables, errors: Vec::new(), too_deep: false };
    run.check(root.type_name(), fields, &mut vec![root.type_name().to_lowercase()], 0);
    if !run.errors.is_empty() {
        // A document that does not fit the schema is refused whole, before a mutation has done anything.
        return json!({"errors": run.errors});
    }
    let data = run.select(&root, fields, &mut Vec::new());
    match run.errors.is_empty() {
        true => json!({"data": data}),
        false => json!({"data": data, "errors": run.errors}),
    }
}

fn literal(value: &Literal<'_, String>, variables: &Map<String, Value>) -> Value {
    match value {
        Literal::Variable(name) => variables.get(name).cloned().unwrap_or(Value::Null),
        Literal::Int(number) => number.as_i64().into(),
        Literal::Float(number) => (*number).into(),
        Literal::String(text) | Literal::Enum(text) => text.clone().into(),
        Literal::Boolean(yes) => (*yes).into(),
        Literal::Null => Value::Null,
        Literal::List(items) => items.iter().map(|item| literal(item, variables)).collect(),
        Literal::Object(fields) => {
            fields.iter().map(|(name, value)| (name.clone(), literal(value, variables))).collect()
        }
    }
}

/// Deeper than any honest query, and shallow enough for the stack.
const DEPTH: usize = 40;

impl<'a> Run<'_, 'a> {
    fn fragment(&self, name: &str) -> Option<&FragmentDefinition<'a, String>> {
        self.fragments.iter().find(|fragment| fragment.name == name).copied()
    }

    /// Holds a selection against the schema.
    fn check(&mut self, on: &str, set: &Fields<'a>, path: &mut Vec<String>, depth: usize) {
        if self.too_deep {
            return;
        }
        if depth > DEPTH {
            self.too_deep = true;
            self.errors.push(json!({"message": "Query has a depth that is too great", "path": path}));
            return;
        }
        for selection in &set.items {
            match selection {
                Selection::Field(field) => self.check_field(on, field, path, depth),
                Selection::InlineFragment(inline) => {
                    let on = match &inline.type_condition {
                        Some(TypeCondition::On(name)) => name.as_str(),
                        None => on,
                    };
                    self.check(on, &inline.selection_set, path, depth + 1);
                }
                Selection::FragmentSpread(spread) => match self.fragment(&spread.fragment_name).cloned() {
                    Some(fragment) => {
                        let TypeCondition::On(on) = &fragment.type_condition;
                        self.check(on, &fragment.selection_set, path, depth + 1);
                    }
                    None => {
                        let message = format!("Fragment {} was used, but not defined", spread.fragment_name);
                        self.errors.push(json!({"message": message, "path": path}));
                    }
                },
            }
        }
    }

    fn check_field(&mut self, on: &str, field: &Field<'a, String>, path: &mut Vec<String>, depth: usize) {
        path.push(field.alias.clone().unwrap_or_else(|| field.name.clone()));
        let at = json!([{"line": field.position.line, "column": field.position.column}]);
        match result_type(on, &field.name) {
            None => self.errors.push(json!({
                "path": path, "locations": at,
                "extensions": {"code": "undefinedField", "typeName": on, "fieldName": field.name},
                "message": format!("Field '{}' doesn't exist on type '{on}'", field.name),
            })),
            Some("") if !field.selection_set.items.is_empty() => self.errors.push(json!({
                "path": path, "locations": at,
                "message": format!("Selections can't be made on scalars (field '{}')", field.name),
            })),
            Some("") => {}
            Some(result) if field.selection_set.items.is_empty() => self.errors.push(json!({
                "path": path, "locations": at,
                "message": format!("Field must have selections (field '{}' returns {result})", field.name),
            })),
            Some(result) => self.check(result, &field.selection_set, path, depth + 1),
        }
        path.pop();
    }

    fn select(&mut self, node: &Node, set: &Fields<'a>, path: &mut Vec<Value>) -> Value {
        let mut object = Map::new();
        self.select_into(node, set, path, &mut object);
        Value::Object(object)
    }

    fn select_into(&mut self, node: &Node, set: &Fields<'a>, path: &mut Vec<Value>, object: &mut Map<String, Value>) {
        for selection in &set.items {
            match selection {
                Selection::Field(field) => {
                    let key = field.alias.clone().unwrap_or_else(|| field.name.clone());
                    path.push(key.as_str().into());
                    let value = self.field(node, field, path);
                    path.pop();
                    object.insert(key, value);
                }
                Selection::InlineFragment(inline) => {
                    let applies = match &inline.type_condition {
                        Some(TypeCondition::On(name)) => fits(node, name),
                        None => true,
                    };
                    if applies {
                        self.select_into(node, &inline.selection_set, path, object);
                    }
                }
                Selection::FragmentSpread(spread) => {
                    let Some(fragment) = self.fragment(&spread.fragment_name).cloned() else { continue };
                    let TypeCondition::On(name) = &fragment.type_condition;
                    if fits(node, name) {
                        self.select_into(node, &fragment.selection_set, path, object);
                    }
                }
            }
        }
    }

    fn field(&mut self, node: &Node, field: &Field<'a, String>, path: &mut Vec<Value>) -> Value {
        let arguments: Map<String, Value> =
            field.arguments.iter().map(|(name, value)| (name.clone(), literal(value, &self.variables))).collect();
        match schema::resolve(self.state, self.actor, node, &field.name, &arguments) {
            Ok(Out::Value(value)) => value,
            Ok(Out::Node(below)) => self.select(&below, &field.selection_set, path),
            Ok(Out::Nodes(list)) => {
                let mut out = Vec::new();
                for (index, below) in list.iter().enumerate() {
                    path.push(index.into());
                    out.push(self.select(below, &field.selection_set, path));
                    path.pop();
                }
                out.into()
            }
            Err(trouble) => {
                let mut error = json!({
                    "path": path, "message": trouble.message,
                    "locations": [{"line": field.position.line, "column": field.position.column}],
                });
                if let Some(kind) = trouble.kind {
                    error["type"] = kind.into();
                }
                self.errors.push(error);
                Value::Null
            }
        }
    }
}
