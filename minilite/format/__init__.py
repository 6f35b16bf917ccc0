"""Bytes: reading and writing the file format. The only stage that uses flatbuffers."""
