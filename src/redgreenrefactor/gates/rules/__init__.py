"""Rules that gates of several phases share: from evidence to findings."""
