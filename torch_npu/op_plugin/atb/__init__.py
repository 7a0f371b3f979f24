"""Operators of Ascend Transformer Boost."""
