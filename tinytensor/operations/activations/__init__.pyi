# Written by .ci/stubs.py from the registry of ops: run `make stubs`, don't edit.
"""Activation functions and softmax."""

from ...define.operand import Operand
from ...tensor.tensor import Tensor

def sigmoid(x: Operand) -> Tensor:
    """Logistic function; does not overflow for any x."""

def log_sigmoid(x: Operand) -> Tensor:
    """Logarithm of the sigmoid, finite where the sigmoid itself has become 0."""

def softplus(x: Operand, beta: float = 1.0, threshold: float = 20.0) -> Tensor:
    """Smooth form of relu (Dugas et al. 2000); linear above the threshold, as in PyTorch."""

def softsign(x: Operand) -> Tensor:
    """Like tanh with slower tails (Bergstra et al. 2009); ±1 at ±∞ (PyTorch: NaN)."""

def silu(x: Operand) -> Tensor:
    """Sigmoid-weighted linear unit, also called swish (Elfwing et al. 2017, arXiv:1702.03118)."""

def mish(x: Operand) -> Tensor:
    """x · tanh(softplus(x)) (Misra 2019, arXiv:1908.08681)."""

def gelu(x: Operand, approximate: str = "none") -> Tensor:
    """Gaussian error linear unit (Hendrycks and Gimpel 2016, arXiv:1606.08415)."""

def relu(x: Operand) -> Tensor:
    """Rectified linear unit; gradient 0 at 0."""

def leaky_relu(x: Operand, negative_slope: float = 0.01) -> Tensor:
    """relu with a slope on the negative side too (Maas et al. 2013); ``negative_slope`` at 0."""

def prelu(x: Operand, weight: Operand) -> Tensor:
    """leaky_relu with a learned slope (He et al. 2015, arXiv:1502.01852); the weight's at 0."""

def elu(x: Operand, alpha: float = 1.0) -> Tensor:
    """Exponential linear unit (Clevert et al. 2015, arXiv:1511.07289); gradient alpha at 0."""

def selu(x: Operand) -> Tensor:
    """Self-normalising elu (Klambauer et al. 2017, arXiv:1706.02515); gradient s α at 0."""

def celu(x: Operand, alpha: float = 1.0) -> Tensor:
    """elu with a continuous derivative for every alpha (Barron 2017, arXiv:1704.07483)."""

def hardtanh(x: Operand, min_val: float = -1.0, max_val: float = 1.0) -> Tensor:
    """Limit to [min_val, max_val]; unlike that of :func:`clip`, the gradient is 0 at the limits."""

def relu6(x: Operand) -> Tensor:
    """relu that ends at 6, ``hardtanh(x, 0, 6)``; gradient 0 at 0 and at 6."""

def hard_sigmoid(x: Operand) -> Tensor:
    """Sigmoid of three straight lines; gradient 0 at ±3."""

def hard_swish(x: Operand) -> Tensor:
    """silu with straight lines for its sigmoid (Howard et al. 2019, arXiv:1905.02244)."""

def softmax(x: Operand, axis: int = -1) -> Tensor:
    """Positive weights that add up to 1 along ``axis``, computed without overflow."""

def log_softmax(x: Operand, axis: int = -1) -> Tensor:
    """Logarithm of the softmax along ``axis``, computed without overflow or log 0."""
