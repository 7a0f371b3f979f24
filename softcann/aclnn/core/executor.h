// An operator call between its two phases.
//
// Phase one (…GetWorkspaceSize) copies every argument into an executor, so that the caller may
// destroy its descriptors at once, and checks them by running the kernel on tensors of its own,
// meta tensors for the shapes and zeros for what those do not tell. Phase two enqueues the executor
// as a task; the stream's worker lends the arguments to the kernel as ATen objects and runs it.
#pragma once

#include <atomic>
#include <cstdint>

#include "aclnn/acl_meta.h"
#include "aclnn/core/frame.h"
#include "runtime/core/task.h"

namespace softcann::aclnn {

// How phase one may check a call.
enum class Check {
  kByKernel,  // the kernel runs on meta tensors and, if they are few, on zeros
  kTrial,     // the kernel runs on zeros, if they are few
  kPointers,  // neither: nulls are found in phase one, and dtypes; the rest when it runs
  kUntried,   // as kByKernel; no zeros, for the kernel goes where numbers in its arguments point
};

// What a function's kernel does with half precision (half_precision.h).
enum class Half {
  kNative,   // takes such tensors as they are
  kAlone,    // gets float32 copies, if all floating-point tensors of the call have one half type
  kFloat16,  // the same, if that type is float16
  kMixed,    // gets float32 copies, also beside float32
};

// The static description of an aclnn function.
struct Operator {
  TaskType task;
  Check check;
  Half half;
  // The TypeSignature that passed its trial last, which is mostly that of the next call.
  mutable std::atomic<uint64_t> last_types{0};
};

// Runs one executor's kernel; the code that was thrown becomes the task's error.
aclError runExecutor(void* executor) noexcept;
void releaseExecutor(void* executor) noexcept;

constexpr Operator makeOperator(const char* name, Check check = Check::kByKernel,
                                Half half = Half::kNative) {
  return Operator{TaskType{name, &runExecutor, &releaseExecutor}, check, half};
}

// Memory for executors, recycled from the workers that release them to the threads that make them.
void* allocateExecutor(size_t bytes);
void freeExecutor(void* memory, size_t bytes) noexcept;

// The calling thread's "my arguments are checked" flag (softcann_ext.h).
bool& argumentsChecked() noexcept;

inline bool needsCheck(const Operator& op) {
  return op.check != Check::kPointers && !argumentsChecked();
}
// Whether phase one may run the kernel on zeros.
inline bool mayTry(const Operator& op) { return op.check != Check::kUntried; }

// The calling thread's "phase one could not tell" flag (softcann_ext.h).
bool& callInDoubt() noexcept;

class Signature;
class TypeSignature;
class CallSize;

// The parts of phase one that do not depend on the parameters' kinds.
//
// Notes the settings of the calling thread that its kernels shall run with.
void noteCaller(aclOpExecutor& executor) noexcept;
// Unless the same signature has passed before, runs the kernel on meta tensors and compares the
// written tensors' shapes. Fails with ACLNN_ERR_PARAM_INVALID. Meta forms may be laxer than the
// kernel, and some kernels have none: a small call is tried too.
bool shapesChecked(const Signature& signature) noexcept;
aclnnStatus checkShapes(aclOpExecutor& executor, const Signature& signature,
                        const CallSize& size) noexcept;
// Meta tensors do not tell which dtypes a kernel has code for. Runs the kernel once for each
// combination of types, on zeros in place of the caller's data; a large call leaves that to the
// next small one. Fails with ACLNN_ERR_PARAM_INVALID if the kernel is not implemented for the
// types. Any other error may be due to the zeros: the call is in doubt until it has run.
bool typesTried(const Operator& op, const TypeSignature& types) noexcept;
aclnnStatus tryTypes(aclOpExecutor& executor, const TypeSignature& types,
                     const CallSize& size) noexcept;

// Phase two, the same for every operator.
aclnnStatus execute(const Operator& op, void* workspace, uint64_t workspace_size,
                    aclOpExecutor* executor, aclrtStream stream) noexcept;

aclnnStatus missingArgument(const Operator& op, int position);
// For the exception that is being handled.
aclnnStatus wrongArgument(const Operator& op, int position) noexcept;

}  // namespace softcann::aclnn

// What every executor has, whatever its arguments; ExecutorOf adds them.
struct aclOpExecutor {
  const softcann::aclnn::Operator* op;
  void (*run)(aclOpExecutor&, softcann::aclnn::Frame&);
  // True if every written tensor still has the shape its descriptor gave.
  bool (*shapes_kept)(aclOpExecutor&, softcann::aclnn::Frame&);
  void (*destroy)(aclOpExecutor*) noexcept;
  std::atomic<int>
      references;        // the caller's (until phase two, unless repeatable) and the stream's
  int threads;           // OpenMP threads of the thread that made it
  bool flush_denormals;  // likewise
  bool convert_half;     // lend half-precision tensors as float32
  bool repeatable;
  uint64_t doubt;  // the signature that a run without an error proves to be right; 0 for none
};
