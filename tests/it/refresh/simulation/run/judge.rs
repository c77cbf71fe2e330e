//! What must have held when a run is over.

use consentry::connection::Status;

use super::{END, Plan, Rotation, Run, Seen};

impl Run {
    /// # Errors
    /// The promise that was broken.
    pub(super) fn judge(&self) -> Result<Seen, String> {
        let Plan { faults, replicas: _, .. } = &self.plan;
        for (key, asked) in &self.asked {
            let excuses = self.excuses.get(key).copied().unwrap_or_default();
            if *asked > 1 + excuses {
                return Err(format!("{key:?} was asked for {asked} times, with {excuses} faults"));
            }
        }
        if !faults.lose_answers() && self.provider.kills > 0 {
            return Err("a family was killed, and nothing had gone wrong".to_owned());
        }
        if faults.crash + faults.freeze + faults.lost_answer == 0 && self.overlaps > 0 {
            return Err("two requests were under way at once".to_owned());
        }
        if !faults.lose_answers() && self.rotations_lost > 0 {
            return Err("a rotation was lost, and nothing had gone wrong".to_owned());
        }
        let late = faults.crash + faults.freeze + faults.lost_answer + faults.store_word + faults.store_away;
        if late + faults.person == 0 && !(self.dropped.is_empty() && self.given_back.is_empty()) {
            return Err("a refresh was ended under way, and nothing had gone wrong".to_owned());
        }
        if self.refused > 0 && self.provider.revoked == 0 {
            return Err("a lost rotation was called the person's own doing".to_owned());
        }
        for refresh in &self.arrived {
            let row_has = self.row.as_ref().is_some_and(|row| row.refresh == Some(*refresh));
            let known = row_has || self.dropped.contains(refresh) || self.given_back.contains(refresh);
            let passed = !self.provider.is_current(*refresh);
            // In grace and static rotation an unused token may have been replaced by a commit since.
            if !known
                && !passed
                && !self.died_with.contains(refresh)
                && self.plan.rotation == Rotation::Strict
                && faults.person == 0
            {
                return Err(format!("the refresh token {refresh} is good and nobody has it"));
            }
        }
        if self.replicas.iter().any(|replica| replica.task.is_some()) {
            return Err("a task never ended".to_owned());
        }
        if let Some(row) = &self.row {
            let refresh = row.refresh.ok_or("the refresh token is gone")?;
            let alive = row.status == Status::Active;
            if alive
                && !self.provider.is_current(refresh)
                && self.provider.revoked == 0
                && !matches!(self.plan.rotation, Rotation::Grace(_))
            {
                return Err("a dead refresh token was never noticed".to_owned());
            }
            if alive && self.last_handed_at < END - 60_000 {
                return Err("nobody got a token any more".to_owned());
            }
            if alive && row.seen(END).over.is_some() {
                return Err("what was over was never ended".to_owned());
            }
            if !alive && row.told == 0 {
                return Err("an end was never told".to_owned());
            }
        }
        Ok(Seen {
            generations: self.row.as_ref().map_or(0, |row| row.generation),
            handed_out: self.handed_out,
            rotations_lost: self.rotations_lost,
            kills: self.provider.kills,
            dropped: self.dropped.len(),
            given_back: self.given_back.len(),
        })
    }
}
