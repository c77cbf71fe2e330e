//! Placeholder head; replaced below.
