//! An evaluation as tables for people, and as JSON for programs.

use std::collections::BTreeMap;
use std::fmt;

use minijinja::value::Value;
use serde_json::{Map, json};

use crate::claims::Findings;
use crate::document::{TableText, Text};
use crate::error::Error;
use crate::language::{of_toml, to_json};
use crate::maps::GainMap;
use crate::names::Names;
use crate::paper::Paper;
use crate::point::{Measured, More};
use crate::text::{align, table};
use crate::times;

/// A table of an evaluation, or a section of text, with its title. It displays as Markdown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Section {
    /// Its title.
    pub title: String,
    /// Titles of the columns; none where the rows are lines of text.
    pub head: Vec<String>,
    /// The cells of each row, as many as columns, or one line of text.
    pub rows: Vec<Vec<String>>,
    /// How many columns at the left are texts; all when left out.
    pub left: Option<usize>,
}

impl fmt::Display for Section {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "### {}\n", self.title)?;
        if self.head.is_empty() {
            return self.rows.iter().try_for_each(|row| writeln!(f, "{}", row[0]));
        }
        let mut rows = table(&self.head.iter().map(String::as_str).collect::<Vec<_>>());
        self.rows.iter().for_each(|row| _ = rows.add_row(row));
        if let Some(left) = self.left {
            align(&mut rows, left);
        }
        writeln!(f, "{rows}")
    }
}

impl Paper {
    /// The tables of an evaluation, in the paper's order; those without a row are left out.
    ///
    /// # Errors
    /// What is wrong in the paper's file.
    pub fn sections(&self, measured: &[Measured], more: &More<'_>) -> Result<Vec<Section>, Error> {
        let mut sections = Vec::new();
        for table in &self.document.table {
            let each = table.each.as_ref().map_or(vec![None], |each| each.iter().map(Some).collect());
            for value in each {
                sections.push(self.section(table, measured, more, value.map(of_toml))?);
            }
        }
        sections.retain(|section| !section.rows.is_empty());
        Ok(sections)
    }

    fn section(
        &self,
        spec: &TableText,
        measured: &[Measured],
        more: &More<'_>,
        each: Option<Value>,
    ) -> Result<Section, Error> {
        let mut names = self.names(measured, more)?;
        names.insert("points".to_owned(), self.select(spec.points.as_ref(), measured)?);
        names.extend(each.map(|value| ("each".to_owned(), value)));
        let names = Names::value("name", names);
        let title = self.language.line(&spec.title, &names)?;
        let Some(head) = &spec.head else {
            let body = self.language.lines(&spec.body, &names)?;
            let rows = lines_of(&body).map(|line| vec![line.to_owned()]).collect();
            return Ok(Section { title, head: Vec::new(), rows, left: None });
        };
        let mut head = cells(&self.language.line(head, &names)?);
        let body = self.language.rows(&spec.body, &names)?;
        let mut rows = Vec::new();
        for line in lines_of(&body) {
            let cells = cells(line);
            if cells.len() != head.len() {
                let reason =
                    format!("`{line}` has {} cells; write {}, as `head` has", cells.len(), head.len());
                return Err(self.language.error(&spec.body, reason));
            }
            rows.push(cells);
        }
        times::show(&mut head, &mut rows);
        Ok(Section { title, head, rows, left: spec.left })
    }

    /// Everything, for programs.
    ///
    /// # Errors
    /// What is wrong in the paper's file.
    pub fn json(
        &self,
        findings: &Findings,
        maps: &[GainMap],
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
        if !maps.is_empty() {
            all.insert("maps".to_owned(), maps.iter().map(GainMap::json).collect());
        }
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

/// The lines of a text that are not empty.
fn lines_of(text: &str) -> impl Iterator<Item = &str> {
    text.lines().map(str::trim).filter(|line| !line.is_empty())
}

/// The cells of a line, between bars.
fn cells(line: &str) -> Vec<String> {
    line.split('|').map(|cell| cell.trim().to_owned()).collect()
}
