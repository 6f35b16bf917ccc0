"""What a process imports as tflite_runtime that a program starts which runs with minilite in its place."""

import sys

from minilite.litert.stand_in import install_as

del sys.modules[__name__]  # the one that is installed takes its place, if there is one
install_as("tflite_runtime")
