"""Imported as `tflite_runtime` by processes that are started by a program running on minilite."""

import sys

from minilite.litert.stand_in import install_as

del sys.modules[__name__]  # replaced by the installed package, if there is one
install_as("tflite_runtime")
