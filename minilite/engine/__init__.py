"""Running models: lowering their nodes to kernels, memory, calls of arrays, copies. What an Interpreter uses of it.

The Interpreter imports it with the first call that needs it: it takes as long as all that reading a model imports.
"""

from minilite._native.usage import Usage
from minilite.engine.array_call import ArrayCall
from minilite.engine.pickling import put_together, restore, state_of, taken_apart
from minilite.engine.program import Program
from minilite.engine.session import Session
from minilite.engine.target import checked_tensor, early_values
from minilite.engine.tensor_arguments import (
    as_given,
    check_strict,
    input_arrays,
    inputs_by_number,
    output_arrays,
    refuse_keywords,
    subgraph_number,
    tensor_number,
    wanted_shape,
    wanted_shapes,
)

__all__ = [
    "ArrayCall",
    "Program",
    "Session",
    "Usage",
    "as_given",
    "check_strict",
    "checked_tensor",
    "early_values",
    "input_arrays",
    "inputs_by_number",
    "output_arrays",
    "put_together",
    "refuse_keywords",
    "restore",
    "state_of",
    "subgraph_number",
    "taken_apart",
    "tensor_number",
    "wanted_shape",
    "wanted_shapes",
]
