#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "runtime_test.h"

namespace {

// An allocation of 4096 bytes, in a fresh process.
char* deviceBlock() {
  void* pointer = nullptr;
  if (aclInit(nullptr) != ACL_SUCCESS || aclrtSetDevice(0) != ACL_SUCCESS ||
      aclrtMalloc(&pointer, 4096, ACL_MEM_MALLOC_HUGE_FIRST) != ACL_SUCCESS) {
    std::_Exit(90);
  }
  return static_cast<char*>(pointer);
}

void poke(char* pointer) { *const_cast<volatile char*>(pointer) = 1; }
char peek(const char* pointer) { return *const_cast<const volatile char*>(pointer); }

char* nonsenseAddress() {
  static volatile uintptr_t address = 16;
  return reinterpret_cast<char*>(address);
}

// A handler as faulthandler's: on the alternate stack, it reports, puts back what was there before
// and raises the signal again.
struct sigaction before_outer;
void outerHandler(int signal) {
  const char text[] = "outer handler\n";
  if (write(2, text, sizeof(text) - 1) < 0) _exit(91);
  sigaction(signal, &before_outer, nullptr);
  raise(signal);
}
void installOuterHandler() {
  static char stack[64 << 10];
  stack_t alternate = {};
  alternate.ss_sp = stack;
  alternate.ss_size = sizeof(stack);
  sigaltstack(&alternate, nullptr);
  struct sigaction action = {};
  action.sa_handler = outerHandler;
  action.sa_flags = SA_ONSTACK | SA_NODEFER;
  sigaction(SIGSEGV, &action, &before_outer);
}

}  // namespace

TEST(FaultDeathTest, HostWriteIsReportedWithItsAllocation) {
  EXPECT_EXIT(poke(deviceBlock() + 100), testing::KilledBySignal(SIGSEGV),
              "host code (wrote to|touched) device memory.*0x[0-9a-f]+, device 0\n"
              "softcann: that is byte 100 of an allocation of 4096 bytes that aclrtMalloc.*"
              "called from .*softcann_runtime_test");
}

TEST(FaultDeathTest, HostReadIsReported) {
  EXPECT_EXIT(std::_Exit(peek(deviceBlock())), testing::KilledBySignal(SIGSEGV),
              "host code (read|touched) device memory");
}

TEST(FaultDeathTest, FreedMemoryIsToldApart) {
  EXPECT_EXIT(
      {
        char* pointer = deviceBlock();
        aclrtFree(pointer);
        poke(pointer);
      },
      testing::KilledBySignal(SIGSEGV), "a freed allocation of 4096 bytes");
}

TEST(FaultDeathTest, ATaskIsNamed) {
  EXPECT_EXIT(
      {
        char* pointer = deviceBlock();
        enqueueTask(nullptr, [pointer] {
          poke(pointer);
          return ACL_SUCCESS;
        });
        aclrtSynchronizeDevice();
      },
      testing::KilledBySignal(SIGSEGV), "the task testOperator .*without its host view");
}

TEST(FaultDeathTest, OtherFaultsDieSilently) {
  EXPECT_EXIT(
      {
        deviceBlock();
        poke(nonsenseAddress());
      },
      testing::KilledBySignal(SIGSEGV), "^$");
  EXPECT_EXIT(
      {
        deviceBlock();
        raise(SIGSEGV);
      },
      testing::KilledBySignal(SIGSEGV), "^$");
}

TEST(FaultDeathTest, ChainsToTheHandlerThatWasThere) {
  EXPECT_EXIT(
      {
        installOuterHandler();
        poke(deviceBlock());
      },
      testing::KilledBySignal(SIGSEGV), "host code .*\n.*\nouter handler");
}

TEST(FaultDeathTest, ReportsEvenIfAnotherHandlerCameLater) {
  EXPECT_EXIT(
      {
        char* pointer = deviceBlock();
        installOuterHandler();
        poke(pointer);
      },
      testing::KilledBySignal(SIGSEGV), "outer handler\nsoftcann: host code");
}

TEST(FaultDeathTest, AForkedChildIsToldApart) {
  EXPECT_EXIT(
      {
        char* pointer = deviceBlock();
        const pid_t child = fork();
        if (child == 0) poke(static_cast<char*>(softcann::hostView(pointer)));
        int status = 0;
        waitpid(child, &status, 0);
        if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGSEGV) std::_Exit(1);
        const bool alive = aclrtMemset(pointer, 4096, 1, 4096) == ACL_SUCCESS;
        std::_Exit(alive ? 0 : 2);
      },
      testing::ExitedWithCode(0), "a forked child (wrote to|touched) device memory");
}
