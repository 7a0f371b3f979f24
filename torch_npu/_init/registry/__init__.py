"""Registration of the `npu` device with PyTorch's components."""
