"""What a process imports as tflite_runtime that a program starts which runs with minilite in its place."""

from minilite.stand_in import install_as

install_as("tflite_runtime")
