"""Recordings: every call of an interpreter and its arrays in one file, from which the calls can be made again."""
