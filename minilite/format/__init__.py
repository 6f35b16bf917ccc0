"""Reads and writes the file format. The only package that uses flatbuffers."""
