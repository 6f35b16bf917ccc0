"""What a process imports as ai_edge_litert that a program starts which runs with minilite in its place."""

from minilite.stand_in import install_as

install_as("ai_edge_litert")
