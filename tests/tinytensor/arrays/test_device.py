"""The device switch: defaults, transfers, and clear words where there is no GPU."""

from __future__ import annotations

import subprocess
import sys
import threading
import warnings

import numpy as np
import pytest

import tinytensor as tt
from tinytensor.arrays.device import Device, default_device, device_of, set_default_device

from ..helpers import close, const, host, leaf


def test_the_default_is_the_cpu() -> None:
    assert default_device() is tt.device("cpu")
    assert tt.zeros(2).device is tt.device("cpu")


def test_context_nests_and_restores(other_device: Device) -> None:
    with other_device:
        assert tt.zeros(2).device is other_device
        with tt.device("cpu"):
            assert tt.tensor([1.0]).device is tt.device("cpu")
        assert tt.tensor([1.0]).device is other_device
    with pytest.raises(KeyError), other_device:
        raise KeyError
    assert tt.zeros(2).device is tt.device("cpu")


def test_default_device_of_all_threads(other_device: Device) -> None:
    set_default_device(other_device)
    try:
        seen = []
        thread = threading.Thread(target=lambda: seen.append(tt.zeros(1).device))
        thread.start()
        thread.join()
        assert seen == [other_device]
        with tt.device("cpu"):
            assert tt.zeros(1).device is tt.device("cpu")
    finally:
        set_default_device("cpu")


def test_context_belongs_to_its_thread(other_device: Device) -> None:
    seen = []
    with other_device:
        thread = threading.Thread(target=lambda: seen.append(tt.zeros(1).device.name))
        thread.start()
        thread.join()
    assert seen == ["cpu"]


def test_results_stay_where_their_inputs_are(other_device: Device) -> None:
    """The default device says where new tensors are made, not where old ones compute."""
    x = leaf([1.0, 2.0]).to(other_device)
    y = tt.softmax(x * 2 + 1)
    assert y.device is other_device and isinstance(y.data, other_device.array_type)
    with other_device:
        assert (leaf([1.0]).to("cpu") * 2).device.name == "cpu"


def test_gradient_flows_through_transfers(other_device: Device) -> None:
    x = leaf([1.0, 2.0])
    y = x.to(other_device)
    (y * y).sum().to("cpu").backward()
    assert x.grad is not None and x.grad.device.name == "cpu"
    close(x.grad, [2, 4])


def test_transfers_copy_and_keep_dtypes(other_device: Device) -> None:
    for dtype in (np.float32, np.float64, np.int64, np.bool_):
        x = const([1, 0], dtype)
        there = x.to(other_device)
        back = there.to("cpu")
        assert there.dtype == back.dtype == dtype
        np.testing.assert_array_equal(host(back), host(x))
    x = const([1.0, 2.0])
    x.to(other_device).copy_(const([5.0, 6.0]).to(other_device))
    close(x, [1, 2])


def test_leaf_moved_by_creation_is_a_leaf(other_device: Device) -> None:
    x = tt.tensor([1.0, 2.0], device=other_device, requires_grad=True)
    (x * 2).sum().backward()
    assert x.is_leaf and x.grad is not None and x.grad.device is other_device


def test_names_as_strings_and_objects(other_device: Device) -> None:
    assert tt.device(other_device) is other_device
    assert tt.zeros(1, device=other_device.name).device is other_device
    assert other_device.name in repr(other_device)


def test_unknown_names_are_refused() -> None:
    with pytest.raises(ValueError, match="tpu") as error:
        tt.device("tpu")
    assert "cpu" in str(error.value) and "cuda" in str(error.value)


def test_arrays_of_no_device_are_refused() -> None:
    with pytest.raises(TypeError, match="list"):
        device_of([1.0])


def test_numpy_subclasses_live_on_the_cpu(tmp_path: object) -> None:
    class Sub(np.ndarray):
        pass

    assert device_of(np.zeros(2).view(Sub)) is tt.device("cpu")
    close(tt.tensor(np.ones(2).view(Sub)) * 2, [2, 2])


@pytest.mark.skipif(tt.cuda.is_available(), reason="CUDA works here, so asking for it is no error")
def test_asking_for_cuda_without_a_gpu_is_one_clear_error() -> None:
    assert tt.cuda.why_not()
    for ask in (
        lambda: tt.device("cuda"),
        lambda: tt.zeros(2, device="cuda"),
        lambda: tt.zeros(2).to("cuda"),
    ):
        with pytest.raises(RuntimeError) as error:
            ask()
        assert tt.cuda.why_not() in str(error.value)


def test_cupy_is_imported_on_first_use_only() -> None:
    code = (
        "import sys, tinytensor as tt; tt.zeros(2) + 1; "
        "print(any(m.startswith('cupy') for m in sys.modules))"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "False"


def test_no_silent_fall_back_when_cupy_is_broken() -> None:
    """A CuPy that cannot be imported gives an error with the reason, never a CPU tensor."""
    code = (
        "import sys; sys.modules['cupy'] = None\n"
        "import tinytensor as tt\n"
        "assert not tt.cuda.is_available() and 'cupy' in tt.cuda.why_not().lower()\n"
        "try:\n    tt.zeros(2, device='cuda')\n"
        "except RuntimeError as error:\n    print('pip install' in str(error))\n"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "True"


@pytest.mark.cuda
def test_cuda_is_cuda() -> None:
    import cupy

    x = tt.randn(4, 5, device="cuda", requires_grad=True)
    assert isinstance(x.data, cupy.ndarray) and tt.device("gpu") is tt.device("cuda")
    (x @ x.T).sum().backward()
    assert x.grad is not None and isinstance(x.grad.data, cupy.ndarray)
    tt.cuda.synchronize()
    with warnings.catch_warnings(), pytest.raises(TypeError):
        warnings.simplefilter("ignore")
        np.asarray(x)
