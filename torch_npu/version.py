"""The package's version, in the one place that states it.

It begins with the PyTorch version that the package serves, so that a downstream check such as
``torch_npu.__version__.startswith("2.13")`` holds, and ends with a local label of our own, which
tells it from Ascend's package.
"""

__version__ = "2.13.0+soft0.1.0"
