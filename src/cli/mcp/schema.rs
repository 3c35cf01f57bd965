//! What the tools take and answer, told in few bytes: every agent has it in its context.

use std::sync::Arc;

use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use schemars::generate::SchemaSettings;
use schemars::transform::RecursiveTransform;
use schemars::{JsonSchema, Schema};
use serde_json::Value;

use super::Nothing;

/// A tool that only reads, and takes nothing.
pub(super) fn reads<O: JsonSchema>(name: &'static str, about: &'static str) -> Tool {
    looks::<Nothing, O>(name, about)
}

/// A tool that only reads.
pub(super) fn looks<I: JsonSchema, O: JsonSchema>(name: &'static str, about: &'static str) -> Tool {
    let mut tool = Tool::new(name, about, input::<I>());
    tool.output_schema = Some(output::<O>());
    tool.annotations = Some(ToolAnnotations::new().read_only(true));
    tool
}

/// A tool that adds something.
pub(super) fn writes<I: JsonSchema, O: JsonSchema>(name: &'static str, about: &'static str) -> Tool {
    let mut tool = Tool::new(name, about, input::<I>());
    tool.output_schema = Some(output::<O>());
    tool.annotations = Some(ToolAnnotations::new().destructive(false));
    tool
}

/// With the descriptions of the arguments, which are part of how a tool is called.
fn input<T: JsonSchema>() -> Arc<JsonObject> {
    // That something may be left out is said by `required`.
    let plain = RecursiveTransform(|schema: &mut Schema| {
        let told = schema.get("type").and_then(Value::as_array).map(Vec::as_slice);
        if let Some([one, Value::String(null)]) = told
            && null == "null"
        {
            let one = one.clone();
            schema.insert("type".to_owned(), one);
        }
    });
    let settings = SchemaSettings::draft2020_12().with_transform(plain);
    let mut schema = of::<T>(settings, &["title", "format", "minimum", "default"]);
    // That of the type: the tool has its own.
    schema.remove("description");
    Arc::new(schema)
}

/// Shapes alone: what the fields mean is in their names and in the documentation.
fn output<T: JsonSchema>() -> Arc<JsonObject> {
    let left_out = &["title", "format", "minimum", "default", "description"];
    Arc::new(of::<T>(SchemaSettings::draft2020_12().for_serialize(), left_out))
}

fn of<T: JsonSchema>(settings: SchemaSettings, left_out: &'static [&'static str]) -> JsonObject {
    let short = RecursiveTransform(move |schema: &mut Schema| {
        for key in left_out {
            schema.remove(*key);
        }
    });
    let settings = settings.with(|settings| {
        settings.meta_schema = None;
        settings.inline_subschemas = true;
    });
    match settings.with_transform(short).into_generator().into_root_schema_for::<T>().to_value() {
        Value::Object(object) => object,
        // `true`: nothing is said of it. No type here has such a schema.
        _ => JsonObject::new(),
    }
}
