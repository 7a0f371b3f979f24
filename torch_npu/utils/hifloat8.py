"""HiFloat8: eight bits whose exponent takes more of them the further a number is from one.

Luo et al., "Ascend HiFloat8 Format for Deep Learning". After the sign, a prefix code says how many
bits the exponent has; what it leaves is the mantissa's. An exponent is a sign and a magnitude whose
highest bit, always one, is not stored:

| prefix | exponent bits | exponents | mantissa bits |
|---|---|---|---|
| 11 | 4 | ±8 to ±15 | 1 |
| 10 | 3 | ±4 to ±7 | 2 |
| 01 | 2 | ±2 and ±3 | 3 |
| 001 | 1 | ±1 | 3 |
| 0001 | 0 | 0 | 3 |
| 0000 | 0 | the value is 2^(mantissa - 23), or zero for the mantissa 0 | 3 |

0x80, a negative zero, is nan; 0x6f and 0xef, the largest codes, are the infinities.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable
from typing import Any

import torch
from torch.utils._pytree import tree_map

_NAN, _INFINITY, _SIGN = 0x80, 0x6F, 0x80
# Prefix, how far it is from the lowest bit, exponent bits, mantissa bits.
_FIELDS = (
    (0b11, 5, 4, 1),
    (0b10, 5, 3, 2),
    (0b01, 5, 2, 3),
    (0b001, 4, 1, 3),
    (0b0001, 3, 0, 3),
)
# What the largest code would be worth were it a number; half of the way there rounds to infinity.
_BEYOND = 1.5 * 2.0**15


def _magnitude(code: int) -> float:
    """The value of a code without a sign."""
    if code == _INFINITY:
        return math.inf
    if code >> 3 == 0:
        return 2.0 ** (code - 23) if code else 0.0
    exponent_bits, mantissa_bits = next(
        fields for prefix, shift, *fields in _FIELDS if code >> shift == prefix
    )
    mantissa = 1 + (code & ((1 << mantissa_bits) - 1)) / (1 << mantissa_bits)
    if exponent_bits == 0:
        return mantissa
    field = (code >> mantissa_bits) & ((1 << exponent_bits) - 1)
    size = (1 << (exponent_bits - 1)) | (field & ((1 << (exponent_bits - 1)) - 1))
    negative = field >> (exponent_bits - 1)
    return mantissa * 2.0 ** (-size if negative else size)


@functools.cache
def _values(device: torch.device) -> torch.Tensor:
    """The value of each of the 256 codes."""
    magnitudes = torch.tensor([_magnitude(code) for code in range(128)])
    values = torch.cat([magnitudes, -magnitudes])
    values[_NAN] = math.nan
    return values.to(device)


@functools.cache
def _rounding(device: torch.device) -> tuple[torch.Tensor, torch.Tensor]:
    """Where rounding goes over to the next value, and the codes by their value."""
    codes = sorted(range(128), key=_magnitude)
    values = [_magnitude(code) for code in codes[:-1]] + [_BEYOND]
    middles = [(low + high) / 2 for low, high in itertools.pairwise(values)]
    return (
        torch.tensor(middles, device=device),
        torch.tensor(codes, dtype=torch.uint8, device=device),
    )


def encode(tensor: torch.Tensor) -> torch.Tensor:
    """The nearest codes, as uint8; a tie goes away from zero, what is too large to infinity."""
    middles, codes = _rounding(tensor.device)
    values = tensor.float()
    found = codes[torch.bucketize(values.abs(), middles, right=True)]
    signed = torch.where((values < 0) & (found != 0), found | _SIGN, found)
    return torch.where(values.isnan(), _NAN, signed).to(torch.uint8)


def decode(codes: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """The values of codes."""
    return _values(codes.device)[codes.long()].to(dtype)


class _Encode(torch.autograd.Function):
    """Rounding has the gradient of the identity."""

    @staticmethod
    def forward(ctx: Any, tensor: torch.Tensor) -> torch.Tensor:
        ctx.dtype = tensor.dtype
        return HiFloat8Tensor(data=encode(tensor.detach()), dtype=tensor.dtype)

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> torch.Tensor:
        return gradient.to(ctx.dtype)


class _Decode(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, tensor: HiFloat8Tensor, dtype: torch.dtype) -> torch.Tensor:
        ctx.dtype = tensor.dtype
        return decode(tensor._data, dtype)

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> tuple[torch.Tensor, None]:
        return gradient.to(ctx.dtype), None


_aten = torch.ops.aten
# What moves elements about without looking at them is done to the codes.
_ON_CODES = {
    _aten.alias.default,
    _aten.as_strided.default,
    _aten.clone.default,
    _aten.detach.default,
    _aten.expand.default,
    _aten.permute.default,
    _aten.select.int,
    _aten.slice.Tensor,
    _aten.squeeze.dim,
    _aten.t.default,
    _aten.transpose.int,
    _aten.unsqueeze.default,
    _aten.view.default,
    _aten._unsafe_view.default,
}


class HiFloat8Tensor(torch.Tensor):
    """A tensor that is stored as HiFloat8 and computes in its nominal dtype.

    Views, copies and indexing keep the codes. Any other operator takes the values and gives an
    ordinary tensor; one that writes into this tensor rounds what it wrote.

    Args:
        data: the codes, of a dtype of one byte.
        dtype: the nominal dtype.
    """

    _data: torch.Tensor

    @staticmethod
    def __new__(
        cls: type[HiFloat8Tensor], *, data: torch.Tensor, dtype: torch.dtype = torch.float32
    ) -> HiFloat8Tensor:
        if data.element_size() != 1:
            raise ValueError(f"data must be of a dtype of one byte, but is of {data.dtype}")
        if not dtype.is_floating_point:
            raise ValueError(f"dtype must be of floating point, but is {dtype}")
        data = data.detach().view(torch.uint8)
        data = data if data.device.type == "npu" else data.to("npu")
        made = torch.Tensor._make_wrapper_subclass(
            cls,
            data.size(),
            strides=data.stride(),
            storage_offset=data.storage_offset(),
            dtype=dtype,
            layout=data.layout,
            device=data.device,
        )
        made._data = data
        return made

    __torch_function__ = torch._C._disabled_torch_function_impl  # type: ignore[assignment]

    @classmethod
    def make_like(
        cls, tensor: HiFloat8Tensor, *, data: torch.Tensor, **kwargs: Any
    ) -> HiFloat8Tensor:
        """A tensor of other codes with the nominal dtype of `tensor`, unless `dtype` is given."""
        return cls(data=data, **{"dtype": tensor.dtype, **kwargs})

    @classmethod
    def to_hifloat8(cls, tensor: torch.Tensor) -> HiFloat8Tensor:
        """`tensor` rounded to the nearest HiFloat8; its dtype becomes the nominal one."""
        return _Encode.apply(tensor if tensor.device.type == "npu" else tensor.to("npu"))

    def from_hifloat8(self, dtype: torch.dtype | None = None) -> torch.Tensor:
        """The values, in the nominal dtype by default."""
        return _Decode.apply(self, self.dtype if dtype is None else dtype)

    def float(self) -> torch.Tensor:
        """The values in float32."""
        return self.from_hifloat8(torch.float32)

    def bfloat16(self) -> torch.Tensor:
        """The values in bfloat16."""
        return self.from_hifloat8(torch.bfloat16)

    def half(self) -> torch.Tensor:
        """The values in float16."""
        return self.from_hifloat8(torch.float16)

    def cpu(self) -> torch.Tensor:  # type: ignore[override]
        """The values on the host."""
        return self.from_hifloat8().cpu()

    def tolist(self) -> Any:
        """The values as Python's numbers."""
        return decode(self._data, self.dtype).tolist()

    def to_dtype(self, dtype: torch.dtype) -> HiFloat8Tensor:
        """The same codes under another nominal dtype."""
        return self.make_like(self, data=self._data, dtype=dtype)

    def clone(self) -> HiFloat8Tensor:  # type: ignore[override]
        """A copy of the codes."""
        return super().clone()  # type: ignore[return-value]

    def view(self, *shape: int) -> HiFloat8Tensor:  # type: ignore[override]
        """The same codes in another shape."""
        return super().view(*shape)  # type: ignore[return-value]

    def reshape(self, *shape: int) -> HiFloat8Tensor:  # type: ignore[override]
        """The codes in another shape, copied only where they must be."""
        return super().reshape(*shape)  # type: ignore[return-value]

    def transpose(self, dim0: int, dim1: int) -> HiFloat8Tensor:
        """The same codes with two dimensions exchanged."""
        return super().transpose(dim0, dim1)  # type: ignore[return-value]

    def contiguous(  # type: ignore[override]
        self, *, memory_format: torch.memory_format = torch.contiguous_format
    ) -> HiFloat8Tensor:
        """`self` where its codes are contiguous, and a contiguous copy otherwise."""
        if self._data.is_contiguous(memory_format=memory_format):
            return self
        return super().contiguous(memory_format=memory_format)  # type: ignore[return-value]

    @classmethod
    def __torch_dispatch__(  # type: ignore[override]
        cls, func: Any, types: Any, args: tuple = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        if func in _ON_CODES and isinstance(args[0], cls):
            return cls.make_like(args[0], data=func(args[0]._data, *args[1:], **kwargs))
        written = [
            argument
            for argument, described in zip(args, func._schema.arguments, strict=False)
            if isinstance(argument, cls)
            and described.alias_info is not None
            and described.alias_info.is_write
        ]
        values: dict[int, torch.Tensor] = {}

        def value_of(argument: Any) -> Any:
            if not isinstance(argument, cls):
                return argument
            return values.setdefault(id(argument), decode(argument._data, argument.dtype))

        result = func(*tree_map(value_of, args), **tree_map(value_of, kwargs))
        for tensor in written:
            tensor._data.copy_(encode(values[id(tensor)]))
        return args[0] if written and func._schema.returns else result

    def __repr__(self, *, tensor_contents: Any = None) -> str:  # type: ignore[override]
        return f"HiFloat8Tensor({decode(self._data, self.dtype)})"

    def __reduce_ex__(self, protocol: Any) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return _restore, (self._data, self.dtype)


def _restore(data: torch.Tensor, dtype: torch.dtype) -> HiFloat8Tensor:
    return HiFloat8Tensor(data=data, dtype=dtype)
