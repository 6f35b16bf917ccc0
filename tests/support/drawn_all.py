"""The functions that draw a node, of all operators."""

from support.drawn_elementwise import ELEMENTWISE
from support.drawn_moving import MOVING
from support.drawn_picking import PICKING
from support.drawn_weighted import WEIGHTED

DRAWN = {**ELEMENTWISE, **MOVING, **PICKING, **WEIGHTED}
