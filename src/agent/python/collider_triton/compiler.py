"""
compiler.py - what Triton's list of backends wants beside a driver. Nothing is compiled by it: the CPU device
says that it is a CUDA device, for which Triton's own compiler makes PTX.
"""
from triton.backends.compiler import BaseBackend


class ColliderBackend(BaseBackend):
    @staticmethod
    def supports_target(target):
        return False

    def hash(self):
        return "collider"

    def parse_options(self, options):
        raise NotImplementedError

    def add_stages(self, stages, options, *language):
        raise NotImplementedError

    def load_dialects(self, context):
        raise NotImplementedError

    def get_module_map(self):
        return {}

    def pack_metadata(self, metadata):
        raise NotImplementedError


# A newer Triton may ask for more; whatever it is, it isn't called.
ColliderBackend.__abstractmethods__ = frozenset()
