"""Two runs beside each other: of two models, runtimes, levels of instructions, or a recording and a run of today."""
