// The allocator's state and history as the dictionaries that torch.cuda's memory viewer reads.
#include <c10/util/ApproximateClock.h>
#include <torch/csrc/profiler/combined_traceback.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "torch_npu/csrc/core/caching_allocator.h"
#include "torch_npu/csrc/python/binding.h"

// torch's header for these two includes a JSON library that torch does not ship.
namespace torch {
std::vector<pybind11::object> py_symbolize(std::vector<CapturedTraceback*>& to_symbolize);
void installCapturedTracebackPython();
}  // namespace torch

namespace torch_npu::python {
namespace {

using c10::CachingDeviceAllocator::BlockInfo;
using c10::CachingDeviceAllocator::RecordContext;
using c10::CachingDeviceAllocator::SegmentInfo;
using c10::CachingDeviceAllocator::TraceEntry;
using Context = std::shared_ptr<c10::GatheredContext>;

// Measures the trace's clock against the system's from its construction on, which is when
// recording starts.
c10::ApproximateClockToUnixTimeConverter& clockConverter() {
  static c10::ApproximateClockToUnixTimeConverter converter;
  return converter;
}

Context gatherAllStacks() { return torch::CapturedTraceback::gather(true, true, true); }
Context gatherPythonStack() { return torch::CapturedTraceback::gather(true, true, false); }

// Symbolises all stacks of a snapshot together, which is much cheaper than one by one, and puts
// each where it belongs.
class Frames {
 public:
  void add(const Context& context, py::dict target) {
    target["frames"] = empty_;
    if (auto* traceback = dynamic_cast<torch::CapturedTraceback*>(context.get())) {
      tracebacks_.push_back(traceback);
      targets_.push_back(std::move(target));
    }
  }

  void resolve() {
    const std::vector<py::object> symbolized = torch::py_symbolize(tracebacks_);
    for (size_t i = 0; i < targets_.size(); ++i) {
      targets_[i]["frames"] = symbolized[i];
    }
  }

 private:
  py::list empty_;
  std::vector<torch::CapturedTraceback*> tracebacks_;
  std::vector<py::dict> targets_;
};

const char* stateOf(const BlockInfo& block) {
  if (block.allocated) return "active_allocated";
  return block.active ? "active_pending_free" : "inactive";
}

py::dict toDict(const SegmentInfo& segment, Frames& frames) {
  py::dict result;
  result["device"] = static_cast<int64_t>(segment.device);
  result["address"] = segment.address;
  result["total_size"] = segment.total_size;
  result["allocated_size"] = segment.allocated_size;
  result["active_size"] = segment.active_size;
  result["requested_size"] = segment.requested_size;
  result["stream"] = reinterpret_cast<int64_t>(segment.stream);
  result["segment_type"] = segment.is_large ? "large" : "small";
  result["segment_pool_id"] = segment.owner_private_pool_id;
  result["is_expandable"] = segment.is_expandable;
  frames.add(segment.context_when_allocated, result);

  py::list blocks;
  size_t address = segment.address;
  for (const BlockInfo& block : segment.blocks) {
    py::dict entry;
    entry["address"] = address;
    entry["size"] = block.size;
    entry["requested_size"] = block.requested_size;
    entry["state"] = stateOf(block);
    frames.add(block.context_when_allocated, entry);
    blocks.append(entry);
    address += block.size;
  }
  result["blocks"] = blocks;
  return result;
}

const char* nameOf(TraceEntry::Action action) {
  switch (action) {
    case TraceEntry::ALLOC:
      return "alloc";
    case TraceEntry::FREE_REQUESTED:
      return "free_requested";
    case TraceEntry::FREE_COMPLETED:
      return "free_completed";
    case TraceEntry::SEGMENT_ALLOC:
      return "segment_alloc";
    case TraceEntry::SEGMENT_FREE:
      return "segment_free";
    case TraceEntry::SEGMENT_MAP:
      return "segment_map";
    case TraceEntry::SEGMENT_UNMAP:
      return "segment_unmap";
    case TraceEntry::SNAPSHOT:
      return "snapshot";
    case TraceEntry::OOM:
      return "oom";
  }
  TORCH_INTERNAL_ASSERT(false,
                        "an action of the allocator without a name: ", static_cast<int>(action));
}

py::list toList(const std::vector<TraceEntry>& trace, Frames& frames) {
  py::list result;
  if (trace.empty()) return result;
  const auto to_nanoseconds = clockConverter().makeConverter();
  for (const TraceEntry& entry : trace) {
    py::dict item;
    item["action"] = nameOf(entry.action_);
    item[entry.action_ == TraceEntry::OOM ? "device_free" : "addr"] = entry.addr_;
    item["size"] = entry.size_;
    item["stream"] = reinterpret_cast<int64_t>(entry.stream_);
    item["pool_id"] = entry.mempool_;
    item["time_us"] = to_nanoseconds(entry.time_.approx_t_) / 1000;
    frames.add(entry.context_, item);
    result.append(item);
  }
  return result;
}

py::dict memorySnapshot(std::optional<c10::MempoolId_t> pool) {
  CachingAllocator::Snapshot snapshot;
  {
    py::gil_scoped_release no_gil;
    snapshot = cachingAllocator()->snapshot();
  }
  Frames frames;
  py::list segments;
  for (const SegmentInfo& segment : snapshot.segments) {
    if (!pool.has_value() || segment.owner_private_pool_id == *pool) {
      segments.append(toDict(segment, frames));
    }
  }
  py::list traces;
  for (const auto& trace : snapshot.device_traces) {
    traces.append(toList(trace, frames));
  }
  frames.resolve();
  py::dict settings;
  settings["PYTORCH_NPU_ALLOC_CONF"] =
      py::module::import("torch._C").attr("_accelerator_getAllocatorSettings")();
  py::dict result;
  result["segments"] = segments;
  result["device_traces"] = traces;
  result["allocator_settings"] = settings;
  result["external_annotations"] = py::list();
  return result;
}

RecordContext parseContext(const std::optional<std::string>& context) {
  if (!context.has_value()) return RecordContext::NEVER;
  if (*context == "state") return RecordContext::STATE;
  if (*context == "alloc") return RecordContext::ALLOC;
  TORCH_CHECK_VALUE(*context == "all", "context must be None, 'state', 'alloc' or 'all', but got '",
                    *context, "'");
  return RecordContext::ALL;
}

void recordHistory(const std::optional<std::string>& enabled,
                   const std::optional<std::string>& context, const std::string& stacks,
                   size_t max_entries, bool clear_history) {
  if (!enabled.has_value()) {
    cachingAllocator()->recordHistory(false, nullptr, 1, RecordContext::NEVER, clear_history);
    return;
  }
  TORCH_CHECK_VALUE(*enabled == "state" || *enabled == "all",
                    "enabled must be None, 'state' or 'all', but got '", *enabled, "'");
  TORCH_CHECK_VALUE(stacks == "python" || stacks == "all",
                    "stacks must be 'python' or 'all', but got '", stacks, "'");
  const RecordContext when = parseContext(context);
  clockConverter();
  torch::installCapturedTracebackPython();
  cachingAllocator()->recordHistory(true, stacks == "all" ? gatherAllStacks : gatherPythonStack,
                                    *enabled == "state" ? 1 : max_entries, when, clear_history);
}

}  // namespace

void addMemorySnapshotBindings(py::module& module) {
  module.def("_npu_memorySnapshot", torch::wrap_pybind_function(memorySnapshot),
             py::arg("mempool_id") = py::none());
  module.def("_npu_record_memory_history", torch::wrap_pybind_function(recordHistory),
             py::arg("enabled"), py::arg("context"), py::arg("stacks"), py::arg("max_entries"),
             py::arg("clear_history") = false);
}

}  // namespace torch_npu::python
