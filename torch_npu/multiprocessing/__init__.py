"""How `npu` tensors and events travel between processes.

`torch.multiprocessing` is the module to use: importing `torch_npu` teaches its queues and pipes to
pass `npu` tensors without a copy. Both processes see each other's writes; views keep their offset
and strides. The sender waits for its current stream, and the memory stays alive until the receiver
has let go of it, or has ended. A sender may end once its tensors have been received: at its exit
it waits for that, `reductions.EXIT_PATIENCE_SECONDS` at most. Processes must be started with
`spawn` or `forkserver`, as for other devices.
"""

from torch_npu.multiprocessing import reductions

__all__ = ["reductions"]
