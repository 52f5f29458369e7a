//! Requests in flight by number: a frontend passes the number with a request, and gets it back with the answer.

/// Values with numbers. Numbers are used again, so the memory is bounded by the most values at a time.
#[derive(Debug)]
pub(crate) struct Slots<T> {
    slots: Vec<Option<T>>,
    free: Vec<u32>,
}

impl<T> Slots<T> {
    pub(crate) fn new() -> Self {
        Self { slots: Vec::new(), free: Vec::new() }
    }

    /// Keeps `value`. Returns its number.
    pub(crate) fn put(&mut self, value: T) -> u32 {
        if let Some(number) = self.free.pop() {
            self.slots[number as usize] = Some(value);
            return number;
        }
        self.slots.push(Some(value));
        (self.slots.len() - 1) as u32
    }

    /// Takes the value with this number away.
    ///
    /// # Panics
    /// When there is none: each number that [`Slots::put`] returns is taken once.
    pub(crate) fn take(&mut self, number: u32) -> T {
        let value = self.slots[number as usize].take().expect("a request is answered once");
        self.free.push(number);
        value
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_used_again_and_never_by_two_at_a_time() {
        let mut slots = Slots::new();
        let [first, second] = ["first", "second"].map(|value| slots.put(value));
        assert_ne!(first, second);
        assert_eq!(slots.take(first), "first");
        let third = slots.put("third");
        assert_eq!(third, first);
        assert_eq!((slots.take(second), slots.take(third)), ("second", "third"));
        assert_eq!(slots.slots.len(), 2);
    }

    #[test]
    #[should_panic(expected = "a request is answered once")]
    fn a_second_answer_to_a_request_is_a_bug() {
        let mut slots = Slots::new();
        let number = slots.put(());
        slots.take(number);
        slots.take(number);
    }
}
