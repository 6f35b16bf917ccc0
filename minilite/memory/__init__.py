"""Space: planning where tensors lie."""
