"""Names that users of PyTorch or NumPy try, and what they are called here."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

#: attributes of a tensor
OF_TENSOR = {
    "view": "x.reshape(...)",
    "clamp": "x.clip(low, high)",
    "grad_fn": "x.node",
    "at": "tt.at(x, index).set(v)",
    "movedim": "x.moveaxis(...)",
    "view_as": "x.reshape(y.shape)",
    "numel": "x.size",
    "dim": "x.ndim",
    "t": "x.T",
    "contiguous": "x.copy()",
    "type": "x.dtype, or x.astype(...)",
    "get_device": "x.device",
    "is_cuda": "x.device",
    "half": "x.astype('float16')",
    "int": "x.astype('int32')",
    "bool": "x.astype('bool')",
    "new_zeros": "tt.zeros(...)",
    "new_ones": "tt.ones(...)",
    "scatter_": "x = tt.scatter(...)",
    "normal_": "tt.randn(...), or nn.init.normal_(x)",
    "uniform_": "tt.rand(...), or nn.init.uniform_(x)",
}
#: functions of the package
OF_PACKAGE = {
    "cat": "tt.concat",
    "clamp": "tt.clip",
    "movedim": "tt.moveaxis",
    "absolute": "tt.abs",
    "negative": "tt.neg",
    "bernoulli": "tt.rand(...) < p",
    "unique": "np.unique(x.numpy())",
    "from_numpy": "tt.tensor",
    "as_tensor": "tt.tensor",
    "asarray": "tt.tensor",
    "array": "tt.tensor",
    "var_mean": "tt.var and tt.mean",
    "set_default_dtype": "dtype= in each call; float32 is the default",
    "save": "safetensors.numpy.save_file(model.state_dict(), path)",
    "load": "model.load_state_dict(safetensors.numpy.load_file(path))",
    "mm": "x @ y",
    "row_stack": "tt.vstack",
    "pinverse": "tt.pinv",
    "upsample": "tt.interpolate",
    "gammaln": "tt.lgamma",
    "optim": "tt.train.optim",
}
#: settings of ops
OF_OP = {"dim": "axis", "dims": "axis", "keepdim": "keepdims", "correction": "ddof", "input": "x"}


def hint(name: str, table: dict[str, str], known: Iterable[str] = ()) -> str:
    """What to say after "there is no such name": the word used here, or a similar one."""
    if name in table:
        return f"; use {table[name]}"
    if name.endswith("_") and not name.startswith("_") and name.rstrip("_") in known:
        return f"; use x = x.{name.rstrip('_')}(...), or x.copy_(...)"
    similar = difflib.get_close_matches(name, known, 2, 0.75) if not name.startswith("_") else []
    return f"; did you mean {' or '.join(similar)}?" if similar else ""
