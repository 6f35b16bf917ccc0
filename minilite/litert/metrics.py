"""LiteRT's counters of use, of which there are none: nothing is counted, and nothing is sent.

A program that puts methods of its own in their place is called, as by LiteRT.
"""

from __future__ import annotations

from typing import Any


class TFLiteMetrics:
    """Does nothing."""

    def __init__(self, model_hash: str | None = None, model_path: str | None = None) -> None:
        pass

    def increase_counter_debugger_creation(self) -> None:
        """Does nothing."""

    def increase_counter_interpreter_creation(self) -> None:
        """Does nothing; each new Interpreter calls it."""

    def increase_counter_converter_attempt(self) -> None:
        """Does nothing."""

    def increase_counter_converter_success(self) -> None:
        """Does nothing."""

    def set_converter_param(self, name: str, value: Any) -> None:
        """Does nothing."""

    def set_converter_error(self, error_data: Any) -> None:
        """Does nothing."""

    def set_converter_latency(self, value: Any) -> None:
        """Does nothing."""


class TFLiteConverterMetrics(TFLiteMetrics):
    """Does nothing."""

    def set_export_required(self) -> None:
        """Does nothing."""

    def export_metrics(self) -> None:
        """Does nothing."""
