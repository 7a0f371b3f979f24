"""What tests of `npu` programs use, on `torch.testing._internal`: it needs numpy and expecttest.

`testcase` has the test class, `common_utils` and `common_distributed` its helpers, `decorator`
makes one test of each dtype, format or operator. Importing any of them starts no device.
"""
