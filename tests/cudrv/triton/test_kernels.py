"""
test_kernels.py - for pytest --collider: the kernels of kernels.py. Each test of test_racy fails, by the plug-in alone,
with two Python lines; those of test_right don't (tests/cudrv/triton/all.sh).
"""
import kernels
import pytest


@pytest.mark.parametrize("run", kernels.RIGHT, ids=lambda f: f.__name__)
def test_right(run):
    assert run()


@pytest.mark.parametrize("run", kernels.RACY, ids=lambda f: f.__name__)
def test_racy(run):
    assert run()
