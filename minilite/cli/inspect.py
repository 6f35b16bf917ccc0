"""minilite inspect: prints nodes, tensors, storage and offsets of a model; with --check, which operators are
supported."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from minilite.cli import arguments, plan_memory
from minilite.cli.output import print_json, width
from minilite.errors import MiniliteError
from minilite.format.bundle import Bundle, is_bundle
from minilite.format.reader import load_model
from minilite.interpreter import Interpreter
from minilite.report import inspection
from minilite.report.bundles import bundle_facts, bundle_text
from minilite.report.check import check, check_facts, check_text
from minilite.report.facts import model_facts
from minilite.terminal import say

if TYPE_CHECKING:
    from minilite.engine.model_plan import ModelPlan


def add_parser(commands: Any) -> None:
    """Adds the command's arguments."""
    parser = commands.add_parser("inspect", help="show nodes, tensors, storage and offsets of a model")
    parser.add_argument("model", metavar="MODEL", help="a .tflite file, or a bundle (.litertlm, .task)")
    parser.add_argument(
        "--check",
        action="store_true",
        help="only say of each operator whether it is supported, and what is missing; exit status 1 if one is not",
    )
    arguments.add_shape(parser)
    arguments.add_signature(parser)
    arguments.add_planner(parser)
    arguments.add_max_arena(parser)
    plan_memory.add_memory(parser)
    arguments.add_json(parser)
    parser.set_defaults(execute=execute)


def execute(options: argparse.Namespace) -> int:
    """Prints the model as planned for its shapes; if no plan can be made, the model in the file and the reason. With
    --check, returns exit status 1 if an operator is not supported."""
    about_a_model = options.check or options.shape or options.memory or options.max_arena is not None
    if not about_a_model and is_bundle(options.model):
        _show_bundle(options)
        return 0
    if options.check:
        return _check(options)
    arguments.check_memories(options)
    interpreter = Interpreter(
        options.model, planner=options.planner, max_arena=options.max_arena, signature=options.signature
    )
    try:
        arguments.resize(interpreter, options.shape)
        interpreter.allocate_tensors()
    except arguments.UsageError:
        raise
    except MiniliteError:
        _show(interpreter, options, None)
        raise
    _show(interpreter, options, interpreter.plan)
    return 0


def _show(interpreter: Interpreter, options: argparse.Namespace, plan: ModelPlan | None) -> None:
    board = plan_memory.board_of(options.model, options.memory) if options.memory else None
    if options.json:
        facts = model_facts(interpreter.model, options.model, plan)
        print_json(facts | {"board": plan_memory.board_facts(board)} if board else facts)
        return
    say(inspection(interpreter.model, Path(options.model).name, plan, width()))
    if board is not None:
        say("\n" + plan_memory.board_text(board, interpreter.model))


def _show_bundle(options: argparse.Namespace) -> None:
    bundle = Bundle(options.model)
    if options.json:
        print_json(bundle_facts(bundle))
    else:
        say(bundle_text(bundle, width()))


def _check(options: argparse.Namespace) -> int:
    answers = check(load_model(options.model))
    if options.json:
        print_json(check_facts(answers, options.model))
    else:
        say(check_text(answers, Path(options.model).name, width()))
    return int(any(answer.reason for answer in answers))
