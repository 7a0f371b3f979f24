"""Tensors and events that two processes share."""

from __future__ import annotations

import pickle

import partner as there
import pytest
import torch
from torch.multiprocessing import reductions as torch_reductions

import torch_npu
from torch_npu.multiprocessing import reductions


def test_thousand_tensors_and_views_travel_both_ways(partner) -> None:
    for seed in range(20):
        mine = there.random_tensors(seed, 25)
        checksums, others, other_checksums = partner.call(there.answer_checksums, mine, seed + 100)
        assert checksums == [there.checksum(tensor) for tensor in mine]
        assert other_checksums == [there.checksum(tensor) for tensor in others]
        del others
    assert there.await_no_references() == 0
    assert partner.call(there.await_no_references) == 0


def test_writes_are_seen_on_both_sides(partner) -> None:
    tensor = torch.zeros(4, 5, device="npu")
    partner.call(there.fill, tensor[1:3, ::2], 7.0)
    expected = torch.zeros(4, 5)
    expected[1:3, ::2] = 7
    assert torch.equal(tensor.cpu(), expected)
    partner.call(there.keep, "tensor", tensor)
    tensor.add_(1)
    torch.npu.synchronize()
    assert partner.call(there.recall, "tensor").sum().item() == expected.add(1).sum().item()
    partner.call(there.drop, "tensor")


def test_views_keep_shape_strides_and_offset(partner) -> None:
    tensor = torch.arange(60, device="npu").view(3, 4, 5)
    for view in (tensor, tensor[1:, :, 2], tensor.permute(2, 0, 1), tensor[0, 0, 3], tensor[:, :0]):
        expected = (tuple(view.shape), view.stride(), view.storage_offset(), "npu:0")
        assert partner.call(there.describe, view) == expected


def test_tensors_of_one_storage_share_one_there(partner) -> None:
    tensor = torch.zeros(6, device="npu")
    assert partner.call(there.fill_and_describe_pair, tensor[2:], tensor) == (True, 12.0)
    assert tensor.sum().item() == 12


def test_what_comes_back_is_the_memory_that_was_sent(partner) -> None:
    tensor = torch.ones(6, device="npu")
    partner.call(there.keep, "tensor", tensor)
    passed_on = partner.call(there.recall, "tensor")
    passed_on.add_(1)
    assert tensor.sum().item() == 12
    partner.call(there.drop, "tensor")


def test_work_that_is_queued_is_done_before_the_tensor_leaves(partner) -> None:
    tensor = torch.ones(300, 300, device="npu")
    for _ in range(30):
        tensor = (tensor @ tensor).clamp(max=2)
    assert partner.call(there.checksum, tensor) == there.checksum(tensor)


def test_parameters_and_gradients_flags_travel(partner) -> None:
    parameter = torch.nn.Parameter(torch.ones(3, device="npu"))
    integer = torch.nn.Parameter(
        torch.ones(3, dtype=torch.int32, device="npu"), requires_grad=False
    )
    for tensor in (parameter, integer, torch.ones(2, device="npu", requires_grad=True)):
        partner.call(there.keep, "tensor", tensor)
        back = partner.call(there.recall, "tensor")
        assert type(back) is type(tensor)
        assert back.requires_grad == tensor.requires_grad
    partner.call(there.drop, "tensor")
    with pytest.raises(RuntimeError, match=r"detach\(\)"):
        reductions.reduce_tensor(parameter * 2)


def test_parts_of_sparse_tensors_are_shared(partner) -> None:
    dense = torch.eye(4)
    sparse = torch.sparse_coo_tensor(
        dense.nonzero().t().to("npu"), torch.ones(4, device="npu"), (4, 4)
    )
    values = sparse._values()
    partner.call(there.keep, "values", values)
    partner.call(there.keep, "sparse", sparse)
    partner.call(there.fill, values, 5.0)
    assert sparse._values().sum().item() == 20
    partner.call(there.drop, "values")
    partner.call(there.drop, "sparse")


def test_memory_stays_until_the_receiver_lets_go(partner) -> None:
    torch.npu.synchronize()
    assert there.await_no_references() == 0
    before = torch.npu.memory_allocated()
    tensor = torch.full((1 << 18,), 3.0, device="npu")
    partner.call(there.keep, "tensor", tensor)
    del tensor
    held = torch.npu.memory_allocated()
    assert held - before >= 1 << 20
    others = [torch.zeros(1 << 18, device="npu") for _ in range(4)]
    assert partner.call(there.recall, "tensor").sum().item() == 3 << 18
    del others
    partner.call(there.drop, "tensor")
    assert there.await_no_references() == 0
    assert torch.npu.memory_allocated() == before


def test_received_memory_is_not_resized(partner) -> None:
    received = partner.call(there.ones, 4)
    with pytest.raises(RuntimeError, match="not resizable"):
        received.resize_(100)


def test_use_on_another_stream_is_waited_for(partner) -> None:
    received = partner.call(there.ones, 1 << 20)
    stream = torch.npu.Stream()
    with torch.npu.stream(stream):
        total = torch.zeros((), device="npu")
        for _ in range(20):
            total += received.sum()
    received.record_stream(stream)
    del received
    stream.synchronize()
    assert total.item() == 20 << 20


def test_description_is_used_once(partner) -> None:
    rebuild, arguments = partner.call(there.reduce, "tensor", 5)
    assert rebuild is reductions.rebuild_npu_tensor
    first = rebuild(*pickle.loads(pickle.dumps(arguments)))
    assert first.sum().item() == 5
    again = rebuild(*arguments)  # while the first is in use
    assert again.untyped_storage().data_ptr() == first.untyped_storage().data_ptr()
    del first, again
    assert partner.call(there.await_no_references) == 0
    with pytest.raises(RuntimeError, match="does not keep the memory with the number"):
        rebuild(*arguments)
    partner.call(there.drop, "tensor")


def test_tensor_that_a_process_sends_to_itself_is_the_same() -> None:
    tensor = torch.arange(6.0, device="npu").view(2, 3)
    rebuild, arguments = reductions.reduce_tensor(tensor.t())
    same = rebuild(*arguments)
    assert same.data_ptr() == tensor.data_ptr()
    assert same.stride() == (1, 3)
    assert there.await_no_references() == 0
    rebuild, arguments = reductions.reduce_tensor(tensor)
    pointer = tensor.data_ptr()
    del tensor, same
    late = rebuild(*arguments)
    assert late.data_ptr() == pointer
    assert late.sum().item() == 15
    del late
    assert there.await_no_references() == 0


def test_device_of_a_description_can_be_chosen(partner) -> None:
    if torch.npu.device_count() < 2:
        pytest.skip("needs two devices")
    rebuild, arguments = partner.call(there.reduce, "tensor", 5)
    moved = rebuild(*arguments[:6], 1, *arguments[7:])
    assert moved.device == torch.device("npu", 1)
    assert moved.sum().item() == 5
    partner.call(there.drop, "tensor")


def test_cpu_tensors_travel_as_before(partner) -> None:
    tensor = torch.zeros(3)
    partner.call(there.fill, tensor, 2.0)
    assert tensor.sum() == 6


def test_killed_receiver_holds_nothing(start) -> None:
    assert there.await_no_references() == 0
    before = torch.npu.memory_allocated()
    other = start()
    tensor = torch.ones(1 << 18, device="npu")
    other.call(there.keep, "tensor", tensor)
    del tensor
    assert torch.npu.memory_allocated() > before
    other.kill()
    assert there.await_no_references() == 0
    assert torch.npu.memory_allocated() == before


def test_killed_sender_leaves_what_was_received(start) -> None:
    other = start()
    received = other.call(there.ones, 1000)
    rebuild, arguments = other.call(there.reduce, "tensor", 5)
    rebuild_big, big = other.call(there.reduce, "big", 1 << 22)
    event = other.call(there.make_event)
    handle = other.call(there.event_handle)
    other.kill()
    assert received.add_(1).sum().item() == 2000
    with pytest.raises(RuntimeError, match=r"torch-npu-\d+-[0-9a-f]+"):
        rebuild(*arguments)
    with pytest.raises(RuntimeError, match=r"softcann-mem-\d+.*has ended"):
        rebuild_big(*big)
    with pytest.raises(RuntimeError, match=r"softcann-event-\d+.*has ended"):
        torch.npu.Event.from_ipc_handle("npu", handle)
    assert event.query()


def test_process_that_ends_waits_for_its_receiver() -> None:
    context = torch.multiprocessing.get_context("spawn")
    queue = context.Queue()
    process = context.Process(target=there.send_and_end, args=(queue,))
    process.start()
    while not queue._reader.poll(0.1):  # the description has arrived and is not read
        assert process.is_alive()
    process.join(1)
    assert process.is_alive()
    received = queue.get()
    process.join(100)
    assert process.exitcode == 0
    assert received.sum().item() == 45


def test_unreceived_tensors_are_warned_about(partner) -> None:
    rebuild, arguments = reductions.reduce_tensor(torch.ones(3, device="npu"))
    with pytest.warns(UserWarning, match="1 npu tensors were sent and never received"):
        assert reductions.await_receivers(0.05) == 1
    rebuild(*arguments)
    assert reductions.await_receivers() == 0


@pytest.mark.parametrize("key", [b"", b"nonsense", b"softcann-mem-1-0000000000000000-1"])
def test_wrong_key_is_named(key: bytes) -> None:
    with pytest.raises(RuntimeError, match=repr(key.decode())):
        reductions.new_shared_storage(0, key, 4, 0, b"owner", 1)


def test_wrong_owner_is_named(partner) -> None:
    _, arguments = partner.call(there.reduce, "tensor", 5)
    with pytest.raises(RuntimeError, match="'nobody'"):
        reductions.rebuild_npu_tensor(*arguments[:11], b"nobody", *arguments[12:])
    with pytest.raises(RuntimeError, match="number 12345"):
        reductions.rebuild_npu_tensor(*arguments[:12], 12345, *arguments[13:])
    with pytest.raises(RuntimeError, match="npu:99"):
        reductions.rebuild_npu_tensor(*arguments[:6], 99, *arguments[7:])
    assert reductions.rebuild_npu_tensor(*arguments).sum().item() == 5
    partner.call(there.drop, "tensor")


def test_what_cannot_be_shared_says_so() -> None:
    with pytest.raises(RuntimeError, match="only available on npu"):
        torch.ones(2).untyped_storage()._share_npu_()
    with pytest.raises(TypeError, match=r"expected a torch\.UntypedStorage, but got Tensor"):
        torch_npu._C._npu_shareStorage(torch.ones(2))
    with pytest.raises(RuntimeError, match="send an npu tensor"):
        torch_reductions.reduce_storage(torch.ones(2, device="npu").untyped_storage())


def test_events_order_work_of_two_processes(partner) -> None:
    event = partner.call(there.make_event)
    assert event.query()  # never recorded
    partner.call(there.record_event_behind_gate)
    stream = torch.npu.Stream()
    event.wait(stream)
    assert not event.query()
    assert not stream.query()
    partner.call(there.open_gate)
    stream.synchronize()
    event.synchronize()
    assert event.query()
    mine = torch.npu.Event(interprocess=True)
    tensor = torch.ones(4, device="npu")
    mine.record()
    assert partner.call(there.wait_for_event, mine, tensor) == 4


def test_events_for_one_process_are_not_shared() -> None:
    with pytest.raises(RuntimeError, match="interprocess=True"):
        torch.npu.Event().ipc_handle()
    with pytest.raises(ValueError, match="keeps no time"):
        torch.npu.Event(interprocess=True, enable_timing=True)
    with pytest.raises(RuntimeError, match="'nonsense'"):
        torch.npu.Event.from_ipc_handle("npu", b"nonsense")
    with pytest.raises(ValueError, match="64 bytes, not 65"):
        torch.npu.Event.from_ipc_handle("npu", b"x" * 65)
    event = torch.npu.Event(interprocess=True)
    with pytest.raises(ValueError, match="enable_timing"):
        event.elapsed_time(event)


def test_expandable_segments_are_refused(run_python) -> None:
    code = """
import torch, torch_npu
from torch_npu.multiprocessing import reductions
try:
    reductions.reduce_tensor(torch.ones(3, device="npu"))
except NotImplementedError as error:
    assert "expandable_segments" in str(error), error
    print("refused")
"""
    result = run_python(code, PYTORCH_NPU_ALLOC_CONF="expandable_segments:True")
    assert result.stdout.endswith("refused\n"), result.stdout + result.stderr


def test_nothing_is_left_behind(run_python, tmp_path) -> None:
    code = f"""
import os, sys
sys.path.append({there.__file__.rpartition("/")[0]!r})
import partner as there, torch
if __name__ == "__main__":
    killed, ended = there.Partner(), there.Partner()
    owners = (os.getpid(), killed.process.pid, ended.process.pid)
    tensor = torch.ones(1 << 20, device="npu")
    for other in (killed, ended):
        other.call(there.keep, "tensor", tensor)
        other.call(there.make_event)
        assert other.call(there.ones, 7).sum().item() == 7
    killed.kill()
    ended.end()
    # The folder is everybody's; PyTorch names its files there by their process.
    mine = tuple(f"torch_{{pid}}_" for pid in owners)
    left = [name for name in os.listdir("/dev/shm") if name.startswith(mine)]
    assert not left, left
    print("done")
"""
    script = tmp_path / "share.py"
    script.write_text(code)
    folder = tmp_path / "registry"
    result = run_python(
        f"import runpy; runpy.run_path({str(script)!r}, run_name='__main__')",
        SOFTCANN_RUNTIME_DIR=str(folder),
    )
    assert result.stdout.endswith("done\n"), result.stdout + result.stderr
    assert list(folder.iterdir()) == []
