//! An evaluation as text: Markdown for people, JSON for programs.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use minijinja::value::Value;
use serde_json::{Map, json};

use crate::claims::Findings;
use crate::document::{TableText, Text};
use crate::error::Error;
use crate::language::{Names, of_toml, to_json};
use crate::paper::Paper;
use crate::point::{Measured, More};
use crate::text::{align, table};

impl Paper {
    /// Everything, as Markdown that a terminal shows well too.
    ///
    /// # Errors
    /// What is wrong in the paper's file.
    pub fn markdown(
        &self,
        findings: &Findings,
        measured: &[Measured],
        more: &More<'_>,
    ) -> Result<String, Error> {
        let mut text = findings.markdown();
        for table in &self.document.table {
            match &table.each {
                Some(each) => {
                    for value in each {
                        text += &self.section(table, measured, more, Some(of_toml(value)))?;
                    }
                }
                None => text += &self.section(table, measured, more, None)?,
            }
        }
        Ok(text)
    }

    /// A table with its title; nothing where it has no row.
    fn section(
        &self,
        spec: &TableText,
        measured: &[Measured],
        more: &More<'_>,
        each: Option<Value>,
    ) -> Result<String, Error> {
        let mut names = self.names(measured, more)?;
        names.insert("points".to_owned(), self.select(spec.points.as_ref(), measured)?);
        names.extend(each.map(|value| ("each".to_owned(), value)));
        let names = Names::value("name", names);
        let title = self.language.line(&spec.title, &names)?;
        let body = self.language.lines(&spec.body, &names)?;
        let mut text = String::new();
        let lines = body.lines().map(str::trim).filter(|line| !line.is_empty());
        let Some(head) = &spec.head else {
            let lines: String = lines.map(|line| format!("{line}\n")).collect();
            if !lines.is_empty() {
                write!(text, "\n### {title}\n\n{lines}").expect("a string takes all");
            }
            return Ok(text);
        };
        let head = self.language.line(head, &names)?;
        let head: Vec<&str> = cells(&head);
        let mut rows = table(&head);
        for line in lines {
            let cells = cells(line);
            if cells.len() != head.len() {
                let reason =
                    format!("`{line}` has {} cells; write {}, as `head` has", cells.len(), head.len());
                return Err(self.language.error(&spec.body, reason));
            }
            rows.add_row(cells);
        }
        if let Some(left) = spec.left {
            align(&mut rows, left);
        }
        if rows.row_count() > 0 {
            writeln!(text, "\n### {title}\n\n{rows}").expect("a string takes all");
        }
        Ok(text)
    }

    /// Everything, for programs.
    ///
    /// # Errors
    /// What is wrong in the paper's file.
    pub fn json(
        &self,
        findings: &Findings,
        measured: &[Measured],
        more: &More<'_>,
    ) -> Result<serde_json::Value, Error> {
        let json = &self.document.json;
        let mut studies = Vec::new();
        for one in measured {
            let mut study = self.fields(&json.point, &one.value())?;
            let runs = one.0.runs.iter().map(|run| {
                let run = Value::from_dyn_object(run.clone());
                let mut fields = self.fields(&json.run.others, &run)?;
                for column in &json.run.columns {
                    fields.insert(column.to_string(), to_json(&self.language.expression(column, &run)?));
                }
                Ok(serde_json::Value::Object(fields))
            });
            study.insert("runs".to_owned(), runs.collect::<Result<_, Error>>()?);
            studies.push(serde_json::Value::Object(study));
        }
        let mut all = self.fields(&json.evaluation, &Names::value("name", self.names(measured, more)?))?;
        all.insert("rows".to_owned(), findings.json());
        all.insert("studies".to_owned(), json!(studies));
        Ok(serde_json::Value::Object(all))
    }

    fn fields(
        &self,
        fields: &BTreeMap<String, Text>,
        names: &Value,
    ) -> Result<Map<String, serde_json::Value>, Error> {
        let field = |(key, text): (&String, &Text)| {
            Ok((key.clone(), to_json(&self.language.expression(text, names)?)))
        };
        fields.iter().map(field).collect()
    }
}

/// The cells of a line, between bars.
fn cells(line: &str) -> Vec<&str> {
    line.split('|').map(str::trim).collect()
}
