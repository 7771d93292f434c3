"""What a type checker has to see: an error at every line that ends in ``# error``, at no other.

Never run.
"""

from __future__ import annotations

import tinytensor as tt
import tinytensor.modls  # error
from tinytensor import Tensor, nn, softmaxx  # error
from tinytensor.nn import init
from tinytensor.train import Adam, AdamWW, TrainConfig  # error


def ops(x: Tensor) -> None:
    tt.softmaxx(x)  # error
    tt.softmax(x, dim=1)  # error
    tt.softmax(x, axis="rows")  # error
    tt.softmax()  # error
    tt.softmax("text")  # error
    tt.sum(x, keepdim=True)  # error
    tt.concat(x)  # error
    tt.stack([x, x], dim=0)  # error
    tt.conv2d(x, x, strides=2)  # error
    tt.cross_entropy(x, x, reduction=None)  # error
    tt.dropout(x, prob=0.5)  # error
    tt.svd(x).sum()  # error
    tt.matmul(x)  # error
    tt.functionl.relu(x)  # error
    tt.operations.rellu(x)  # error
    tt.tests  # error
    tt.benchmarks  # error
    number: int = tt.relu(x)  # error
    del number


def methods(x: Tensor) -> None:
    x.summ()  # error
    x.sum(dim=0)  # error
    x.sum(keepdims="no")  # error
    x.argmax(axis="rows")  # error
    x.reshape(2, order="F")  # error
    x.copy(order="F")  # error
    x.shape.append(1)  # error
    x.backward(retain_grap=True)  # error
    x.unsqeeze(0)  # error
    x.clone(memory=1)  # error
    tt.zeros(3, dtyp="int64")  # error


def modules() -> None:
    tt.nn.Linearr(2, 3)  # error
    tt.nn.Linear(2, out=3)  # error
    nn.Linear("2", 3)  # error
    nn.Linear(2, 3).wieght  # error
    nn.Linear(2, 3).state_dct()  # error
    init.normal(nn.Linear(2, 3).weight)  # error
    tt.nn.init.normal_()  # error
    Adam(nn.Linear(2, 3).parameters(), learning_rate=1e-3)  # error
    TrainConfig(step=100)  # error
    tt.train.TrainConfg()  # error
    tt.models.GPTT()  # error
    tt.draw(tt.zeros(1), deep=1)  # error
    tt.draw(tt.zeros(1)).sav("x.svg")  # error
