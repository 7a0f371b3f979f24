"""Parameters, gradients and states of an optimizer as parts of a few large tensors."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch.optim import Optimizer

from torch_npu.utils.combine_tensors import get_part_combined_tensor, npu_combine_tensors

# The order of the combined tensors that get_combined_params() and get_combined_grads() give.
_DTYPES = (torch.float32, torch.float16)


@dataclasses.dataclass
class Part:
    """The parameters of one group and dtype that have gradients, and their flat tensors."""

    parameters: list[torch.Tensor]
    values: torch.Tensor
    gradients: torch.Tensor
    states: dict[str, torch.Tensor] = dataclasses.field(default_factory=dict)
    is_new: bool = True  # nothing was there to restore the states from

    def split(self, flat: torch.Tensor) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
        """Each parameter, and its part of a flat tensor in its shape."""
        begin = 0
        for parameter in self.parameters:
            yield parameter, flat[begin : begin + parameter.numel()].view(parameter.shape)
            begin += parameter.numel()


class NpuFusedOptimizerBase(Optimizer):
    """Combines what a subclass updates; a subclass has `_update` and `_states`.

    Parameters must be float32 or float16 and contiguous, on one device. What the program replaces
    (a gradient set to `None`, a loaded state) is combined again at the next step.

    Args:
        params: parameters or groups, as for `torch.optim.Optimizer`.
        default: the options of a group that has none of its own.
    """

    def __init__(self, params: Any, default: dict[str, Any]) -> None:
        super().__init__(params, default)
        self._forget()

    def _states(self, group: dict[str, Any]) -> dict[str, float]:
        """The names of each parameter's states with the values that they begin with."""
        raise NotImplementedError(f"{type(self).__name__} has no states: use a subclass")

    def _update(self, group: dict[str, Any], part: Part, step: int) -> None:
        """Changes `part.values` by `part.gradients`; `step` counts from 1."""
        raise NotImplementedError(f"{type(self).__name__} updates nothing: use a subclass")

    @torch.no_grad()
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """One update; `closure`, where given, computes the loss again, and is returned."""
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        self._combine()
        for group, parts in zip(self.param_groups, self._parts, strict=True):
            for part in parts:
                self._combine_states(group, part)
                step = self.state[part.parameters[0]].get("step", 0) + 1
                self._update(group, part, step)
                part.is_new = False
                for parameter in part.parameters:
                    self.state[parameter]["step"] = step
        return loss

    @torch.no_grad()
    def zero_grad(self, set_to_none: bool = False) -> None:
        """Sets the gradients to zero, in place. Raises `ValueError` for `set_to_none`."""
        if set_to_none:
            raise ValueError("set_to_none is not supported: gradients are parts of one tensor")
        self._combine()
        for combined in self._gradients:
            if combined is not None:
                combined.zero_()

    def get_combined_params(self) -> list[torch.Tensor | None]:
        """All parameters with gradients, in float32 and in float16; `None` for a dtype without."""
        self._combine()
        return list(self._values)

    def get_combined_grads(self) -> list[torch.Tensor | None]:
        """Their gradients, likewise."""
        self._combine()
        return list(self._gradients)

    @torch.no_grad()
    def clip_grad_norm_fused_(self, max_norm: float, norm_type: float = 2) -> torch.Tensor:
        """`torch.nn.utils.clip_grad_norm_` of all gradients; gives their norm before."""
        gradients = [one for one in self.get_combined_grads() if one is not None]
        if not gradients:
            return torch.tensor(0.0)
        norms = torch.stack([torch.linalg.vector_norm(one.float(), norm_type) for one in gradients])
        norm = torch.linalg.vector_norm(norms, norm_type)
        factor = (max_norm / (norm + 1e-6)).clamp(max=1.0)
        for one in gradients:
            one.mul_(factor.to(one.dtype))
        return norm

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """As PyTorch's; the loaded states are combined at the next step."""
        super().load_state_dict(state_dict)
        self._forget()

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """As PyTorch's; everything is combined again at the next step."""
        super().add_param_group(param_group)
        self._forget()

    def _forget(self) -> None:
        self._parts: list[list[Part]] = []
        self._values: list[torch.Tensor | None] = [None, None]
        self._gradients: list[torch.Tensor | None] = [None, None]

    def _with_gradients(self) -> list[torch.Tensor]:
        """In the order of the combined tensors: by dtype, then by group."""
        found: list[torch.Tensor] = []
        for dtype in _DTYPES:
            for group in self.param_groups:
                found += [p for p in group["params"] if p.grad is not None and p.dtype == dtype]
        return found

    def _is_combined(self, parameters: list[torch.Tensor]) -> bool:
        """Whether all of them and their gradients still are where they were put."""
        if not self._parts:
            return False
        remaining = iter(parameters)
        for values, gradients in zip(self._values, self._gradients, strict=True):
            if values is None or gradients is None:
                continue
            value, gradient = values.data_ptr(), gradients.data_ptr()
            end = value + values.nbytes
            while value < end:
                parameter = next(remaining, None)
                if parameter is None or parameter.grad is None:
                    return False
                if parameter.data_ptr() != value or parameter.grad.data_ptr() != gradient:
                    return False
                value += parameter.nbytes
                gradient += parameter.nbytes
        return next(remaining, None) is None

    @torch.no_grad()
    def _combine(self) -> None:
        parameters = self._with_gradients()
        self._refuse_other_dtypes()
        if self._is_combined(parameters):
            return
        # An empty parameter has no place of its own, and nothing to update.
        parameters = [parameter for parameter in parameters if parameter.numel()]
        self._forget()
        for index, dtype in enumerate(_DTYPES):
            own = [parameter for parameter in parameters if parameter.dtype == dtype]
            for parameter in own:
                assert parameter.grad is not None
                if parameter.grad.is_sparse:
                    raise RuntimeError(f"{type(self).__name__} does not take sparse gradients")
                if not parameter.grad.is_contiguous():
                    parameter.grad = parameter.grad.contiguous()
            self._values[index] = npu_combine_tensors(own)
            self._gradients[index] = npu_combine_tensors([p.grad for p in own])  # type: ignore[misc]
        self._parts = list(self._group_parts())

    def _refuse_other_dtypes(self) -> None:
        for group in self.param_groups:
            for parameter in group["params"]:
                if parameter.grad is not None and parameter.dtype not in _DTYPES:
                    raise TypeError(
                        f"parameters must be float32 or float16, but one is {parameter.dtype}: "
                        "use an optimizer of torch.optim with fused=True"
                    )

    def _group_parts(self) -> Iterator[list[Part]]:
        begins = [0, 0]
        for group in self.param_groups:
            parts = []
            for index, dtype in enumerate(_DTYPES):
                own = [
                    p
                    for p in group["params"]
                    if p.grad is not None and p.dtype == dtype and p.numel()
                ]
                size = sum(parameter.numel() for parameter in own)
                values = get_part_combined_tensor(self._values[index], begins[index], size)
                gradients = get_part_combined_tensor(self._gradients[index], begins[index], size)
                begins[index] += size
                if values is not None and gradients is not None:
                    parts.append(Part(own, values, gradients))
            yield parts

    def _combine_states(self, group: dict[str, Any], part: Part) -> None:
        for name, begin in self._states(group).items():
            if name in part.states:
                continue
            flat = torch.full_like(part.values, begin)
            for parameter, own in part.split(flat):
                if name in self.state[parameter]:
                    own.copy_(self.state[parameter][name])
                    part.is_new = False
                self.state[parameter][name] = own
            part.states[name] = flat


def bias_corrected(
    part: Part,
    gradients: torch.Tensor,
    betas: tuple[float, float],
    eps: float,
    step: int,
    largest: bool = False,
) -> tuple[torch.Tensor, float]:
    """Adam's moments after one more gradient: the denominator, and the factor of the numerator.

    The first moment is `part.states["exp_avg"]`; with `largest` the second is the largest so far.
    """
    average, square = part.states["exp_avg"], part.states["exp_avg_sq"]
    average.lerp_(gradients, 1 - betas[0])
    square.mul_(betas[1]).addcmul_(gradients, gradients, value=1 - betas[1])
    if largest:
        square = torch.maximum(
            part.states["max_exp_avg_sq"], square, out=part.states["max_exp_avg_sq"]
        )
    denominator = (square.sqrt() / math.sqrt(1 - betas[1] ** step)).add_(eps)
    return denominator, 1 / (1 - betas[0] ** step)
