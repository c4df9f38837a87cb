"""
collider_triton - Triton's kernels on Collider's CPU device, with no GPU and no C compiler.

Under `collider run --device=cpu` it is active by itself (sitecustomize.py); elsewhere it does nothing. Where
the package is installed, Triton knows it as its backend "collider", too (TRITON_DEFAULT_BACKEND).
Arguments are what Triton takes (numbers, objects with data_ptr() and dtype) and tensors of torch's CPU, which
kernels access where they lie: get_active_torch_device() is torch.device("cpu").
"""
import os

IS_ON = "COLLIDER_CPU" in os.environ


def activate(config=None):
    """Makes Triton use the CPU device; `config` is triton.runtime.driver."""
    if not IS_ON:
        raise RuntimeError("collider_triton: this is for programs under `collider run --device=cpu --`")
    if config is None:
        from triton.runtime import driver as config
    from .driver import ColliderDriver

    config.set_active(ColliderDriver())
