// Allocators of the program's own for streams.
#include "runtime/core/operator_allocator.h"

#include <new>

#include "runtime/api/checks.h"

using namespace softcann;

namespace {

OperatorAllocator* fromHandle(aclrtAllocatorDesc handle) noexcept {
  return static_cast<OperatorAllocator*>(handle);
}

template <class Value>
aclError setMember(const char* function, aclrtAllocatorDesc handle,
                   Value OperatorAllocator::* member, Value value, const char* parameter) {
  return guarded([&]() -> aclError {
    SOFTCANN_TRY(requireNotNull(function, "allocatorDesc", handle));
    SOFTCANN_TRY(requireNotNull(function, parameter, reinterpret_cast<const void*>(value)));
    fromHandle(handle)->*member = value;
    return ACL_SUCCESS;
  });
}

// The default stream has no allocator: CANN refuses a null handle.
aclError streamOf(const char* function, aclrtStream handle, Stream*& stream) {
  SOFTCANN_TRY(requireNotNull(function, "stream", handle));
  return resolveStream(handle, stream);
}

}  // namespace

extern "C" {

aclrtAllocatorDesc aclrtAllocatorCreateDesc(void) {
  auto* description = new (std::nothrow) OperatorAllocator;
  if (description == nullptr) {
    fail(ACL_ERROR_BAD_ALLOC, "aclrtAllocatorCreateDesc: the host is out of memory");
  }
  return description;
}

aclError aclrtAllocatorDestroyDesc(aclrtAllocatorDesc allocatorDesc) {
  SOFTCANN_TRY(requireNotNull("aclrtAllocatorDestroyDesc", "allocatorDesc", allocatorDesc));
  delete fromHandle(allocatorDesc);
  return ACL_SUCCESS;
}

aclError aclrtAllocatorSetObjToDesc(aclrtAllocatorDesc allocatorDesc, aclrtAllocator allocator) {
  return setMember("aclrtAllocatorSetObjToDesc", allocatorDesc, &OperatorAllocator::object,
                   allocator, "allocator");
}

aclError aclrtAllocatorSetAllocFuncToDesc(aclrtAllocatorDesc allocatorDesc,
                                          aclrtAllocatorAllocFunc func) {
  return setMember("aclrtAllocatorSetAllocFuncToDesc", allocatorDesc, &OperatorAllocator::allocate,
                   func, "func");
}

aclError aclrtAllocatorSetFreeFuncToDesc(aclrtAllocatorDesc allocatorDesc,
                                         aclrtAllocatorFreeFunc func) {
  return setMember("aclrtAllocatorSetFreeFuncToDesc", allocatorDesc, &OperatorAllocator::free, func,
                   "func");
}

aclError aclrtAllocatorSetAllocAdviseFuncToDesc(aclrtAllocatorDesc allocatorDesc,
                                                aclrtAllocatorAllocAdviseFunc func) {
  return setMember("aclrtAllocatorSetAllocAdviseFuncToDesc", allocatorDesc,
                   &OperatorAllocator::allocate_advised, func, "func");
}

aclError aclrtAllocatorSetGetAddrFromBlockFuncToDesc(aclrtAllocatorDesc allocatorDesc,
                                                     aclrtAllocatorGetAddrFromBlockFunc func) {
  return setMember("aclrtAllocatorSetGetAddrFromBlockFuncToDesc", allocatorDesc,
                   &OperatorAllocator::address, func, "func");
}

aclError aclrtAllocatorRegister(aclrtStream handle, aclrtAllocatorDesc allocatorDesc) {
  return entry([&]() -> aclError {
    SOFTCANN_TRY(requireNotNull("aclrtAllocatorRegister", "allocatorDesc", allocatorDesc));
    Stream* stream = nullptr;
    SOFTCANN_TRY(streamOf("aclrtAllocatorRegister", handle, stream));
    OperatorAllocator allocator = *fromHandle(allocatorDesc);
    if (allocator.object == nullptr || allocator.allocate == nullptr || allocator.free == nullptr ||
        allocator.address == nullptr) {
      return fail(ACL_ERROR_INVALID_PARAM,
                  "aclrtAllocatorRegister: the description lacks its allocator or one of the "
                  "functions Alloc, Free and GetAddrFromBlock");
    }
    allocator.description = allocatorDesc;
    registerAllocator(stream, allocator);
    return ACL_SUCCESS;
  });
}

aclError aclrtAllocatorUnregister(aclrtStream handle) {
  return entry([&]() -> aclError {
    Stream* stream = nullptr;
    SOFTCANN_TRY(streamOf("aclrtAllocatorUnregister", handle, stream));
    if (forgetAllocator(stream)) return ACL_SUCCESS;
    return fail(ACL_ERROR_INVALID_PARAM,
                "aclrtAllocatorUnregister: the stream has no registered allocator");
  });
}

aclError aclrtAllocatorGetByStream(aclrtStream handle, aclrtAllocatorDesc* allocatorDesc,
                                   aclrtAllocator* allocator, aclrtAllocatorAllocFunc* allocFunc,
                                   aclrtAllocatorFreeFunc* freeFunc,
                                   aclrtAllocatorAllocAdviseFunc* allocAdviseFunc,
                                   aclrtAllocatorGetAddrFromBlockFunc* getAddrFromBlockFunc) {
  return entry([&]() -> aclError {
    constexpr const char* kName = "aclrtAllocatorGetByStream";
    SOFTCANN_TRY(requireNotNull(kName, "allocatorDesc", allocatorDesc));
    SOFTCANN_TRY(requireNotNull(kName, "allocator", allocator));
    SOFTCANN_TRY(requireNotNull(kName, "allocFunc", allocFunc));
    SOFTCANN_TRY(requireNotNull(kName, "freeFunc", freeFunc));
    Stream* stream = nullptr;
    SOFTCANN_TRY(streamOf(kName, handle, stream));
    const OperatorAllocator found = allocatorOf(stream).value_or(OperatorAllocator{});
    *allocatorDesc = found.description;
    *allocator = found.object;
    *allocFunc = found.allocate;
    *freeFunc = found.free;
    if (allocAdviseFunc != nullptr) *allocAdviseFunc = found.allocate_advised;
    if (getAddrFromBlockFunc != nullptr) *getAddrFromBlockFunc = found.address;
    return ACL_SUCCESS;
  });
}

}  // extern "C"
