"""The patch manager, and the whole list of patches."""

from __future__ import annotations

import pytest
import torch

from torch_npu._init.patches.patch_manager import PatchError, PatchManager


@pytest.fixture
def manager(monkeypatch: pytest.MonkeyPatch) -> type[PatchManager]:
    """A manager without patches; the package's own come back afterwards."""
    monkeypatch.setattr(PatchManager, "_entries", [])
    return PatchManager


def test_the_list_of_patches_is_this() -> None:
    assert PatchManager.list() == [
        ("dynamo", "tables_of_dynamo", True),
        ("multiprocessing", "storage_sharing_methods", True),
        ("multiprocessing", "reductions", True),
        ("npu", "copies_between_devices", True),
        ("npu", "storage_is_shared", True),
    ]


def test_storage_of_a_cpu_tensor_is_shared_only_once_it_is() -> None:
    storage = torch.ones(2).untyped_storage()
    assert not storage.is_shared()
    storage.share_memory_()
    assert storage.is_shared()


def test_storage_on_npu_is_shared() -> None:
    assert torch.ones(2, device="npu").untyped_storage().is_shared()
    assert torch.ones(2, device="npu").is_shared()


def test_patches_are_applied_once_and_in_order(manager: type[PatchManager]) -> None:
    calls: list[str] = []

    @manager.register_patch("second")
    def b() -> None:
        calls.append("b")

    @manager.register_patch("first")
    def a() -> None:
        calls.append("a")

    @manager.register_patch("second")
    def c() -> None:
        calls.append("c")

    assert manager.list() == [("second", "b", False), ("first", "a", False), ("second", "c", False)]
    manager.apply("first")
    assert calls == ["a"]
    manager.apply_all()
    manager.apply_all()
    assert calls == ["a", "b", "c"]
    assert all(applied for _, _, applied in manager.list())


def test_failing_patch_names_itself(manager: type[PatchManager]) -> None:
    @manager.register_patch("npu")
    def broken() -> None:
        raise AttributeError("no such hook")

    with pytest.raises(PatchError, match="'broken' of the group 'npu' failed: no such hook"):
        manager.apply_all()
    assert manager.list() == [("npu", "broken", False)]


def test_failure_keeps_what_came_before_and_is_tried_again(manager: type[PatchManager]) -> None:
    calls: list[str] = []
    hook_is_there = False

    @manager.register_patch("npu")
    def first() -> None:
        calls.append("first")

    @manager.register_patch("npu")
    def second() -> None:
        if not hook_is_there:
            raise AttributeError("no such hook")
        calls.append("second")

    @manager.register_patch("npu")
    def third() -> None:
        calls.append("third")

    with pytest.raises(PatchError, match="'second'") as caught:
        manager.apply("npu")
    assert isinstance(caught.value.__cause__, AttributeError)
    assert [applied for _, _, applied in manager.list()] == [True, False, False]
    hook_is_there = True
    manager.apply("npu")
    assert calls == ["first", "second", "third"]


def test_patch_that_registers_another_leaves_it_to_the_next_call(
    manager: type[PatchManager],
) -> None:
    calls: list[str] = []

    @manager.register_patch("npu")
    def outer() -> None:
        @manager.register_patch("npu")
        def inner() -> None:
            calls.append("inner")

    manager.apply("npu")
    assert manager.list() == [("npu", "outer", True), ("npu", "inner", False)]
    manager.apply("npu")
    assert calls == ["inner"]


def test_registering_leaves_the_function_as_it_is(manager: type[PatchManager]) -> None:
    def patch() -> None: ...

    assert manager.register_patch("npu")(patch) is patch


def test_failing_patch_names_itself_when_the_package_is_imported(run_python) -> None:
    code = """
import torch.multiprocessing.reductions
del torch.multiprocessing.reductions.init_reductions
import torch_npu
"""
    result = run_python(code)
    assert result.returncode == 1
    assert (
        "PatchError: the patch 'reductions' of the group 'multiprocessing' failed" in result.stderr
    )


def test_name_is_taken_once_in_a_group(manager: type[PatchManager]) -> None:
    def patch() -> None: ...

    manager.register_patch("npu")(patch)
    manager.register_patch("other")(patch)
    with pytest.raises(ValueError, match="'npu' already has a patch 'patch'"):
        manager.register_patch("npu")(patch)


def test_unknown_group_is_an_error(manager: type[PatchManager]) -> None:
    with pytest.raises(KeyError, match="nothing"):
        manager.apply("nothing")


def test_clear_forgets(manager: type[PatchManager]) -> None:
    manager.register_patch("npu")(lambda: None)
    manager.clear()
    assert manager.list() == []
