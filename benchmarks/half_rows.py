"""One call of about a million elements for every ATen function of the operator table that takes
half precision. `calls()` gives them by ATen name; where the schema says all that a call needs
(elementwise functions, reductions), the call is made from the schema. As a program it measures
them all:

    python -m benchmarks.half_rows [--only mm] [--out build/half_rows.tsv]
"""

from __future__ import annotations

import argparse
import pathlib
import statistics
import time
from collections.abc import Callable, Iterator

import torch

from operators import schema

Call = Callable[[], object]
TABLE = pathlib.Path(schema.__file__).parent / "table"
aten = torch.ops.aten


class Inputs:
    """Random tensors of one dtype on one device; the same numbers for each of them."""

    def __init__(self, dtype: torch.dtype, device: str) -> None:
        self.dtype = dtype
        self.device = device
        self._generator = torch.Generator().manual_seed(0)

    def __call__(self, *shape: int) -> torch.Tensor:
        """Numbers between 0.1 and 0.9, (1024, 1024) unless a shape is given."""
        return self.float32(*shape).to(self.dtype)

    def float32(self, *shape: int) -> torch.Tensor:
        numbers = torch.rand(shape or (1024, 1024), generator=self._generator)
        return (numbers * 0.8 + 0.1).to(self.device)

    def index(self, limit: int, *shape: int) -> torch.Tensor:
        return torch.randint(limit, shape, generator=self._generator).to(self.device)

    def mask(self, *shape: int) -> torch.Tensor:
        return (torch.rand(shape or (1024, 1024), generator=self._generator) < 0.5).to(self.device)

    def zeros(self, *shape: int) -> torch.Tensor:
        return torch.zeros(shape, dtype=self.dtype, device=self.device)


def images(x: Inputs) -> torch.Tensor:
    return x(16, 64, 32, 32)


def volumes(x: Inputs) -> torch.Tensor:
    return x(4, 16, 16, 32, 32)


def _backward_of(
    forward: Callable[..., object], shape: tuple[int, ...], **keywords: object
) -> Callable[[Inputs], Call]:
    """The backward pass of a function of one tensor."""

    def prepare(x: Inputs) -> Call:
        leaf = x(*shape).requires_grad_()
        out = forward(leaf, **keywords)
        out = out[0] if isinstance(out, tuple) else out
        assert isinstance(out, torch.Tensor)
        grad = torch.ones_like(out)
        return lambda: torch.autograd.grad(out, leaf, grad, retain_graph=True)

    return prepare


IMAGES = (16, 64, 32, 32)
VOLUMES = (4, 16, 16, 32, 32)
LINES = (64, 64, 256)
SMALLER = ((16, 64, 256), (16, 16, 32, 32), (4, 16, 8, 16, 16))  # by dimensions
# ATen's name, dimensions and the name for torch.nn.functional.
RESAMPLING = (
    ("nearest", 1, "nearest"),
    ("nearest", 2, "nearest"),
    ("nearest", 3, "nearest"),
    ("_exact", 1, "nearest-exact"),
    ("_exact", 2, "nearest-exact"),
    ("_exact", 3, "nearest-exact"),
    ("linear", 1, "linear"),
    ("bilinear", 2, "bilinear"),
    ("bicubic", 2, "bicubic"),
    ("trilinear", 3, "trilinear"),
)
PADDING = (("reflection", "reflect"), ("replication", "replicate"))
LOSSES = (
    "mse_loss",
    "smooth_l1_loss",
    "huber_loss",
    "binary_cross_entropy",
    "soft_margin_loss",
    "l1_loss",
    "kl_div",
    "binary_cross_entropy_with_logits",
)
F = torch.nn.functional


def _lists(x: Inputs) -> list[torch.Tensor]:
    return [x(512, 512) for _ in range(4)]


def _optimizer(name: str) -> Callable[[Inputs], Call]:
    function = getattr(aten, name).default

    def prepare(x: Inputs) -> Call:
        parameters, gradients, first, second = (_lists(x) for _ in range(4))
        steps = [torch.ones((), device=x.device) for _ in parameters]
        if name == "_fused_sgd_":
            return lambda: function(
                parameters, gradients, first, weight_decay=0.01, momentum=0.9, lr=0.1,
                dampening=0.0, nesterov=False, maximize=False, is_first_step=False,
            )  # fmt: skip
        if name == "_fused_adagrad_":
            return lambda: function(
                parameters, gradients, first, steps, lr=0.1, lr_decay=0.0, weight_decay=0.01,
                eps=1e-8, maximize=False,
            )  # fmt: skip
        return lambda: function(
            parameters, gradients, first, second, [], steps, lr=0.1, beta1=0.9, beta2=0.99,
            weight_decay=0.01, eps=1e-8, amsgrad=False, maximize=False,
        )  # fmt: skip

    return prepare


def _recurrent(
    kind: type[torch.nn.LSTM | torch.nn.GRU], backward: bool
) -> Callable[[Inputs], Call]:
    def prepare(x: Inputs) -> Call:
        torch.manual_seed(0)
        model = kind(256, 256).to(x.device, x.dtype)
        inputs = x(64, 64, 256)
        if not backward:
            return torch.no_grad()(lambda: model(inputs))
        return lambda: model(inputs)[0].sum().backward()

    return prepare


def _attention(backward: bool) -> Callable[[Inputs], Call]:
    def prepare(x: Inputs) -> Call:
        q, k, v = (x(4, 8, 512, 64).requires_grad_(backward) for _ in range(3))
        if not backward:
            return lambda: F.scaled_dot_product_attention(q, k, v)
        return lambda: F.scaled_dot_product_attention(q, k, v).sum().backward()

    return prepare


def _convolution(backward: bool, transposed: bool = False) -> Callable[[Inputs], Call]:
    def prepare(x: Inputs) -> Call:
        inputs, weight = x(16, 64, 32, 32).requires_grad_(backward), x(64, 64, 3, 3)
        weight.requires_grad_(backward)
        function = F.conv_transpose2d if transposed else F.conv2d
        if not backward:
            return lambda: function(inputs, weight, padding=1)
        return lambda: function(inputs, weight, padding=1).sum().backward()

    return prepare


def _batch_norm(x: Inputs) -> tuple[torch.Tensor, ...]:
    inputs, weight, bias, mean, var = images(x), *(x(64) for _ in range(4))
    return inputs, weight, bias, mean, var


def _norm_backward(forward: Callable[..., torch.Tensor], *shape: int) -> Callable[[Inputs], Call]:
    def prepare(x: Inputs) -> Call:
        inputs, weight, bias = (t.requires_grad_() for t in (x(*shape), x(shape[1]), x(shape[1])))
        out = forward(inputs, weight, bias)
        grad = torch.ones_like(out)
        return lambda: torch.autograd.grad(out, (inputs, weight, bias), grad, retain_graph=True)

    return prepare


# What a schema does not tell. A name with ":" is another call of the function before it.
SPECIAL: dict[str, Callable[[Inputs], Call]] = {
    # products
    "mm": lambda x: (lambda a, b: lambda: a @ b)(x(), x()),
    "mm:transposed": lambda x: (lambda a, b: lambda: a @ b.t())(x(), x()),
    "mm:vector": lambda x: (lambda a, b: lambda: a @ b.t())(x(1, 1024), x()),
    "mm:rows": lambda x: (lambda a, b: lambda: a @ b.t())(x(8, 1024), x()),
    "addmm": lambda x: (lambda c, a, b: lambda: torch.addmm(c, a, b))(x(1024), x(), x()),
    "addmm:vector": lambda x: (lambda c, a, b: lambda: F.linear(a, b, c))(x(1024), x(1, 1024), x()),
    "bmm": lambda x: (lambda a, b: lambda: torch.bmm(a, b))(x(16, 256, 256), x(16, 256, 256)),
    "bmm:thin": lambda x: (lambda a, b: lambda: torch.bmm(a, b))(x(64, 1, 64), x(64, 64, 256)),
    "baddbmm": lambda x: (lambda c, a, b: lambda: torch.baddbmm(c, a, b))(
        *(x(16, 256, 256) for _ in range(3))
    ),
    "addbmm": lambda x: (lambda c, a, b: lambda: torch.addbmm(c, a, b))(
        x(256, 256), x(16, 256, 256), x(16, 256, 256)
    ),
    "mv": lambda x: (lambda a, b: lambda: torch.mv(a, b))(x(), x(1024)),
    "addmv": lambda x: (lambda c, a, b: lambda: torch.addmv(c, a, b))(x(1024), x(), x(1024)),
    "dot": lambda x: (lambda a, b: lambda: torch.dot(a, b))(x(1 << 20), x(1 << 20)),
    "vdot": lambda x: (lambda a, b: lambda: torch.vdot(a, b))(x(1 << 20), x(1 << 20)),
    "addr": lambda x: (lambda c, a, b: lambda: torch.addr(c, a, b))(x(), x(1024), x(1024)),
    "_addmm_activation": lambda x: (lambda c, a, b: lambda: aten._addmm_activation(c, a, b))(
        x(1024), x(), x()
    ),
    "linalg_cross": lambda x: (lambda a, b: lambda: torch.linalg.cross(a, b))(
        x(1 << 18, 3), x(1 << 18, 3)
    ),
    "convolution_overrideable": _convolution(backward=False),
    "convolution_overrideable:transposed": _convolution(backward=False, transposed=True),
    "convolution_overrideable:grouped": lambda x: (
        lambda a, w: lambda: F.conv2d(a, w, padding=1, groups=64)
    )(images(x), x(64, 1, 3, 3)),
    "convolution_overrideable:1d": lambda x: (lambda a, w: lambda: F.conv1d(a, w, padding=1))(
        x(64, 64, 256), x(64, 64, 3)
    ),
    "convolution_overrideable:3d": lambda x: (lambda a, w: lambda: F.conv3d(a, w, padding=1))(
        volumes(x), x(16, 16, 3, 3, 3)
    ),
    "convolution_overrideable:small": lambda x: (lambda a, w: lambda: F.conv2d(a, w))(
        x(1, 3, 8, 8), x(4, 3, 3, 3)
    ),
    "convolution_backward_overrideable": _convolution(backward=True),
    "convolution_backward_overrideable:transposed": _convolution(backward=True, transposed=True),
    "scaled_dot_product_attention": _attention(backward=False),
    "scaled_dot_product_attention:backward": _attention(backward=True),
    "lstm": _recurrent(torch.nn.LSTM, backward=False),
    "lstm:backward": _recurrent(torch.nn.LSTM, backward=True),
    "gru": _recurrent(torch.nn.GRU, backward=False),
    "gru:backward": _recurrent(torch.nn.GRU, backward=True),
    "transformer_encoder_layer": lambda x: (lambda m, i: torch.no_grad()(lambda: m(i)))(
        torch.nn.TransformerEncoderLayer(256, 4, 512, batch_first=True)
        .to(x.device, x.dtype)
        .eval(),
        x(16, 256, 256),
    ),
    # normalisation
    "native_batch_norm": lambda x: (lambda t: lambda: torch.native_batch_norm(*t, True, 0.1, 1e-5))(
        _batch_norm(x)
    ),
    "native_batch_norm:evaluation": lambda x: (
        lambda t: lambda: torch.native_batch_norm(*t, False, 0.1, 1e-5)
    )(_batch_norm(x)),
    "native_batch_norm_backward": _norm_backward(
        lambda i, w, b: F.batch_norm(i, None, None, w, b, training=True), *IMAGES
    ),
    "native_layer_norm": lambda x: (lambda i, w, b: lambda: F.layer_norm(i, (1024,), w, b))(
        x(), x(1024), x(1024)
    ),
    "native_layer_norm_backward": _norm_backward(
        lambda i, w, b: F.layer_norm(i, (1024,), w, b), 1024, 1024
    ),
    "native_group_norm": lambda x: (lambda i, w, b: lambda: F.group_norm(i, 8, w, b))(
        images(x), x(64), x(64)
    ),
    "native_group_norm_backward": _norm_backward(lambda i, w, b: F.group_norm(i, 8, w, b), *IMAGES),
    "_weight_norm_interface": lambda x: (lambda v, g: lambda: aten._weight_norm_interface(v, g))(
        x(), x(1024, 1)
    ),
    "renorm": lambda x: (lambda i: lambda: torch.renorm(i, 2, 0, 1.0))(x()),
    "embedding_renorm_": lambda x: (lambda w, i: lambda: aten.embedding_renorm_(w, i, 1.0, 2.0))(
        x(), x.index(1024, 512)
    ),
    # activations with more than one argument, and their gradients
    "_prelu_kernel": lambda x: (lambda i, w: lambda: F.prelu(i, w))(x(), x(1024)),
    "_prelu_kernel_backward": _backward_of(
        lambda t: F.prelu(t, torch.ones(1, dtype=t.dtype, device=t.device)), (1024, 1024)
    ),
    "_softmax": lambda x: (lambda i: lambda: torch.softmax(i, -1))(x()),
    "_softmax:first": lambda x: (lambda i: lambda: torch.softmax(i, 0))(x()),
    "_log_softmax": lambda x: (lambda i: lambda: torch.log_softmax(i, -1))(x()),
    "_log_softmax:first": lambda x: (lambda i: lambda: torch.log_softmax(i, 0))(x()),
    "_softmax_backward_data": _backward_of(lambda t: torch.softmax(t, -1), (1024, 1024)),
    "_log_softmax_backward_data": _backward_of(lambda t: torch.log_softmax(t, -1), (1024, 1024)),
    "_safe_softmax": lambda x: (lambda i: lambda: aten._safe_softmax(i, -1))(x()),
    "_masked_softmax": lambda x: (lambda i, m: lambda: aten._masked_softmax(i, m, -1, 0))(
        x(4, 4, 256, 256), x.mask(256, 256)
    ),
    "log_sigmoid_forward": lambda x: (lambda i: lambda: F.logsigmoid(i))(x()),
    "log_sigmoid_backward": _backward_of(F.logsigmoid, (1024, 1024)),
    "glu": lambda x: (lambda i: lambda: F.glu(i))(x()),
    "glu_backward": _backward_of(F.glu, (1024, 1024)),
    "rrelu_with_noise": lambda x: (lambda i: lambda: F.rrelu(i, training=True))(x()),
    "native_dropout": lambda x: (lambda i: lambda: aten.native_dropout(i, 0.5, True))(x()),
    **{
        f"{name}_backward": _backward_of(getattr(F, name), (1024, 1024))
        for name in (
            "elu",
            "gelu",
            "hardsigmoid",
            "hardswish",
            "hardtanh",
            "leaky_relu",
            "mish",
            "silu",
            "softplus",
            "softshrink",
            "hardshrink",
            "sigmoid",
            "tanh",
        )
    },
    "gelu:tanh": lambda x: (lambda i: lambda: F.gelu(i, approximate="tanh"))(x()),
    "gelu_backward:tanh": _backward_of(F.gelu, (1024, 1024), approximate="tanh"),
    "logit_backward": _backward_of(torch.logit, (1024, 1024)),
    # losses
    **{
        name: (lambda f: lambda x: (lambda i, t: lambda: f(i, t))(x(), x()))(getattr(F, name))
        for name in LOSSES
    },
    **{
        f"{name}_backward": (
            lambda f: _backward_of(lambda t: f(t, torch.full_like(t, 0.25)), (1024, 1024))
        )(getattr(F, name))
        for name in LOSSES
    },
    "nll_loss_forward": lambda x: (lambda i, t: lambda: F.nll_loss(i, t))(x(), x.index(1024, 1024)),
    "nll_loss_backward": lambda x: (
        lambda i, t: (lambda out: lambda: torch.autograd.grad(out, i, retain_graph=True))(
            F.nll_loss(i, t)
        )
    )(x().requires_grad_(), x.index(1024, 1024)),
    "nll_loss2d_forward": lambda x: (lambda i, t: lambda: F.nll_loss(i, t))(
        images(x), x.index(64, 16, 32, 32)
    ),
    "cross_entropy_loss": lambda x: (lambda i, t: lambda: F.cross_entropy(i, t))(
        x(), x.index(1024, 1024)
    ),
    "cross_entropy_loss:backward": lambda x: (
        lambda i, t: (lambda out: lambda: torch.autograd.grad(out, i, retain_graph=True))(
            F.cross_entropy(i, t)
        )
    )(x().requires_grad_(), x.index(1024, 1024)),
    "multi_margin_loss": lambda x: (lambda i, t: lambda: F.multi_margin_loss(i, t))(
        x(), x.index(1024, 1024)
    ),
    "multilabel_margin_loss_forward": lambda x: (
        lambda i, t: lambda: F.multilabel_margin_loss(i, t)
    )(x(64, 256), x.index(256, 64, 256)),
    "ctc_loss": lambda x: (lambda i, t: lambda: F.ctc_loss(i, t, [64] * 16, [10] * 16))(
        x(64, 16, 1024).log_softmax(-1), x.index(1023, 16, 10)
    ),
    # pooling, padding, sampling
    "max_pool2d_with_indices": lambda x: (lambda i: lambda: F.max_pool2d(i, 2))(images(x)),
    "max_pool2d_with_indices_backward": _backward_of(
        lambda t: F.max_pool2d_with_indices(t, 2)[0], IMAGES
    ),
    "avg_pool2d": lambda x: (lambda i: lambda: F.avg_pool2d(i, 2))(images(x)),
    "avg_pool2d_backward": _backward_of(lambda t: F.avg_pool2d(t, 2), IMAGES),
    "_adaptive_avg_pool2d": lambda x: (lambda i: lambda: F.adaptive_avg_pool2d(i, 4))(images(x)),
    "_adaptive_avg_pool2d_backward": _backward_of(lambda t: F.adaptive_avg_pool2d(t, 4), IMAGES),
    "adaptive_max_pool2d": lambda x: (lambda i: lambda: F.adaptive_max_pool2d(i, 4))(images(x)),
    "adaptive_max_pool2d_backward": _backward_of(lambda t: F.adaptive_max_pool2d(t, 4), IMAGES),
    "max_pool3d_with_indices": lambda x: (lambda i: lambda: F.max_pool3d(i, 2))(volumes(x)),
    "max_pool3d_with_indices_backward": _backward_of(
        lambda t: F.max_pool3d_with_indices(t, 2)[0], VOLUMES
    ),
    "avg_pool3d": lambda x: (lambda i: lambda: F.avg_pool3d(i, 2))(volumes(x)),
    "avg_pool3d_backward": _backward_of(lambda t: F.avg_pool3d(t, 2), VOLUMES),
    "_adaptive_avg_pool3d": lambda x: (lambda i: lambda: F.adaptive_avg_pool3d(i, 4))(volumes(x)),
    "_adaptive_avg_pool3d_backward": _backward_of(lambda t: F.adaptive_avg_pool3d(t, 4), VOLUMES),
    "adaptive_max_pool3d": lambda x: (lambda i: lambda: F.adaptive_max_pool3d(i, 4))(volumes(x)),
    "fractional_max_pool2d": lambda x: (
        lambda i: lambda: F.fractional_max_pool2d(i, 2, output_size=16)
    )(images(x)),
    "max_unpool2d": lambda x: (
        lambda i: (lambda p, at: lambda: F.max_unpool2d(p, at, 2))(
            *F.max_pool2d(i, 2, return_indices=True)
        )
    )(images(x)),
    **{
        f"{mode}_pad{dims}d": (
            lambda m, n: (
                lambda x: (lambda i: lambda: F.pad(i, (1,) * (2 * n), mode=m))(
                    x(*(LINES, IMAGES, VOLUMES)[n - 1])
                )
            )
        )(torch_mode, dims)
        for mode, torch_mode in PADDING
        for dims in (1, 2, 3)
    },
    **{
        f"{mode}_pad{dims}d_backward": (
            lambda m, n: _backward_of(
                lambda t: F.pad(t, (1,) * (2 * n), mode=m), (LINES, IMAGES, VOLUMES)[n - 1]
            )
        )(torch_mode, dims)
        for mode, torch_mode in PADDING
        for dims in (1, 2, 3)
    },
    "constant_pad_nd": lambda x: (lambda i: lambda: F.pad(i, (1, 1)))(x()),
    **{
        f"upsample_{mode}{dims}d": (
            lambda m, n: (
                lambda x: (lambda i: lambda: F.interpolate(i, scale_factor=2, mode=m))(
                    x(*SMALLER[n - 1])
                )
            )
        )(torch_mode, dims)
        for mode, dims, torch_mode in RESAMPLING
    },
    **{
        f"upsample_{mode}{dims}d_backward": (
            lambda m, n: _backward_of(
                lambda t: F.interpolate(t, scale_factor=2, mode=m),
                SMALLER[n - 1],
            )
        )(torch_mode, dims)
        for mode, dims, torch_mode in RESAMPLING
    },
    "_upsample_bilinear2d_aa": lambda x: (
        lambda i: lambda: F.interpolate(i, scale_factor=0.5, mode="bilinear", antialias=True)
    )(images(x)),
    "_upsample_bicubic2d_aa": lambda x: (
        lambda i: lambda: F.interpolate(i, scale_factor=0.5, mode="bicubic", antialias=True)
    )(images(x)),
    "grid_sampler_2d": lambda x: (lambda i, g: lambda: F.grid_sample(i, g, align_corners=False))(
        images(x), x(16, 32, 32, 2)
    ),
    "grid_sampler_3d": lambda x: (lambda i, g: lambda: F.grid_sample(i, g, align_corners=False))(
        volumes(x), x(4, 16, 32, 32, 3)
    ),
    "im2col": lambda x: (lambda i: lambda: F.unfold(i, 3))(x(4, 64, 32, 32)),
    "col2im": lambda x: (lambda i: lambda: F.fold(i, 32, 3))(x(2, 576, 900)),
    # indexing
    "cat": lambda x: (lambda a, b: lambda: torch.cat((a, b)))(x(512, 1024), x(512, 1024)),
    "stack": lambda x: (lambda a, b: lambda: torch.stack((a, b)))(x(512, 1024), x(512, 1024)),
    "index_add": lambda x: (lambda i, at, s: lambda: torch.index_add(i, 0, at, s))(
        x(), x.index(1024, 1024), x()
    ),
    "index_copy": lambda x: (lambda i, at, s: lambda: torch.index_copy(i, 0, at, s))(
        x(), x.index(1024, 1024), x()
    ),
    "index_reduce": lambda x: (lambda i, at, s: lambda: torch.index_reduce(i, 0, at, s, "amax"))(
        x(), x.index(1024, 1024), x()
    ),
    "index_select": lambda x: (lambda i, at: lambda: torch.index_select(i, 0, at))(
        x(), x.index(1024, 1024)
    ),
    "index.Tensor": lambda x: (lambda i, at: lambda: i[at])(x(), x.index(1024, 1024)),
    "_index_put_impl_": lambda x: (lambda i, at, s: lambda: i.index_put_((at,), s))(
        x(), x.index(1024, 1024), x()
    ),
    "_index_put_impl_:accumulate": lambda x: (
        lambda i, at, s: lambda: i.index_put_((at,), s, accumulate=True)
    )(x(), x.index(1024, 1024), x()),
    "index_fill_.int_Scalar": lambda x: (lambda i, at: lambda: i.index_fill_(0, at, 1.0))(
        x(), x.index(1024, 1024)
    ),
    "embedding": lambda x: (lambda w, at: lambda: F.embedding(at, w))(x(), x.index(1024, 1024)),
    "embedding_dense_backward": lambda x: (
        lambda g, at: lambda: aten.embedding_dense_backward(g, at, 1024, -1, False)
    )(x(), x.index(1024, 1024)),
    "gather": lambda x: (lambda i, at: lambda: torch.gather(i, 1, at))(
        x(), x.index(1024, 1024, 1024)
    ),
    "scatter.src": lambda x: (lambda i, at, s: lambda: torch.scatter(i, 1, at, s))(
        x(), x.index(1024, 1024, 1024), x()
    ),
    "scatter.value": lambda x: (lambda i, at: lambda: torch.scatter(i, 1, at, 0.5))(
        x(), x.index(1024, 1024, 1024)
    ),
    "scatter_add": lambda x: (lambda i, at, s: lambda: torch.scatter_add(i, 1, at, s))(
        x(), x.index(1024, 1024, 1024), x()
    ),
    "scatter_reduce.two": lambda x: (
        lambda i, at, s: lambda: torch.scatter_reduce(i, 1, at, s, "amax")
    )(x(), x.index(1024, 1024, 1024), x()),
    "masked_select": lambda x: (lambda i, m: lambda: torch.masked_select(i, m))(x(), x.mask()),
    "masked_fill_.Scalar": lambda x: (lambda i, m: lambda: i.masked_fill_(m, 0.5))(x(), x.mask()),
    "masked_scatter_": lambda x: (lambda i, m, s: lambda: i.masked_scatter_(m, s))(
        x(), x.mask(), x()
    ),
    "where.self": lambda x: (lambda m, a, b: lambda: torch.where(m, a, b))(x.mask(), x(), x()),
    "take": lambda x: (lambda i, at: lambda: torch.take(i, at))(x(), x.index(1 << 20, 1024, 1024)),
    "put_": lambda x: (lambda i, at, s: lambda: i.put_(at, s))(
        x(), x.index(1 << 20, 1024, 1024), x()
    ),
    "nonzero": lambda x: (lambda i: lambda: torch.nonzero(i))(x()),
    "flip": lambda x: (lambda i: lambda: torch.flip(i, (0, 1)))(x()),
    "roll": lambda x: (lambda i: lambda: torch.roll(i, 3, 1))(x()),
    "repeat": lambda x: (lambda i: lambda: i.repeat(2, 2))(x(512, 512)),
    "channel_shuffle": lambda x: (lambda i: lambda: torch.channel_shuffle(i, 4))(images(x)),
    "embedding_bag": lambda x: (lambda w, at: lambda: F.embedding_bag(at, w))(
        x(), x.index(1024, 64, 16)
    ),
    "fill_.Tensor": lambda x: (lambda i, v: lambda: i.fill_(v))(x(), x(1).squeeze(0)),
    "copy_": lambda x: (lambda i, s: lambda: i.copy_(s))(x(), x()),
    "copy_:transposed": lambda x: (lambda i, s: lambda: i.copy_(s))(x(), x().t()),
    "_to_copy": lambda x: (lambda i: lambda: i.to(torch.float32))(x()),
    "_to_copy:to half": lambda x: (lambda i: lambda: i.to(x.dtype))(x.float32()),
    # reductions, sorting
    "prod.dim_int": lambda x: (lambda i: lambda: torch.prod(i, 1))(x()),
    "norm.ScalarOpt_dim": lambda x: (lambda i: lambda: torch.norm(i, 2, 1))(x()),
    "linalg_vector_norm": lambda x: (lambda i: lambda: torch.linalg.vector_norm(i))(x()),
    "linalg_vector_norm:rows": lambda x: (lambda i: lambda: torch.linalg.vector_norm(i, dim=1))(
        x()
    ),
    "linalg_vector_norm:infinity": lambda x: (
        lambda i: lambda: torch.linalg.vector_norm(i, float("inf"))
    )(x()),
    "sum.dim_IntList": lambda x: (lambda i: lambda: i.sum(0))(x()),
    "sum": lambda x: (lambda i: lambda: i.sum())(x()),
    "mean.dim": lambda x: (lambda i: lambda: i.mean(1))(x()),
    "amax": lambda x: (lambda i: lambda: i.amax(1))(x()),
    "amin": lambda x: (lambda i: lambda: i.amin(0))(x()),
    "var.correction": lambda x: (lambda i: lambda: i.var(1))(x()),
    "std.correction": lambda x: (lambda i: lambda: i.std(0))(x()),
    "var_mean.correction": lambda x: (lambda i: lambda: torch.var_mean(i, 1))(x()),
    "std_mean.correction": lambda x: (lambda i: lambda: torch.std_mean(i, 1))(x()),
    "logsumexp": lambda x: (lambda i: lambda: torch.logsumexp(i, 1))(x()),
    "cumsum": lambda x: (lambda i: lambda: torch.cumsum(i, 1))(x()),
    "cumsum:first": lambda x: (lambda i: lambda: torch.cumsum(i, 0))(x()),
    "cumprod": lambda x: (lambda i: lambda: torch.cumprod(i, 1))(x()),
    "cummax": lambda x: (lambda i: lambda: torch.cummax(i, 1))(x()),
    "cummin": lambda x: (lambda i: lambda: torch.cummin(i, 1))(x()),
    "logcumsumexp": lambda x: (lambda i: lambda: torch.logcumsumexp(i, 1))(x()),
    "topk": lambda x: (lambda i: lambda: torch.topk(i, 8))(x()),
    "sort.stable": lambda x: (lambda i: lambda: torch.sort(i))(x()),
    "kthvalue": lambda x: (lambda i: lambda: torch.kthvalue(i, 8))(x()),
    "mode": lambda x: (lambda i: lambda: torch.mode(i))(x()),
    "median.dim": lambda x: (lambda i: lambda: torch.median(i, 1))(x()),
    "nanmedian.dim": lambda x: (lambda i: lambda: torch.nanmedian(i, 1))(x()),
    "searchsorted.Tensor": lambda x: (lambda s, i: lambda: torch.searchsorted(s, i))(
        x(1024).sort().values, x()
    ),
    "bucketize.Tensor": lambda x: (lambda s, i: lambda: torch.bucketize(i, s))(
        x(1024).sort().values, x()
    ),
    "isin.Tensor_Tensor": lambda x: (lambda i, t: lambda: torch.isin(i, t))(x(), x(1024)),
    "histc": lambda x: (lambda i: lambda: torch.histc(i, 64))(x()),
    "_cdist_forward": lambda x: (lambda a, b: lambda: torch.cdist(a, b))(x(256, 64), x(256, 64)),
    # random numbers
    "normal_": lambda x: (lambda i: lambda: i.normal_())(x()),
    "uniform_": lambda x: (lambda i: lambda: i.uniform_())(x()),
    "bernoulli_.float": lambda x: (lambda i: lambda: i.bernoulli_(0.5))(x()),
    "exponential_": lambda x: (lambda i: lambda: i.exponential_())(x()),
    "multinomial": lambda x: (lambda i: lambda: torch.multinomial(i, 8))(x()),
    # optimizers
    **{
        name: _optimizer(name)
        for name in ("_fused_adam_", "_fused_adamw_", "_fused_sgd_", "_fused_adagrad_")
    },
    "_amp_foreach_non_finite_check_and_unscale_": lambda x: (
        lambda g, f, s: lambda: aten._amp_foreach_non_finite_check_and_unscale_(g, f, s)
    )(_lists(x), torch.zeros(1, device=x.device), torch.ones(1, device=x.device)),
}
UNSAFE = {"_pdist_forward", "_int_mm", "linalg_matrix_exp"}
VALUES: dict[str, object] = {
    "Scalar": 0.5, "number": 0.5, "float": 0.5, "int": 1, "bool": False, "List[int]": [1],
}  # fmt: skip


def _from_schema(name: str) -> Callable[[Inputs], Call] | None:
    """A call whose required arguments are tensors of one shape and plain numbers."""
    packet, _, overload = name.partition(".")
    try:
        function = getattr(getattr(aten, packet), overload or "default")
    except AttributeError:
        return None

    def prepare(x: Inputs) -> Call:
        values = []
        for argument in function._schema.arguments:
            if argument.has_default_value() or argument.is_out or argument.kwarg_only:
                continue
            kind = str(argument.type)
            if kind == "Tensor":
                values.append(x())
            elif kind == "List[Tensor]":
                values.append(_lists(x))
            elif kind == "List[number]":
                values.append([0.5] * 4)
            else:
                values.append(VALUES[kind])
        return lambda: function(*values)

    return prepare


def names() -> Iterator[str]:
    """The ATen functions of the table, then those that only SPECIAL names."""
    seen = set()
    for row in schema.load(TABLE):
        for entry in row.aten:
            if not entry.custom and entry.op not in seen:
                seen.add(entry.op)
                yield entry.op
    yield from (name for name in SPECIAL if name not in seen)


def calls() -> Iterator[tuple[str, Callable[[Inputs], Call]]]:
    """Name and preparation of every call; whether it takes half precision, trying it tells."""
    for name in names():
        # A gradient's arguments must fit each other, or some of ATen's kernels run past their end.
        synthetic = None if "_backward" in name or name in UNSAFE else _from_schema(name)
        prepare = SPECIAL.get(name) or synthetic
        if prepare is not None:
            yield name, prepare


# --- the table -------------------------------------------------------------------------------

HALVES = (torch.bfloat16, torch.float16)
ROUND_SECONDS = 0.05


def _takes(prepare: Callable[[Inputs], Call], dtype: torch.dtype) -> bool:
    try:
        prepare(Inputs(dtype, "cpu"))()
    except (RuntimeError, NotImplementedError, TypeError, ValueError, IndexError):
        return False
    return True


def rows(only: str, rounds: int) -> Iterator[str]:
    """Lines of the table: name, dtype, µs on npu, on the CPU in this dtype and in float32."""
    yield "\t".join(("function", "dtype", "npu", "cpu", "cpu_float32", "ratio"))
    for name, prepare in calls():
        if only not in name or not _takes(prepare, torch.float32):
            continue
        for dtype in filter(lambda dtype: _takes(prepare, dtype), HALVES):
            sides = [prepare(Inputs(dtype, "npu")), prepare(Inputs(dtype, "cpu"))]
            sides.append(prepare(Inputs(torch.float32, "cpu")))
            npu, cpu, single = medians(sides, rounds)
            numbers = (f"{seconds * 1e6:.0f}" for seconds in (npu, cpu, single))
            yield "\t".join((name, str(dtype)[6:], *numbers, f"{npu / cpu:.3f}"))


def medians(sides: list[Call], rounds: int) -> list[float]:
    """Seconds per call of each, in alternating rounds."""
    counts = []
    for call in sides:
        call()
        start = time.perf_counter()
        call()
        torch.npu.synchronize()
        once = time.perf_counter() - start
        counts.append(max(1, min(100, int(ROUND_SECONDS / once))))
        rounds = rounds if once < 1 else 1
    samples: list[list[float]] = [[] for _ in sides]
    for _ in range(rounds):
        for call, count, found in zip(sides, counts, samples, strict=True):
            torch.npu.synchronize()
            start = time.perf_counter()
            for _ in range(count):
                call()
            torch.npu.synchronize()
            found.append((time.perf_counter() - start) / count)
    return [statistics.median(found) for found in samples]


def main() -> None:
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--only", default="", help="only functions whose name has this in it")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("build/half_rows.tsv"))
    args = parser.parse_args()
    with args.out.open("w", encoding="utf-8") as file:
        for line in rows(args.only, args.rounds):
            print(line, flush=True)
            print(line, file=file, flush=True)


if __name__ == "__main__":
    main()
