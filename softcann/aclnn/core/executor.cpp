#include "aclnn/core/executor.h"

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/grad_mode.h>
#include <ATen/record_function.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <dlfcn.h>

#if defined(__SSE__)
#include <xmmintrin.h>
#endif

#include <algorithm>
#include <array>
#include <mutex>
#include <new>
#include <string>
#include <string_view>
#include <vector>

#include "aclnn/core/python_kernels.h"
#include "aclnn/core/signature.h"
#include "aclnn/softcann_ext.h"
#include "runtime/core/worker_thread.h"

namespace softcann::aclnn {

namespace {

// Whether the calling thread flushes denormal numbers to zero (torch.set_flush_denormal).
#if defined(__SSE__)
constexpr unsigned kFlushDenormalBits = 0x8040;  // MXCSR: flush to zero, denormals are zero
bool flushesDenormals() { return (_mm_getcsr() & kFlushDenormalBits) == kFlushDenormalBits; }
#else
bool flushesDenormals() { return false; }
#endif

// Kernels run below autograd and below every Python mode of the thread that happens to run them.
const c10::DispatchKeySet kKernelExcludes =
    c10::autograd_dispatch_keyset_with_ADInplaceOrView |
    c10::DispatchKeySet({c10::DispatchKey::Python, c10::DispatchKey::PythonTLSSnapshot,
                         c10::DispatchKey::FuncTorchDynamicLayerFrontMode,
                         c10::DispatchKey::FuncTorchDynamicLayerBackMode,
                         c10::DispatchKey::Functionalize, c10::DispatchKey::AutocastCPU,
                         c10::DispatchKey::AutocastPrivateUse1});

// A profile shows the caller's operators only. A worker stays silent between its tasks too: when a
// thread begins or ends to be recorded, ATen collects its callbacks anew.
class Unrecorded {
 public:
  Unrecorded() : recorded_(at::isRecordFunctionEnabled()) {
    if (recorded_) at::enableRecordFunction(false);
  }
  Unrecorded(const Unrecorded&) = delete;
  Unrecorded& operator=(const Unrecorded&) = delete;
  ~Unrecorded() {
    if (recorded_ && !isWorkerThread()) at::enableRecordFunction(true);
  }

 private:
  bool recorded_;
};

struct KernelScope {
  c10::impl::ExcludeDispatchKeyGuard exclude{kKernelExcludes};
  at::NoGradGuard no_grad;
  Unrecorded unrecorded;
};

// OpenMP's thread count is a property of each thread. torch brings its own OpenMP library under
// a name of its own, so the function is looked up through libtorch_cpu.so rather than linked.
using SetThreads = void (*)(int);
SetThreads ompSetNumThreads() {
  static const SetThreads function = [] {
    void* torch = dlopen("libtorch_cpu.so", RTLD_LAZY | RTLD_NOLOAD);
    void* symbol = torch != nullptr ? dlsym(torch, "omp_set_num_threads") : nullptr;
    return reinterpret_cast<SetThreads>(symbol);
  }();
  return function;
}

// Gives the worker the number of threads and the denormal mode of the thread that made the call.
void adoptCallerSettings(const aclOpExecutor& executor) {
  thread_local int threads = -1;
  if (threads != executor.threads) {
    at::get_num_threads();  // lets ATen initialise this thread first
    if (const SetThreads set = ompSetNumThreads(); set != nullptr) {
      set(executor.threads);
    }
    threads = executor.threads;
  }
  if (executor.flush_denormals != flushesDenormals()) {
    at::globalContext().setFlushDenormal(executor.flush_denormals);
  }
}

// Blocks of executor memory by power-of-two size. A thread takes from its own list; when that is
// empty it takes over everything that workers have given back since. They do so in batches, so that
// the list is long, and the next block's cache lines can be on their way from the worker's core to
// this one before they are needed.
class ExecutorMemory {
 public:
  static void* allocate(size_t bytes) {
    const int index = classOf(bytes);
    if (index >= kClasses) {
      return ::operator new(bytes);
    }
    Block*& mine = local().heads[index];
    if (mine == nullptr) {
      mine = returned_[index].exchange(nullptr, std::memory_order_acquire);
    }
    if (mine == nullptr) {
      return ::operator new(kSmallest << index);
    }
    Block* block = mine;
    mine = block->next;
    prefetch(mine);
    return block;
  }

  static void free(void* memory, size_t bytes) noexcept {
    const int index = classOf(bytes);
    if (index >= kClasses) {
      ::operator delete(memory);
      return;
    }
    Freed& freed = local().freed[index];
    auto* block = static_cast<Block*>(memory);
    block->next = freed.first;
    freed.first = block;
    if (freed.count++ == 0) freed.last = block;
    if (freed.count == kBatch) giveBack(index, freed);
  }

 private:
  static constexpr size_t kSmallest = 256;
  static constexpr int kClasses = 6;
  static constexpr int kBatch = 16;
  static constexpr size_t kPrefetched = 448;  // what a call with three tensors takes

  struct Block {
    Block* next;
  };

  // A list, built from its end.
  struct Freed {
    Block* first = nullptr;
    Block* last = nullptr;
    int count = 0;
  };

  // What an ending thread had goes to the others.
  struct Local {
    std::array<Block*, kClasses> heads{};
    std::array<Freed, kClasses> freed{};
    ~Local() {
      for (int index = 0; index < kClasses; ++index) {
        if (freed[index].count != 0) giveBack(index, freed[index]);
        if (Block* first = heads[index]; first != nullptr) {
          Freed taken{first, first, 1};
          while (taken.last->next != nullptr) {
            taken.last = taken.last->next;
          }
          giveBack(index, taken);
        }
      }
    }
  };

  static void giveBack(int index, Freed& blocks) noexcept {
    auto& stack = returned_[index];
    blocks.last->next = stack.load(std::memory_order_relaxed);
    while (!stack.compare_exchange_weak(blocks.last->next, blocks.first, std::memory_order_release,
                                        std::memory_order_relaxed)) {
    }
    blocks = {};
  }

  static void prefetch(const Block* block) noexcept {
    constexpr size_t kCacheLine = 64;
    for (size_t at = 0; at < kPrefetched; at += kCacheLine) {
      __builtin_prefetch(reinterpret_cast<const char*>(block) + at, /*write=*/1);
    }
  }

  static int classOf(size_t bytes) {
    int index = 0;
    for (size_t size = kSmallest; size < bytes; size <<= 1) {
      ++index;
    }
    return index;
  }

  static Local& local() {
    thread_local Local local;
    return local;
  }

  static std::array<std::atomic<Block*>, kClasses> returned_;
};

std::array<std::atomic<ExecutorMemory::Block*>, ExecutorMemory::kClasses> ExecutorMemory::returned_;

// Which of PyTorch's errors it is, e.g. "IndexError: "; nothing for a plain one. The text is all
// that crosses the ABI, and a client in PyTorch raises the same error again.
const char* kindOf(const c10::Error& error) {
  if (dynamic_cast<const c10::IndexError*>(&error) != nullptr) return "IndexError: ";
  if (dynamic_cast<const c10::ValueError*>(&error) != nullptr) return "ValueError: ";
  if (dynamic_cast<const c10::TypeError*>(&error) != nullptr) return "TypeError: ";
  if (dynamic_cast<const c10::NotImplementedError*>(&error) != nullptr) {
    return "NotImplementedError: ";
  }
  if (dynamic_cast<const c10::LinAlgError*>(&error) != nullptr) return "LinAlgError: ";
  return "";
}

// Runs `kernel` with exceptions turned into text; true if there was none.
template <class Function>
bool catching(const char* name, std::string& message, Function function) noexcept {
  try {
    function();
    return true;
  } catch (const c10::Error& error) {
    message = std::string(name) + ": " + kindOf(error) + error.what_without_backtrace();
  } catch (const std::exception& error) {
    // A meta kernel in Python appends where it was raised.
    const std::string_view text = error.what();
    message = std::string(name) + ": " + std::string(text.substr(0, text.find("\n\nAt:\n")));
  } catch (...) {
    message = std::string(name) + ": the kernel threw an unknown exception";
  }
  return false;
}

aclnnStatus failShapes(const char* name) {
  return fail(ACLNN_ERR_PARAM_INVALID,
              std::string(name) + ": an output's shape is not the one that the inputs give");
}

// Kernels without a meta form say so with NotImplementedError, and pass, as do those whose meta
// form is Python code: `told` is then false.
aclnnStatus checkByMeta(aclOpExecutor& executor, bool& told) noexcept {
  const char* name = executor.op->task.name;
  Frame frame(Frame::Mode::kCheck);
  bool kept = true;
  std::string message;
  const bool ran = catching(name, message, [&] {
    KernelScope scope;
    PythonKernelsRefused no_python;
    try {
      executor.run(executor, frame);
      kept = executor.shapes_kept(executor, frame);
      told = true;
    } catch (const c10::NotImplementedError&) {
      told = false;
    }
  });
  if (!ran) {
    return fail(ACLNN_ERR_PARAM_INVALID, std::move(message));
  }
  return kept ? ACLNN_SUCCESS : failShapes(name);
}

// So that a trial takes milliseconds and megabytes at most. Of dtypes there is one for each
// combination, of shapes there may be many.
constexpr int64_t kMaxTrialElements = int64_t{1} << 20;
constexpr int64_t kMaxShapeTrialElements = int64_t{1} << 16;

// The signatures that have passed a check, for one thread: a table of small buckets, in which a
// newcomer takes the place of the bucket's oldest.
class PassedChecks {
 public:
  bool contains(uint64_t signature) const {
    const Bucket& bucket = buckets_[signature % kBuckets];
    return std::find(bucket.begin(), bucket.end(), signature) != bucket.end();
  }
  void insert(uint64_t signature) {
    Bucket& bucket = buckets_[signature % kBuckets];
    std::shift_right(bucket.begin(), bucket.end(), 1);
    bucket.front() = signature;
  }

 private:
  using Bucket = std::array<uint64_t, 4>;
  static constexpr size_t kBuckets = 1024;
  std::vector<Bucket> buckets_ = std::vector<Bucket>(kBuckets);
};

// Those of calls in doubt that have run without an error, for the process.
class ProvenCalls {
 public:
  bool contain(uint64_t signature) {
    const std::lock_guard lock(mutex_);
    return proven_.contains(signature);
  }
  void insert(uint64_t signature) {
    const std::lock_guard lock(mutex_);
    if (!proven_.contains(signature)) proven_.insert(signature);
  }

 private:
  std::mutex mutex_;
  PassedChecks proven_;
};

ProvenCalls& provenCalls() {
  static auto* calls = new ProvenCalls;  // workers may outlive static objects
  return *calls;
}

// The backend waits for the call, so that its error is raised there.
void doubt(aclOpExecutor& executor, uint64_t signature) {
  executor.doubt = signature;
  callInDoubt() = true;
}

// Runs the kernel on zeros. A call that it has not failed is remembered in `passed`. With `shapes`,
// it also compares the written tensors' shapes.
aclnnStatus checkByTrial(aclOpExecutor& executor, uint64_t signature, PassedChecks& passed,
                         bool shapes = false) noexcept {
  if (provenCalls().contain(signature)) {
    passed.insert(signature);
    return ACLNN_SUCCESS;
  }
  Frame frame(Frame::Mode::kTrial);
  frame.convertHalf(executor.convert_half);
  std::string message;
  bool refused = false;
  bool kept = true;
  const bool implemented = catching(executor.op->task.name, message, [&] {
    KernelScope scope;
    try {
      executor.run(executor, frame);
      kept = !shapes || executor.shapes_kept(executor, frame);
    } catch (const c10::NotImplementedError&) {
      throw;
    } catch (...) {
      refused = true;
    }
  });
  if (!implemented) {
    return fail(ACLNN_ERR_PARAM_INVALID, std::move(message));
  }
  if (!kept) return failShapes(executor.op->task.name);
  if (refused) {
    doubt(executor, signature);
  } else {
    passed.insert(signature);
  }
  return ACLNN_SUCCESS;
}

}  // namespace

void* allocateExecutor(size_t bytes) { return ExecutorMemory::allocate(bytes); }
void freeExecutor(void* memory, size_t bytes) noexcept { ExecutorMemory::free(memory, bytes); }

bool& argumentsChecked() noexcept {
  thread_local bool checked = false;
  return checked;
}

bool& callInDoubt() noexcept {
  thread_local bool in_doubt = false;
  return in_doubt;
}

aclnnStatus missingArgument(const Operator& op, int position) {
  const std::string name = op.task.name;
  if (position < 0) {
    return fail(ACLNN_ERR_PARAM_NULLPTR,
                name + "GetWorkspaceSize: workspaceSize or executor is null");
  }
  return fail(ACLNN_ERR_PARAM_NULLPTR, name + "GetWorkspaceSize: parameter " +
                                           std::to_string(position) +
                                           " is null or of an unknown data type");
}

aclnnStatus wrongArgument(const Operator& op, int position) noexcept {
  const std::string where =
      std::string(op.task.name) + "GetWorkspaceSize: parameter " + std::to_string(position);
  std::string message;
  catching(where.c_str(), message, [] { throw; });
  return fail(ACLNN_ERR_PARAM_INVALID, std::move(message));
}

void noteCaller(aclOpExecutor& executor) noexcept {
  executor.references.store(1, std::memory_order_relaxed);
  executor.threads = at::get_num_threads();
  executor.flush_denormals = flushesDenormals();
  executor.convert_half = false;
  executor.repeatable = false;
  executor.doubt = 0;
}

namespace {

PassedChecks& checkedShapes() {
  thread_local PassedChecks passed;
  return passed;
}
PassedChecks& triedTypes() {
  thread_local PassedChecks tried;
  return tried;
}

}  // namespace

bool shapesChecked(const Signature& signature) noexcept {
  return checkedShapes().contains(signature.value());
}

aclnnStatus checkShapes(aclOpExecutor& executor, const Signature& signature,
                        const CallSize& size) noexcept {
  bool told = true;
  if (executor.op->check != Check::kTrial) {
    const aclnnStatus status = checkByMeta(executor, told);
    if (status != ACLNN_SUCCESS) return status;
  }
  if (mayTry(*executor.op) && size.elements() <= kMaxShapeTrialElements) {
    return checkByTrial(executor, signature.value(), checkedShapes(), !told);
  }
  if (told || provenCalls().contain(signature.value())) {
    checkedShapes().insert(signature.value());
  } else {
    doubt(executor, signature.value());
  }
  return ACLNN_SUCCESS;
}

bool typesTried(const Operator& op, const TypeSignature& types) noexcept {
  if (op.last_types.load(std::memory_order_relaxed) == types.value()) return true;
  if (!triedTypes().contains(types.value())) return false;
  op.last_types.store(types.value(), std::memory_order_relaxed);
  return true;
}

aclnnStatus tryTypes(aclOpExecutor& executor, const TypeSignature& types,
                     const CallSize& size) noexcept {
  if (size.elements() > kMaxTrialElements || executor.doubt != 0) {
    return ACLNN_SUCCESS;
  }
  return checkByTrial(executor, types.value(), triedTypes());
}

aclError runExecutor(void* payload) noexcept {
  auto& executor = *static_cast<aclOpExecutor*>(payload);
  Frame& frame = computeFrame();
  std::string message;
  const bool ran = catching(executor.op->task.name, message, [&] {
    KernelScope scope;
    adoptCallerSettings(executor);
    frame.convertHalf(executor.convert_half);
    executor.run(executor, frame);
    if (executor.convert_half) [[unlikely]] {
      frame.storeResults();
    }
  });
  frame.reset();
  if (!ran) {
    setTaskError(std::move(message));
    return ACLNN_ERR_INNER;
  }
  if (executor.doubt != 0) [[unlikely]] {
    provenCalls().insert(executor.doubt);
  }
  return ACL_SUCCESS;
}

void releaseExecutor(void* payload) noexcept {
  auto* executor = static_cast<aclOpExecutor*>(payload);
  // With one reference left there is nobody else to count.
  if (executor->references.load(std::memory_order_acquire) == 1 ||
      executor->references.fetch_sub(1, std::memory_order_acq_rel) == 1) {
    executor->destroy(executor);
  }
}

aclnnStatus execute(const Operator& op, void* /*workspace*/, uint64_t /*workspace_size*/,
                    aclOpExecutor* executor, aclrtStream stream) noexcept {
  if (executor == nullptr) {
    return fail(ACLNN_ERR_PARAM_NULLPTR, std::string(op.task.name) + ": executor is null");
  }
  if (executor->op != &op) {
    return fail(
        ACLNN_ERR_PARAM_INVALID,
        std::string(op.task.name) + ": the executor was made for " + executor->op->task.name);
  }
  if (executor->repeatable) {
    executor->references.fetch_add(1, std::memory_order_relaxed);
  }
  return enqueue(stream, &op.task, executor);
}

}  // namespace softcann::aclnn

extern "C" {

ACL_FUNC_VISIBILITY bool* softcannArgumentsChecked(void) {
  return &softcann::aclnn::argumentsChecked();
}

ACL_FUNC_VISIBILITY bool* softcannCallInDoubt(void) { return &softcann::aclnn::callInDoubt(); }

aclnnStatus aclnnInit(const char* /*configPath*/) { return ACLNN_SUCCESS; }

aclnnStatus aclnnFinalize(void) { return ACLNN_SUCCESS; }

aclnnStatus aclSetAclOpExecutorRepeatable(aclOpExecutor* executor) {
  if (executor == nullptr) {
    return softcann::fail(ACLNN_ERR_PARAM_NULLPTR,
                          "aclSetAclOpExecutorRepeatable: executor is null");
  }
  executor->repeatable = true;
  return ACLNN_SUCCESS;
}

aclnnStatus aclDestroyAclOpExecutor(aclOpExecutor* executor) {
  if (executor == nullptr) {
    return softcann::fail(ACLNN_ERR_PARAM_NULLPTR, "aclDestroyAclOpExecutor: executor is null");
  }
  softcann::aclnn::releaseExecutor(executor);
  return ACLNN_SUCCESS;
}

}  // extern "C"
