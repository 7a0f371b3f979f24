"""Registers the collective backend `hccl` and the RPC backend of `npu`."""

from __future__ import annotations

from typing import Any, NoReturn

import torch.distributed

from torch_npu.utils._error_code import ErrCode, dist_error

HCCL = "hccl"
RPC_BACKEND = "NPU_TENSORPIPE"


def register_hccl() -> None:
    """Makes `hccl` the backend that `torch.distributed` chooses for `npu` tensors."""
    if not torch.distributed.is_available():
        return
    if HCCL not in torch.distributed.Backend.backend_list:
        torch.distributed.Backend.register_backend(HCCL, _create_hccl_group, devices=["npu"])


def _create_hccl_group(*_arguments: Any, **_options: Any) -> NoReturn:
    raise NotImplementedError(
        "This version of torch_npu has no hccl collectives yet. Create the group with "
        "backend='gloo' and move tensors to the CPU for communication."
        + dist_error(ErrCode.NOT_SUPPORT)
    )


def register_rpc() -> None:
    """Reserves the name of the RPC backend of `npu`, so that asking for it gives the reason."""
    if not torch.distributed.rpc.is_available():
        return
    from torch.distributed.rpc import backend_registry

    if not backend_registry.backend_registered(RPC_BACKEND):
        backend_registry.register_backend(RPC_BACKEND, _create_rpc_options, _create_rpc_options)


def _create_rpc_options(*_arguments: Any, **_options: Any) -> NoReturn:
    raise NotImplementedError(
        f"This version of torch_npu has no RPC backend '{RPC_BACKEND}'. Use BackendType.TENSORPIPE "
        "with CPU tensors." + dist_error(ErrCode.NOT_SUPPORT)
    )
