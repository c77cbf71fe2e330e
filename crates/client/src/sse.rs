//! Reading a server-sent event stream (WHATWG HTML, "Server-sent events"), byte by byte as it comes.

use std::time::Duration;

use crate::Error;

/// Longest event that is read, in bytes.
const LONGEST: usize = 256 * 1024;

/// An event as it stood in the stream.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Message {
    pub(crate) id: Option<String>,
    pub(crate) data: String,
}

/// What was read of a stream so far.
#[derive(Default)]
pub(crate) struct Reader {
    waiting: Vec<u8>,
    id: Option<String>,
    data: Option<String>,
    /// The last event id of the standard: where a later stream goes on. An event without data sets it as well.
    pub(crate) last_id: Option<String>,
    /// Whether a whole event was read, even one without data.
    pub(crate) begun: bool,
    /// The pause before connecting again that the server asked for.
    pub(crate) retry: Option<Duration>,
    not_first: bool,
}

impl Reader {
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        self.waiting.extend_from_slice(bytes);
    }

    /// The next whole event, if it is there.
    pub(crate) fn next(&mut self) -> Result<Option<Message>, Error> {
        while let Some(line) = self.line() {
            if line.is_empty() {
                self.begun = true;
                self.last_id.clone_from(&self.id);
                if let Some(data) = self.data.take() {
                    return Ok(Some(Message { id: self.id.clone(), data }));
                }
                continue;
            }
            let line =
                std::str::from_utf8(&line).map_err(|_| Error::Unreadable("an event that is not UTF-8"))?;
            self.field(line);
            if self.data.as_ref().is_some_and(|data| data.len() > LONGEST) {
                return Err(Error::Unreadable("an event that is too long"));
            }
        }
        if self.waiting.len() > LONGEST {
            Err(Error::Unreadable("an event that is too long"))
        } else {
            Ok(None)
        }
    }

    /// A line without its end. A `\r` at the very end waits, as a `\n` may follow.
    fn line(&mut self) -> Option<Vec<u8>> {
        let end = self.waiting.iter().position(|byte| matches!(byte, b'\n' | b'\r'))?;
        let length = match (self.waiting[end], self.waiting.get(end + 1)) {
            (b'\r', None) => return None,
            (b'\r', Some(b'\n')) => 2,
            _ => 1,
        };
        let mut line: Vec<u8> = self.waiting.drain(..end + length).collect();
        line.truncate(end);
        if !std::mem::replace(&mut self.not_first, true) && line.starts_with("\u{feff}".as_bytes()) {
            line.drain(..3);
        }
        Some(line)
    }

    fn field(&mut self, line: &str) {
        let (name, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match name {
            "data" => match &mut self.data {
                Some(data) => {
                    data.push('\n');
                    data.push_str(value);
                }
                None => self.data = Some(value.to_owned()),
            },
            "id" if !value.contains('\0') => self.id = Some(value.to_owned()),
            "retry" if !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit()) => {
                self.retry = value.parse().ok().map(Duration::from_millis);
            }
            // `event` repeats what the data says; a comment (no name) is a heartbeat.
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(stream: &[u8], size: usize) -> (Vec<(Option<String>, String)>, Option<Duration>) {
        let mut reader = Reader::default();
        let mut messages = Vec::new();
        for chunk in stream.chunks(size) {
            reader.push(chunk);
            while let Some(message) = reader.next().unwrap() {
                messages.push((message.id, message.data));
            }
        }
        (messages, reader.retry)
    }

    #[test]
    fn the_same_is_read_however_it_is_cut_and_however_lines_end() {
        let text = "\u{feff}: hello\nretry: 250\n\nid: 1\nevent: a\ndata: {\"a\":\ndata: 1}\n\n:\n\nid:2\ndata:x\n\ndata: y\n\n";
        let expected = vec![
            (Some("1".to_owned()), "{\"a\":\n1}".to_owned()),
            (Some("2".to_owned()), "x".to_owned()),
            (Some("2".to_owned()), "y".to_owned()),
        ];
        for ends in ["\n", "\r\n"] {
            let stream = text.replace('\n', ends);
            for size in 1..=stream.len() {
                let (messages, retry) = read(stream.as_bytes(), size);
                assert_eq!(
                    (messages, retry),
                    (expected.clone(), Some(Duration::from_millis(250))),
                    "{ends:?} {size}"
                );
            }
        }
    }

    #[test]
    fn an_event_without_data_says_where_to_go_on_and_is_none() {
        let mut reader = Reader::default();
        reader.push(b": connected\nid: 41\n");
        assert_eq!(reader.next().unwrap(), None);
        assert!(!reader.begun && reader.last_id.is_none());
        reader.push(b"\n");
        assert_eq!(reader.next().unwrap(), None);
        assert!(reader.begun);
        assert_eq!(reader.last_id.as_deref(), Some("41"));
    }

    #[test]
    fn half_an_event_is_none() {
        assert_eq!(read(b"id: 1\ndata: x\n", 4).0, []);
    }

    #[test]
    fn an_endless_event_is_refused() {
        let mut reader = Reader::default();
        reader.push(&vec![b'a'; LONGEST + 1]);
        assert!(reader.next().is_err());
        let mut reader = Reader::default();
        let failed = (0..100_000).any(|_| {
            reader.push(b"data: xxxxxxxx\n");
            reader.next().is_err()
        });
        assert!(failed);
    }
}
