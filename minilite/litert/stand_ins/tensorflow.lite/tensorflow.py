"""Imported as `tensorflow` by processes that are started by a program running on minilite in place of
tensorflow.lite."""

import sys

from minilite.litert.stand_in import install_as

del sys.modules[__name__]  # replaced by the installed package, if there is one
install_as("tensorflow.lite")
