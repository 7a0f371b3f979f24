"""What Dynamo does at each function of `torch.npu`. Importing this imports Dynamo.

The rule for a function is the one that Dynamo has for CUDA's function of the same name. On top of
that, functions whose result cannot change within a process are constants here, and so is state
that a guard can watch: the graph needs no break there, and is compiled again when the state has
changed.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

from torch._dynamo import trace_rules, utils
from torch._dynamo.variables import TorchInGraphFunctionVariable
from torch._dynamo.variables import torch as torch_variables

from torch_npu import _C, npu
from torch_npu._init.patches import dynamo_streams

Function = Callable[..., Any]

# Results that last as long as the process. Arguments are constants of the graph.
CONSTANT: tuple[Function, ...] = (
    npu.can_device_access_peer,
    npu.device_count,
    npu.get_arch_list,
    npu.get_device_name,
    npu.get_device_properties,
    npu.get_soc_version,
    npu.is_available,
    npu.is_bf16_supported,
    _C._npu_canDeviceAccessPeer,
    _C._npu_getCannVersion,
    _C._npu_getDeviceCount,
    _C._npu_getDeviceProperties,
    _C._npu_getSocName,
)

# State without arguments: constant in a graph, which a guard on a new call ties to it.
GUARDED: tuple[Function, ...] = (
    npu._is_in_bad_fork,
    npu.current_device,
    npu.get_allocator_backend,
    npu.get_sync_debug_mode,
    npu.is_current_stream_capturing,
    npu.is_initialized,
    _C._npu_getAllocatorBackend,
    _C._npu_getDevice,
    _C._npu_getSyncDebugMode,
    _C._npu_isCurrentStreamCapturing,
    _C._npu_isInBadFork,
    _C._npu_isInitialized,
)

# Written in Python here, in terms of functions that Dynamo knows for every device: it traces them.
_TRACED = ("_utils.", "amp.")


def extend() -> None:
    """Adds the rules and constants to Dynamo's tables."""
    rules = dict(_rules())
    trace_rules.torch_name_rule_map.append({_name(function): rules[function] for function in rules})
    # The table made from the names has been asked for while Dynamo was imported.
    trace_rules.get_torch_obj_rule_map().update(rules)
    constant: Any = torch_variables.constant_fold_functions
    constant.update(dict.fromkeys((*CONSTANT, *GUARDED)))
    guarded: Any = torch_variables.constant_fold_functions_need_guards
    guarded.update(dict.fromkeys(GUARDED))
    utils.common_constant_types.add(_C._NPUDeviceProperties)


def _rules() -> Iterator[tuple[Function, Any]]:
    """Each function of `torch.npu` and of the extension module that has a rule, with that."""
    for name in dir(_C):
        # Dynamo cannot look into compiled functions.
        if name.startswith("_npu_"):
            yield getattr(_C, name), TorchInGraphFunctionVariable
    tables: list[Any] = list(trace_rules.torch_name_rule_map)
    for name, rule in itertools.chain.from_iterable(table.items() for table in tables):
        function = counterpart(name)
        if function is not None:
            yield function, rule
    for function in (*CONSTANT, *GUARDED, *dynamo_streams.handlers()):
        yield function, TorchInGraphFunctionVariable


def counterpart(name: str) -> Function | None:
    """What `torch.npu` has for a name such as "torch.cuda.memory.empty_cache" or
    "torch._C._cuda_setDevice"; `None` where there is nothing of that name, or where Dynamo traces
    it without a rule.
    """
    if name.startswith("torch._C._cuda_"):
        return getattr(_C, name.removeprefix("torch._C.").replace("cuda", "npu"), None)
    if not name.startswith("torch.cuda."):
        return None
    path = name.removeprefix("torch.cuda.")
    if path.startswith(_TRACED):
        return None
    found: Any = npu
    for part in path.replace("nvtx.", "mstx.mstx.").split("."):
        # Not getattr: torch.npu makes some of its names when they are first asked for.
        found = vars(found).get(part) if hasattr(found, "__dict__") else None
    if isinstance(found, staticmethod):
        found = found.__func__
    return found if callable(found) and not isinstance(found, type) else None


def _name(function: Function) -> str:
    """The name under which Dynamo finds a function again."""
    if function.__module__.startswith("torch_npu._C"):
        return f"torch_npu._C.{function.__name__}"
    owner, _, name = f"{function.__module__}.{function.__qualname__}".rpartition(".")
    # A function of a class stands behind "#".
    return f"{owner}#{name}" if "." in function.__qualname__ else f"{owner}.{name}"
