"""What the nodes of a model take in runs: medians, work, rates, traces."""
