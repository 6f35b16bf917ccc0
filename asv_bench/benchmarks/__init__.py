"""minilite's performance history, for airspeed velocity. Names and parameters are keys of the history: never rename them."""
