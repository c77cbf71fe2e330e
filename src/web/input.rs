//! `needs-input`: the page that asks what a provider's address lacks, and what is posted there.

use std::collections::BTreeMap;

use axum::response::Response;

use crate::{
    config::variables::{Part, Unfit, VARIABLE_MAX, Variable},
    connect::{self, Inputs, Opened, Refusal, Typed},
    elicitation::{Elicitation, OwnedOpen},
};

use super::{
    here::{Here, connect_path, done_path, see_other},
    pages::{self, Choice, Field, FieldProblem, Label, Within},
    segments::{Body, Segments},
};

/// `POST /connect/{id}/input`: what the person typed. Kept for this question, and with the connection that comes of it.
pub(super) async fn submit(here: Here, Segments(id): Segments<String>, Body(body): Body) -> Response {
    let (opened, form) = match here.posted(&id, &body).await {
        Ok(posted) => posted,
        Err(response) => return *response,
    };
    if form.get("attempt").is_some() {
        return here.tenant_chosen(&opened, &form).await;
    }
    let asked = opened.mine.elicitation().clone();
    let Ok(mine) = opened.mine.clone().open(here.app.clock.now()) else {
        return see_other(&done_path(asked.id, None));
    };
    let get = |name: &str| form.get(name).map(str::to_owned);
    match connect::type_in(&here.app, &mine, get).await {
        Ok(Typed::Taken) => see_other(&connect_path(asked.id)),
        Ok(Typed::Wrong(wrong)) => {
            let mut inputs = here.inputs(&opened);
            for field in &mut inputs.fields {
                field.value = form.get(&field.name).unwrap_or_default().chars().take(VARIABLE_MAX).collect();
            }
            here.input_page(&opened, &mine, inputs, &wrong)
        }
        Err(Refusal::Moved) => see_other(&connect_path(asked.id)),
        Err(refusal) => here.refuse(refusal, asked.id, Some(&opened.visitor)),
    }
}

impl Here {
    fn inputs(&self, opened: &Opened) -> Inputs {
        connect::inputs(&self.app, opened.mine.elicitation(), opened.connection.as_ref())
    }

    /// The page, with what is known filled in.
    pub fn needs_input(&self, opened: &Opened, mine: &OwnedOpen) -> Response {
        self.input_page(opened, mine, self.inputs(opened), &BTreeMap::new())
    }

    /// The page again, where what was said leads to a place that is not called.
    pub fn input_refused(&self, opened: &Opened, mine: &OwnedOpen) -> Response {
        let inputs = self.inputs(opened);
        let wrong = inputs.fields.iter().map(|field| (field.name.clone(), Unfit::Private)).collect();
        self.input_page(opened, mine, inputs, &wrong)
    }

    /// What the person said before, for `ready`: each label with what stands there, and the link to change it.
    pub fn settings(&self, opened: &Opened) -> (Vec<pages::Setting>, Option<String>) {
        let inputs = self.inputs(opened);
        let settings = inputs.fields.iter().filter(|field| !field.value.is_empty()).map(|field| {
            let shown = field.variable.choices.get(&field.value).unwrap_or(&field.value);
            pages::Setting { label: Label::new(&field.variable.label), value: Label::new(shown) }
        });
        let settings: Vec<_> = settings.collect();
        let change = (!settings.is_empty()).then(|| change_path(opened.mine.elicitation()));
        (settings, change)
    }

    fn input_page(
        &self,
        opened: &Opened,
        mine: &OwnedOpen,
        inputs: Inputs,
        wrong: &BTreeMap<String, Unfit>,
    ) -> Response {
        let asked = mine.elicitation();
        let fields = inputs.fields.into_iter().map(|input| {
            let variable = input.variable;
            Field {
                problem: wrong.get(&input.name).copied().map(problem),
                name: input.name,
                label: Label::new(&variable.label),
                hint: variable.help.clone(),
                example: variable.example.as_deref().filter(|_| variable.choices.is_empty()).map(Label::new),
                value: input.value,
                required: true,
                max_length: u32::try_from(VARIABLE_MAX).unwrap_or(u32::MAX),
                choices: Choice::all(&variable.choices),
                autocomplete: "off",
                within: within(&variable),
            }
        });
        self.show(&pages::NeedsInput {
            frame: self.frame_of(&opened.visitor),
            asked: self.asked(asked),
            fields: fields.collect(),
            submit: self.post_of(asked, "input"),
            decline: self.decline_post(asked),
        })
    }
}

/// The ends of the hosts that are taken, to be told of one that is not.
fn within(variable: &Variable) -> Option<Within> {
    match &variable.part {
        Part::Host(tail) if !tail.is_empty() => Some(Within::Before(tail.clone())),
        Part::Host(_) | Part::Elsewhere if !variable.suffixes.is_empty() => {
            Some(Within::Ends(variable.suffixes.join(", ")))
        }
        Part::Host(_) | Part::Elsewhere if !variable.hosts.is_empty() => {
            Some(Within::One(variable.hosts.join(", ")))
        }
        Part::Host(_) | Part::Elsewhere => None,
    }
}

/// The page again, though everything is known.
fn change_path(asked: &Elicitation) -> String {
    format!("{}&change=input", connect_path(asked.id))
}

fn problem(unfit: Unfit) -> FieldProblem {
    match unfit {
        Unfit::Empty => FieldProblem::Missing,
        Unfit::TooLong => FieldProblem::TooLong,
        Unfit::NotOffered => FieldProblem::NotOffered,
        Unfit::Host => FieldProblem::Host,
        Unfit::Private => FieldProblem::Private,
        Unfit::Pattern => FieldProblem::Pattern,
    }
}
