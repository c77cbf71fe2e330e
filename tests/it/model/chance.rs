//! Small, seeded and the same everywhere, so that a failing run can be played again.

/// SplitMix64.
#[derive(Debug)]
pub(crate) struct Chance(u64);

impl Chance {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number in `0..bound`.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.next() % u64::try_from(bound.max(1)).unwrap()).unwrap()
    }

    /// True that many times in a hundred.
    pub(crate) fn percent(&mut self, times: usize) -> bool {
        self.below(100) < times
    }

    /// One of them; none of nothing.
    pub(crate) fn one<'a, T>(&mut self, of: &'a [T]) -> Option<&'a T> {
        of.get(self.below(of.len()))
    }

    /// One of them, more often a late one.
    pub(crate) fn late<'a, T>(&mut self, of: &'a [T]) -> Option<&'a T> {
        let from = if self.percent(70) { of.len().saturating_sub(8) } else { 0 };
        self.one(&of[from..])
    }
}
