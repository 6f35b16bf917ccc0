"""Finds signatures: the named entry points of a model."""

from __future__ import annotations

from collections.abc import Sequence

from minilite.errors import InputError, ModelFormatError, listed
from minilite.format.model import Signature


def find_signature(signatures: Sequence[Signature], key: str | None) -> Signature:
    """The signature with that key; None means the only one. Raises: InputError; ModelFormatError for one that points at
    nothing in the file."""
    if key is None and len({signature.key for signature in signatures}) == 1:
        return _sound(signatures[0])
    if key is None:
        message = (
            f"SignatureDef signature_key is None and model has {len(signatures)} Signatures. "
            "None is only allowed when the model has 1 SignatureDef: "
            + (f"there are {listed(s.key for s in signatures)}" if signatures else "run() needs none")
        )
        raise InputError(message)
    for signature in signatures:
        if signature.key == key:
            return _sound(signature)
    message = f'Invalid signature_key provided: "{key}". The model has {listed(s.key for s in signatures)}'
    raise InputError(message)


def _sound(signature: Signature) -> Signature:
    if signature.broken:
        raise ModelFormatError(signature.broken)
    return signature


def in_order(signature: Signature) -> Signature:
    """Arguments sorted by name, like LiteRT's: programs rely on which output comes first."""
    return signature._replace(
        inputs=dict(sorted(signature.inputs.items())), outputs=dict(sorted(signature.outputs.items()))
    )
