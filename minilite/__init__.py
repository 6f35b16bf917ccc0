"""minilite: a lightweight interpreter for .tflite models."""
