//! The queue: nobody passes, nobody is lost, and the provider never sees more than it may.

use std::sync::Arc;

use super::*;
use crate::provider::{failure::Class, rate::WINDOW, tests::acme};

const TRIAL: Duration = Duration::from_secs(30);

fn budget(per_second: u32, at_once: u32) -> (Arc<Budget>, Clock) {
    let mut provider = acme("https://acme.example");
    provider.requests_per_second = per_second;
    provider.concurrent_requests = at_once;
    let clock = Clock::manual();
    (Arc::new(Budget::new(&provider, TRIAL, clock.clone(), Metrics::new())), clock)
}

/// Lets every task run as far as it comes.
async fn settle() {
    for _ in 0..200 {
        tokio::task::yield_now().await;
    }
}

/// F13, R87: ten thousand ask at one moment. No window of a second sees more than the rate, they come in the order of
/// asking, and it takes no longer than it has to.
#[tokio::test]
async fn r87_ten_thousand_at_once_are_paced() {
    const RATE: usize = 1_000;
    let (budget, clock) = budget(1_000, 16);
    let (asked, given) = (clock.now(), Arc::new(Mutex::new(Vec::new())));
    let asking: Vec<_> = (0..10_000)
        .map(|n| {
            let (budget, clock, given) = (budget.clone(), clock.clone(), given.clone());
            tokio::spawn(async move {
                let mut permit = budget.permit(Errand::Refresh).await.unwrap();
                permit.using();
                lock(&given).push((n, clock.now().0));
            })
        })
        .collect();
    loop {
        let before = lock(&given).len();
        settle().await;
        if lock(&given).len() == before {
            if before == asking.len() {
                break;
            }
            clock.advance(Duration::from_millis(50));
        }
    }
    let given = lock(&given).clone();
    assert!(given.windows(2).all(|two| two[0].0 < two[1].0), "in the order of asking");
    for window in given.windows(RATE + 1) {
        assert!(window[RATE].1 - window[0].1 >= 1_000, "{window:?}");
    }
    assert!(asked.until(clock.now()) < Duration::from_secs(11));
}

#[tokio::test]
async fn r87_so_many_at_once_and_no_more() {
    let (budget, _clock) = budget(1_000, 3);
    let mut held = Vec::new();
    for _ in 0..3 {
        held.push(budget.clone().permit(Errand::Refresh).await.unwrap());
    }
    let next = tokio::spawn(budget.clone().permit(Errand::Refresh));
    settle().await;
    assert!(!next.is_finished());
    held.pop();
    assert!(next.await.unwrap().is_ok());
}

/// Whoever hangs up while it waits holds nobody up.
#[tokio::test]
async fn a_place_in_the_queue_can_be_left() {
    let (budget, clock) = budget(1, 4);
    budget.clone().permit(Errand::Refresh).await.unwrap().using();
    let waiting: Vec<_> = (0..3).map(|_| tokio::spawn(budget.clone().permit(Errand::Refresh))).collect();
    settle().await;
    waiting[0].abort();
    waiting[1].abort();
    settle().await;
    clock.advance(WINDOW);
    let last = waiting.into_iter().next_back().unwrap();
    assert!(last.await.unwrap().is_ok());
}

#[tokio::test]
async fn a_permit_that_is_not_used_costs_nothing() {
    let (budget, _clock) = budget(1, 1);
    for _ in 0..5 {
        drop(budget.clone().permit(Errand::Refresh).await.unwrap());
    }
    let mut permit = budget.clone().permit(Errand::Refresh).await.unwrap();
    permit.using();
    drop(permit);
    let next = tokio::spawn(budget.clone().permit(Errand::Refresh));
    settle().await;
    assert!(!next.is_finished());
    next.abort();
}

/// A pause that begins while many wait lets them go with its word, and without the provider's budget.
#[tokio::test]
async fn a_pause_empties_the_queue() {
    let (budget, clock) = budget(1_000, 2);
    let mut sent = budget.clone().permit(Errand::Refresh).await.unwrap();
    sent.using();
    let also = budget.clone().permit(Errand::Refresh).await.unwrap();
    let waiting: Vec<_> = (0..100).map(|_| tokio::spawn(budget.clone().permit(Errand::Refresh))).collect();
    settle().await;
    let refused = Failure {
        class: crate::provider::Class::Operator,
        code: None,
        status: Some(401),
        retry_after: None,
        what: "no_token",
        spot: Box::default(),
    };
    sent.note(&Err(refused));
    drop(also);
    for one in waiting {
        let paused = one.await.unwrap().err().unwrap();
        assert_eq!(paused, Paused { until: clock.now().plus(TRIAL), why: Why::ClientRefused });
    }
    clock.advance(TRIAL);
    let trial = budget.clone().permit(Errand::Refresh).await.unwrap();
    assert!(budget.clone().permit(Errand::Refresh).await.is_err());
    drop(trial);
    assert!(budget.clone().permit(Errand::Refresh).await.is_ok());
}

#[tokio::test]
async fn the_queue_is_bounded() {
    let (budget, _clock) = budget(1, 1);
    budget.shared.waiting.store(LONGEST_QUEUE, Ordering::Relaxed);
    assert_eq!(budget.clone().permit(Errand::Refresh).await.err().unwrap().why, Why::Crowded);
    budget.shared.waiting.store(0, Ordering::Relaxed);
    assert!(budget.permit(Errand::Refresh).await.is_ok());
}

/// What is held for long before it is used still counts as of when it is sent.
#[tokio::test]
async fn r87_a_held_permit_counts_from_its_use() {
    let (budget, clock) = budget(2, 4);
    let mut first = budget.clone().permit(Errand::Refresh).await.unwrap();
    let second = budget.clone().permit(Errand::Refresh).await.unwrap();
    clock.advance(Duration::from_secs(10));
    let waiting = tokio::spawn(budget.clone().permit(Errand::Refresh));
    settle().await;
    assert!(!waiting.is_finished());
    first.using();
    settle().await;
    assert!(!waiting.is_finished());
    drop(second);
    assert!(waiting.await.unwrap().is_ok());
}

/// R87: another place of the same registration goes on, within the same budget; the number says whether any is left alone.
#[tokio::test]
async fn r87_another_place_goes_on_within_the_same_budget() {
    let (budget, _clock) = budget(1_000, 2);
    let beside = Arc::new(budget.beside());
    let refused = || {
        Err(Failure {
            class: Class::Operator,
            code: None,
            status: None,
            retry_after: None,
            what: "x",
            spot: Box::default(),
        })
    };
    let left_alone = || budget.shared.paused.load(Ordering::Relaxed);
    budget.clone().permit(Errand::Refresh).await.unwrap().note(&refused());
    assert!(budget.clone().permit(Errand::Refresh).await.is_err());
    assert_eq!(left_alone(), 1);
    let held = beside.clone().permit(Errand::Refresh).await.unwrap();
    let also = beside.clone().permit(Errand::Refresh).await.unwrap();
    assert_eq!(budget.shared.slots.available_permits(), 0, "their requests are counted together");
    held.note(&refused());
    assert_eq!(left_alone(), 2);
    also.note(&refused());
    assert_eq!(left_alone(), 2, "each once");
    budget.worked();
    assert_eq!(left_alone(), 1);
    drop(beside);
    assert_eq!(left_alone(), 0, "one that is not kept any more is not left alone");
    drop(budget.clone().permit(Errand::Refresh).await.unwrap());
}
