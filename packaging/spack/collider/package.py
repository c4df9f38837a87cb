# A package for Spack: put this folder into `packages/` of a repository of yours (spack repo create).
from spack.package import *


class Collider(CMakePackage):
    """Data races in CUDA programs, with and without a GPU."""

    license("Apache-2.0")
    version("main", branch="main")

    generator("ninja")
    depends_on("c", type="build")
    depends_on("cmake@3.22:", type="build")
    depends_on("pkgconfig", type="build")
    # nvcc for the GPU's half and, at run time, for `collider nvcc`.
    depends_on("cuda@13:", type=("build", "link", "run"))
    depends_on("cjson")
    depends_on("elfutils")
    depends_on("lz4")
    depends_on("sqlite")
    depends_on("uthash")
    depends_on("z3")
    depends_on("zstd")
    depends_on("cmocka")
    depends_on("zydis")

    conflicts("target=aarch64:", msg="x86-64 only")

    def cmake_args(self):
        return [self.define("COLLIDER_WERROR", False)]

    @run_after("install")
    @on_package_attributes(run_tests=True)
    def check_version(self):
        Executable(self.prefix.bin.collider)("--version")
