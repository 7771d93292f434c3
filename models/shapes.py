"""Names and shapes of parameters, by which a config tells how large its model is."""

from __future__ import annotations

#: names and shapes of parameters, in a model's order
Shapes = dict[str, tuple[int, ...]]


def weight_and_bias(name: str, *shape: int, bias: bool = True) -> Shapes:
    """Those of a Linear, a LayerNorm or a convolution, whose weight has this shape."""
    return {f"{name}.weight": shape, **({f"{name}.bias": shape[:1]} if bias else {})}


def recurrent(
    name: str, gates: int, inputs: int, hidden: int, layer: int = 0, direction: str = ""
) -> Shapes:
    """Those of one layer of an RNN, GRU or LSTM: of one direction, "" or "_reverse"."""
    end, rows = f"l{layer}{direction}", gates * hidden
    return {
        f"{name}.weight_ih_{end}": (rows, inputs),
        f"{name}.weight_hh_{end}": (rows, hidden),
        f"{name}.bias_ih_{end}": (rows,),
        f"{name}.bias_hh_{end}": (rows,),
    }
