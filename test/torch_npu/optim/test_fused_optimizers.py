"""Fused optimizers, beside PyTorch's own or their formulas written out."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable

import pytest
import torch

from torch_npu import optim

_STEPS = 4


def _model() -> torch.nn.Module:
    torch.manual_seed(3)
    return torch.nn.Sequential(torch.nn.Linear(5, 4), torch.nn.Tanh(), torch.nn.Linear(4, 2))


def _train(model: torch.nn.Module, make: Callable, steps: int = _STEPS) -> torch.optim.Optimizer:
    """Steps on a loss whose gradients stay apart from zero."""
    groups = [{"params": model[0].parameters()}, {"params": model[2].parameters(), "lr": 0.02}]
    optimizer = make(groups)
    _go_on(model, optimizer, steps)
    return optimizer


def _go_on(model: torch.nn.Module, optimizer: torch.optim.Optimizer, steps: int) -> None:
    generator = torch.Generator().manual_seed(9)
    device = next(model.parameters()).device
    for _ in range(steps):
        x = torch.randn(8, 5, generator=generator).to(device)
        optimizer.zero_grad()
        ((model(x) - 3) ** 2).mean().backward()
        optimizer.step()


def _assert_equal(model: torch.nn.Module, reference: torch.nn.Module) -> None:
    for name, value in model.state_dict().items():
        torch.testing.assert_close(
            value.cpu(), reference.state_dict()[name], atol=1e-5, rtol=1e-4, msg=name
        )


@pytest.mark.covers(
    "torch_npu.optim.NpuFusedAdadelta",
    "torch_npu.optim.NpuFusedAdam",
    "torch_npu.optim.NpuFusedAdamW",
    "torch_npu.optim.NpuFusedRMSprop",
    "torch_npu.optim.NpuFusedSGD",
    "torch_npu.optim.NpuFusedSGD.step",
    traced=False,  # each run is of one of them
)
@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("Adadelta", {"lr": 0.5, "weight_decay": 0.1}),
        ("Adam", {"lr": 0.01, "weight_decay": 0.1}),
        ("Adam", {"lr": 0.01, "amsgrad": True}),
        ("AdamW", {"lr": 0.01}),
        ("AdamW", {"lr": 0.01, "weight_decay": 0.2, "amsgrad": True}),
        ("RMSprop", {"lr": 0.01, "weight_decay": 0.1}),
        ("RMSprop", {"lr": 0.01, "momentum": 0.9, "centered": True}),
        ("SGD", {"lr": 0.05}),
        ("SGD", {"lr": 0.05, "momentum": 0.9, "dampening": 0.3, "weight_decay": 0.1}),
        ("SGD", {"lr": 0.05, "momentum": 0.9, "nesterov": True}),
    ],
)
def test_updates_and_states_are_those_of_pytorch(name: str, options: dict) -> None:
    model, reference = _model().npu(), _model()
    made = _train(model, lambda groups: getattr(optim, f"NpuFused{name}")(groups, **options))
    theirs = _train(reference, lambda groups: getattr(torch.optim, name)(groups, **options))
    _assert_equal(model, reference)
    for ours, other in zip(model.parameters(), reference.parameters(), strict=True):
        for key, value in theirs.state[other].items():
            if isinstance(value, torch.Tensor) and value.dim():
                torch.testing.assert_close(
                    made.state[ours][key].cpu(), value, atol=1e-5, rtol=1e-4, msg=key
                )


def _by_formula(update: Callable, options: dict) -> torch.nn.Module:
    """Trains on the CPU with `update(group options, parameter, state, step)`."""
    model = _model()

    class Plain(torch.optim.Optimizer):
        @torch.no_grad()
        def step(self) -> None:
            for group in self.param_groups:
                gradients = [p.grad for p in group["params"]]
                for p in group["params"]:
                    state = self.state[p]
                    state["step"] = state.get("step", 0) + 1
                    update(group, p, state, state["step"], gradients)

    _train(model, lambda groups: Plain(groups, options))
    return model


def _moments(p, state, beta1, beta2, gradient):
    m = state["m"] = beta1 * state.get("m", 0) + (1 - beta1) * gradient
    v = state["v"] = beta2 * state.get("v", 0) + (1 - beta2) * gradient**2
    return m, v


@pytest.mark.covers(
    "torch_npu.optim.NpuFusedBertAdam",
)
@pytest.mark.parametrize("schedule", ["linear", "constant", "cosine", "poly"])
def test_bert_adam(schedule: str) -> None:
    factors = {
        "linear": lambda done: max((done - 1) / (0.3 - 1), 0),
        "constant": lambda done: 1.0,
        "cosine": lambda done: 0.5 * (1 + math.cos(math.pi * done)),
        "poly": lambda done: (1 - done) ** 0.5,
    }

    def update(group, p, state, step, gradients):
        if p is group["params"][0]:
            norm = torch.cat([g.flatten() for g in gradients]).norm()
            for g in gradients:
                g.mul_(min(1.0, 0.5 / (norm + 1e-6)))
        m, v = _moments(p, state, 0.8, 0.9, p.grad)
        done = (step - 1) / 5
        rate = done / 0.3 if done < 0.3 else factors[schedule](done)
        p -= group["lr"] * rate * (m / (v.sqrt() + 1e-6) + 0.1 * p)

    reference = _by_formula(update, {"lr": 0.01})
    model = _model().npu()
    _train(
        model,
        lambda groups: optim.NpuFusedBertAdam(
            groups,
            lr=0.01,
            warmup=0.3,
            t_total=5,
            schedule=f"warmup_{schedule}",
            b1=0.8,
            b2=0.9,
            weight_decay=0.1,
            max_grad_norm=0.5,
        ),
    )
    _assert_equal(model, reference)


@pytest.mark.covers("torch_npu.optim.NpuFusedLamb", "torch_npu.optim.NpuFusedLamb.step")
@pytest.mark.parametrize("adam", [False, True])
def test_lamb(adam: bool) -> None:
    def update(group, p, state, step, gradients):
        m, v = _moments(p, state, 0.9, 0.999, p.grad)
        change = m / (v.sqrt() + 1e-6) + 0.1 * p
        if not adam:
            change = change * (p.norm().clamp(max=10) / change.norm())
        p -= group["lr"] * change

    reference = _by_formula(update, {"lr": 0.01})
    model = _model().npu()
    _train(model, lambda groups: optim.NpuFusedLamb(groups, 0.01, weight_decay=0.1, adam=adam))
    _assert_equal(model, reference)


def test_lamb_limits_the_norm_of_all_gradients() -> None:
    weight = torch.nn.Parameter(torch.full((3,), 2.0, device="npu"))
    optimizer = optim.NpuFusedLamb([weight], lr=0.0, use_global_grad_norm=True)
    (weight * 100).sum().backward()
    optimizer.step()
    assert weight.grad.norm().item() == pytest.approx(1, abs=1e-4)


@pytest.mark.covers("torch_npu.optim.NpuFusedRMSpropTF")
@pytest.mark.parametrize("decoupled", [False, True])
@pytest.mark.parametrize("in_momentum", [False, True])
def test_rmsprop_in_tensorflows_manner(decoupled: bool, in_momentum: bool) -> None:
    def update(group, p, state, step, gradients):
        gradient = p.grad
        if decoupled:
            p *= 0.9
        else:
            gradient = gradient + 0.1 * p
        square = state["s"] = state.get("s", torch.ones_like(p)) * 0.9 + 0.1 * gradient**2
        change = gradient / (square + 1e-10).sqrt()
        scale = group["lr"] if in_momentum else 1
        buffer = state["b"] = state.get("b", 0) * 0.8 + scale * change
        p -= buffer * (1 if in_momentum else group["lr"])

    reference = _by_formula(update, {"lr": 0.01})
    model = _model().npu()
    _train(
        model,
        lambda groups: optim.NpuFusedRMSpropTF(
            groups,
            weight_decay=0.1,
            momentum=0.8,
            decoupled_decay=decoupled,
            lr_in_momentum=in_momentum,
        ),
    )
    _assert_equal(model, reference)


@pytest.mark.covers("torch_npu.optim.NpuFusedAdamP", "torch_npu.optim.NpuFusedAdamP.step")
@pytest.mark.parametrize("delta", [0.0, 100.0])
@pytest.mark.parametrize("nesterov", [False, True])
def test_adamp_projects_where_the_cosine_is_small(delta: float, nesterov: bool) -> None:
    def update(group, p, state, step, gradients):
        m, v = _moments(p, state, 0.9, 0.999, p.grad)
        m_now = 0.9 * m + 0.1 * p.grad if nesterov else m
        change = m_now / (v.sqrt() / math.sqrt(1 - 0.999**step) + 1e-8)
        ratio = 1.0
        if p.dim() > 1 and delta:
            rows = p / (p.norm(dim=1, keepdim=True) + 1e-8)
            change = change - rows * (rows * change).sum(1, keepdim=True)
            ratio = 0.3
        p *= 1 - group["lr"] * 0.1 * ratio
        p -= group["lr"] / (1 - 0.9**step) * change

    reference = _by_formula(update, {"lr": 0.01})
    model = _model().npu()
    _train(
        model,
        lambda groups: optim.NpuFusedAdamP(
            groups, 0.01, weight_decay=0.1, delta=delta, wd_ratio=0.3, nesterov=nesterov
        ),
    )
    _assert_equal(model, reference)


def _sgd(model: torch.nn.Module) -> optim.NpuFusedSGD:
    return optim.NpuFusedSGD(model.parameters(), lr=0.1, momentum=0.9)


@pytest.mark.covers(
    "torch_npu.optim.NpuFusedOptimizerBase",
    "torch_npu.optim.NpuFusedOptimizerBase.get_combined_grads",
    "torch_npu.optim.NpuFusedOptimizerBase.get_combined_params",
    "torch_npu.optim.NpuFusedOptimizerBase.step",
    "torch_npu.optim.NpuFusedOptimizerBase.zero_grad",
)
def test_parameters_and_gradients_are_parts_of_one_tensor_a_dtype() -> None:
    model = _model().npu()
    model[2].half()
    optimizer = optim.NpuFusedSGD(
        [{"params": model[0].parameters()}, {"params": model[2].parameters()}], lr=0.1
    )
    loss = model[0](torch.ones(1, 5, device="npu")).sum()
    loss = loss + model[2](torch.ones(1, 4, device="npu").half()).sum()
    loss.backward()
    before = [p.detach().clone() for p in model.parameters()]
    optimizer.step()
    values, gradients = optimizer.get_combined_params(), optimizer.get_combined_grads()
    assert [one.dtype for one in values] == [torch.float32, torch.float16]
    assert [one.numel() for one in gradients] == [24, 10]
    for old, parameter in zip(before, model.parameters(), strict=True):
        torch.testing.assert_close(parameter.detach(), old - 0.1 * parameter.grad)
    values[0].fill_(7)
    assert model[0].weight.detach().unique().tolist() == [7]
    optimizer.zero_grad()
    assert all(not one.any() for one in gradients)
    assert not model[0].bias.grad.any()
    with pytest.raises(ValueError, match="set_to_none"):
        optimizer.zero_grad(set_to_none=True)


@pytest.mark.covers("torch_npu.optim.NpuFusedOptimizerBase.clip_grad_norm_fused_")
@pytest.mark.parametrize("norm_type", [2, 1, math.inf])
def test_gradients_are_clipped_by_their_common_norm(norm_type: float) -> None:
    model, reference = _model().npu(), _model()
    for one in (model, reference):
        (one(torch.ones(3, 5, device=next(one.parameters()).device)) * 50).sum().backward()
    optimizer = optim.NpuFusedSGD(model.parameters(), lr=0.1)
    expected = torch.nn.utils.clip_grad_norm_(reference.parameters(), 0.7, norm_type)
    norm = optimizer.clip_grad_norm_fused_(0.7, norm_type)
    torch.testing.assert_close(norm.cpu(), expected, rtol=1e-4, atol=1e-5)
    for ours, theirs in zip(model.parameters(), reference.parameters(), strict=True):
        torch.testing.assert_close(ours.grad.cpu(), theirs.grad, rtol=1e-3, atol=1e-5)
    empty = optim.NpuFusedSGD([torch.nn.Parameter(torch.ones(2, device="npu"))], lr=0.1)
    assert empty.clip_grad_norm_fused_(1.0).item() == 0


def test_replaced_gradients_and_loaded_states_are_combined_again() -> None:
    model, reference = _model().npu(), _model()
    optimizer = _sgd(model)
    theirs = torch.optim.SGD(reference.parameters(), lr=0.1, momentum=0.9)
    for one, own in ((model, optimizer), (reference, theirs)):
        _go_on(one, own, 2)
        one.zero_grad(set_to_none=True)
        _go_on(one, own, 1)
    _assert_equal(model, reference)
    restored = _sgd(model)
    restored.load_state_dict(copy.deepcopy(optimizer.state_dict()))
    _go_on(model, restored, 2)
    _go_on(reference, theirs, 2)
    _assert_equal(model, reference)


def test_closure_is_called_with_gradients_enabled_and_returned() -> None:
    weight = torch.nn.Parameter(torch.ones(1, device="npu"))
    for optimizer in (optim.NpuFusedSGD([weight], lr=0.1), optim.NpuFusedLamb([weight])):

        def closure() -> torch.Tensor:
            optimizer.zero_grad()  # noqa: B023
            loss = (weight**2).sum()
            loss.backward()
            return loss

        assert optimizer.step(closure).item() > 0


def test_what_cannot_be_combined_is_refused() -> None:
    weight = torch.nn.Parameter(torch.ones(2, device="npu", dtype=torch.bfloat16))
    weight.sum().backward()
    with pytest.raises(TypeError, match="bfloat16"):
        optim.NpuFusedAdam([weight]).step()
    sparse = torch.nn.Parameter(torch.ones(2, 2))
    sparse.grad = torch.eye(2).to_sparse()
    with pytest.raises(RuntimeError, match="sparse"):
        optim.NpuFusedAdam([sparse]).step()
    host = torch.nn.Parameter(torch.ones(2))
    host.sum().backward()
    with pytest.raises(RuntimeError, match="must be on one npu"):
        optim.NpuFusedAdam([host]).step()
    plain = torch.nn.Parameter(torch.ones(2, device="npu"))
    plain.sum().backward()
    base = optim.NpuFusedOptimizerBase([plain], {"lr": 1})
    with pytest.raises(NotImplementedError, match="subclass"):
        base.step()


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("Adam", {"lr": -1}, "lr"),
        ("AdamW", {"betas": (0.9, 1.0)}, r"betas\[1\]"),
        ("SGD", {}, "lr"),
        ("SGD", {"lr": 1, "nesterov": True}, "Nesterov"),
        ("Adadelta", {"rho": 2}, "rho"),
        ("BertAdam", {"lr": 1, "warmup": 2}, "warmup"),
        ("BertAdam", {"lr": 1, "schedule": "none"}, "schedule"),
    ],
)
def test_arguments_out_of_range_are_named(name: str, options: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        getattr(optim, f"NpuFused{name}")([torch.ones(1)], **options)


def _ones(*sizes: int) -> torch.Tensor:
    return torch.ones(sizes, device="npu")


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("grads", lambda: [_ones(3, 3)], "same dtypes, sizes and strides"),
        ("grads", lambda: [_ones(4, 3).t()], "same dtypes, sizes and strides"),
        ("grads", lambda: [_ones(3, 4).half()], "same dtypes, sizes and strides"),
        ("grads", list, "a tensor for each of 1 parameters, but got 0"),
        ("states", lambda: [_ones(12)], "same dtypes, sizes and strides"),
        ("steps", lambda: [_ones(2)], "steps of one element"),
        ("params", lambda: [_ones(3, 8)[:, ::2]], "parameters without gaps"),
    ],
)
def test_fused_kernels_refuse_memory_that_does_not_fit(
    name: str, value: Callable[[], list[torch.Tensor]], message: str
) -> None:
    """ATen's kernels would read and write past its end."""
    lists = {"params": [_ones(3, 4)], "grads": [_ones(3, 4)], "states": [_ones(3, 4)]}
    lists = {**lists, "steps": [_ones(1)], name: value()}
    params, grads, states, steps = lists.values()
    common = {"lr": 0.1, "weight_decay": 0.0, "maximize": False}
    with pytest.raises(RuntimeError, match=message):
        torch._fused_adagrad_(params, grads, states, steps, lr_decay=0.0, eps=1e-8, **common)
    adam = {"beta1": 0.9, "beta2": 0.99, "eps": 1e-8, "amsgrad": False, **common}
    for operator in (torch._fused_adam_, torch._fused_adamw_):
        with pytest.raises(RuntimeError, match=message):
            operator(params, grads, states, states, [], steps, **adam)
    if name != "steps":
        sgd = {"momentum": 0.9, "dampening": 0.0, "nesterov": False, "is_first_step": True}
        with pytest.raises(RuntimeError, match=message):
            torch._fused_sgd_(params, grads, states, **sgd, **common)


@pytest.mark.parametrize("make", [torch.optim.Adam, torch.optim.AdamW, torch.optim.SGD])
def test_fused_steps_of_channels_last_weights(make: Callable) -> None:
    torch.manual_seed(1)
    reference = torch.nn.Conv2d(3, 4, 3).to(memory_format=torch.channels_last)
    model = copy.deepcopy(reference).npu()
    assert model.weight.stride() == reference.weight.stride()
    x = torch.randn(2, 3, 5, 5).to(memory_format=torch.channels_last)
    for module, fused in ((reference, False), (model, True)):
        optimizer = make(module.parameters(), lr=0.1, fused=fused)
        for _ in range(3):
            optimizer.zero_grad()
            module(x.to(module.weight.device)).square().mean().backward()
            optimizer.step()
    _assert_equal(model, reference)
