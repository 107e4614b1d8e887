"""One way through, for every workflow: open, check, baseline, first note, engine, result, on.finish."""
