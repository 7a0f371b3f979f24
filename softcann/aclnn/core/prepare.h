// Phase one: the template that every generated …GetWorkspaceSize calls. One instantiation serves
// all functions with the same parameter kinds.
#pragma once

#include <c10/util/Exception.h>

#include <new>
#include <tuple>
#include <type_traits>
#include <utility>

#include "aclnn/core/executor.h"
#include "aclnn/core/half_precision.h"
#include "aclnn/core/parameters.h"
#include "aclnn/core/signature.h"

namespace softcann::aclnn {

template <class Kind>
using Lent =
    decltype(Kind::lend(std::declval<const typename Kind::Stored&>(), std::declval<Frame&>()));

template <class... Kinds>
using Kernel = void (*)(Lent<Kinds>...);

template <class... Kinds>
struct ExecutorOf final : aclOpExecutor {
  Kernel<Kinds...> kernel;
  std::tuple<typename Kinds::Stored...> arguments;

  static void runKernel(aclOpExecutor& base, Frame& frame) {
    auto& self = static_cast<ExecutorOf&>(base);
    call(self, frame, std::index_sequence_for<Kinds...>());
  }

  static bool shapesKept(aclOpExecutor& base, Frame& frame) {
    auto& self = static_cast<ExecutorOf&>(base);
    return keptAll(self, frame, std::index_sequence_for<Kinds...>());
  }

  static void destroyIt(aclOpExecutor* base) noexcept {
    auto* self = static_cast<ExecutorOf*>(base);
    self->~ExecutorOf();
    freeExecutor(self, sizeof(ExecutorOf));
  }

 private:
  template <size_t... I>
  static void call(ExecutorOf& self, Frame& frame, std::index_sequence<I...>) {
    // Braces evaluate left to right, so that written tensors find the inputs they alias.
    std::tuple<Lent<Kinds>...> lent{Kinds::lend(std::get<I>(self.arguments), frame)...};
    self.kernel(std::forward<Lent<Kinds>>(std::get<I>(lent))...);
    (restoreStrides<Kinds>(std::get<I>(self.arguments), frame), ...);
  }

  template <class Kind>
  static void restoreStrides(const typename Kind::Stored& stored, Frame& frame) {
    if constexpr (std::is_same_v<Kind, WrittenTensor>) {
      frame.restoreStrides(stored);
    } else if constexpr (std::is_same_v<Kind, OptionalWrittenTensor>) {
      if (stored) frame.restoreStrides(*stored);
    }
  }

  template <size_t... I>
  static bool keptAll(ExecutorOf& self, Frame& frame, std::index_sequence<I...>) {
    return (kept<Kinds>(std::get<I>(self.arguments), frame) && ...);
  }

  template <class Kind>
  static bool kept(const typename Kind::Stored& stored, Frame& frame) {
    if constexpr (std::is_same_v<Kind, WrittenTensor>) {
      return frame.find(stored).sizes() == stored.sizes();
    } else {
      return true;
    }
  }
};

template <class... Kinds>
aclnnStatus prepare(const Operator& op, Kernel<Kinds...> kernel, uint64_t* workspace_size,
                    aclOpExecutor** executor, const Kinds&... parameters) noexcept {
  using Executor = ExecutorOf<Kinds...>;
  if (workspace_size == nullptr || executor == nullptr) {
    return missingArgument(op, -1);
  }
  auto* made = new (allocateExecutor(sizeof(Executor))) Executor;
  made->op = &op;
  made->run = &Executor::runKernel;
  made->shapes_kept = &Executor::shapesKept;
  made->destroy = &Executor::destroyIt;
  made->kernel = kernel;

  int position = 0;
  bool complete = false;
  try {
    complete = [&]<size_t... I>(std::index_sequence<I...>) {
      return ((++position, parameters.capture(std::get<I>(made->arguments))) && ...);
    }(std::index_sequence_for<Kinds...>());
  } catch (...) {
    Executor::destroyIt(made);
    return wrongArgument(op, position);
  }
  if (!complete) {
    Executor::destroyIt(made);
    return missingArgument(op, position);
  }
  noteCaller(*made);
  const auto summarise = [&](auto summary) {
    std::apply([&](const auto&... stored) { (summary.add(stored), ...); }, made->arguments);
    return summary;
  };
  if (op.half != Half::kNative) {
    made->convert_half = summarise(HalfUse()).converts(op.half);
  }
  aclnnStatus status = ACLNN_SUCCESS;
  if (needsCheck(op)) {
    const Signature signature = summarise(Signature(&op));
    if (!shapesChecked(signature)) {
      status = checkShapes(*made, signature, summarise(CallSize()));
    }
  }
  if (status == ACLNN_SUCCESS && mayTry(op)) {
    const TypeSignature types = summarise(TypeSignature(&op));
    if (!typesTried(op, types)) status = tryTypes(*made, types, summarise(CallSize()));
  }
  if (status != ACLNN_SUCCESS) {
    Executor::destroyIt(made);
    return status;
  }
  *workspace_size = 0;  // kernels take what they need from the host's heap
  *executor = made;
  return ACLNN_SUCCESS;
}

}  // namespace softcann::aclnn
