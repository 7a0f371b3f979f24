"""What importing `torch_npu` does, in the order in which `torch_npu/__init__.py` calls it."""
