"""The steps of the article on TFLite's arena, each a build of a small arena in C, measured side by side.

Source: A. Kelly, "Simpleperf case study: Fast initialization of TFLite's Memory Arena" (2023).
"""
