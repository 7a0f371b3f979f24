#include <sys/socket.h>
#include <sys/un.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "second_process.h"

namespace {

constexpr size_t kSize = size_t{1} << 20;
constexpr size_t kKeySize = 65;

struct Key {
  char text[kKeySize] = {};
};

void* allocate(size_t size, unsigned char value) {
  void* pointer = nullptr;
  EXPECT_OK(aclrtMalloc(&pointer, size, ACL_MEM_MALLOC_HUGE_FIRST));
  EXPECT_OK(aclrtMemset(pointer, size, value, size));
  return pointer;
}

int byteAt(const void* pointer, size_t offset) {
  unsigned char byte = 0;
  EXPECT_OK(aclrtMemcpy(&byte, 1, static_cast<const char*>(pointer) + offset, 1,
                        ACL_MEMCPY_DEVICE_TO_HOST));
  return byte;
}

Key exportAll(void* pointer, size_t size,
              uint64_t flags = ACL_RT_IPC_MEM_EXPORT_FLAG_DISABLE_PID_VALIDATION) {
  Key key;
  EXPECT_OK(aclrtIpcMemGetExportKey(pointer, size, key.text, kKeySize, flags));
  return key;
}

void* import(const Key& key) {
  void* pointer = nullptr;
  EXPECT_OK(aclrtIpcMemImportByKey(&pointer, key.text, 0));
  return pointer;
}

void expectRefused(const Key& key, aclError code, const std::string& reason) {
  void* pointer = nullptr;
  EXPECT_EQ(aclrtIpcMemImportByKey(&pointer, key.text, 0), code);
  const std::string message = recentMessage();
  EXPECT_NE(message.find(key.text), std::string::npos) << message;
  EXPECT_NE(message.find(reason), std::string::npos) << message;
}

// A second process that allocates `size` bytes of 7, exports them and obeys: 'w' writes 9, 'r'
// reads the last byte, 'f' frees.
SecondProcess exporter(size_t size) {
  return SecondProcess([size](Channel& channel) {
    void* pointer = allocate(size, 7);
    channel.send(exportAll(pointer, size));
    for (char order = 0; channel.tryReceive(order);) {
      if (order == 'f') EXPECT_OK(aclrtFree(pointer));
      if (order == 'w') EXPECT_OK(aclrtMemset(pointer, size, 9, size));
      if (order == 'r') {
        channel.send(byteAt(pointer, size - 1));
      } else {
        channel.send('.');
      }
    }
  });
}

Key keyOf(SecondProcess& exporter) { return exporter.channel().receive<Key>(); }

// A connection past the runtime to the process that made the key.
int connectToMakerOf(const Key& key) {
  int pid = 0;
  char token[17] = {};
  EXPECT_EQ(std::sscanf(key.text, "softcann-mem-%d-%16[0-9a-f]", &pid, token), 2);
  sockaddr_un name = {};
  name.sun_family = AF_UNIX;
  const int length =
      std::snprintf(name.sun_path + 1, sizeof(name.sun_path) - 1, "softcann-%d-%s", pid, token);
  const int socket = ::socket(AF_UNIX, SOCK_STREAM, 0);
  EXPECT_EQ(connect(socket, reinterpret_cast<sockaddr*>(&name),
                    static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + length)),
            0);
  return socket;
}

// What a runtime sends over such a connection.
struct Request {
  uint64_t magic = 0x3163706963736f66;
  uint32_t kind = 1;  // memory
  uint64_t id = 0;
};

Request requestFor(const Key& key) {
  Request request;
  request.id = std::strtoull(std::strrchr(key.text, '-') + 1, nullptr, 10);
  return request;
}

constexpr size_t kSizes[] = {600, 4096, kSize + 13};

}  // namespace

TEST(IpcMemoryDeathTest, WritesAreSeenOnBothSides) {
  std::vector<SecondProcess> others;
  for (const size_t size : kSizes) others.push_back(exporter(size));
  startRuntime();
  for (size_t i = 0; i < others.size(); ++i) {
    const size_t size = kSizes[i];
    const Key key = keyOf(others[i]);
    void* pointer = import(key);
    EXPECT_EQ(byteAt(pointer, 0), 7);
    EXPECT_EQ(byteAt(pointer, size - 1), 7);
    others[i].order('w');
    EXPECT_EQ(byteAt(pointer, size - 1), 9);
    EXPECT_OK(aclrtMemset(pointer, size, 11, size));
    EXPECT_EQ(others[i].ask('r'), 11);
    void* begin = nullptr;
    size_t whole = 0;
    EXPECT_OK(aclrtMemGetAddressRange(static_cast<char*>(pointer) + 5, &begin, &whole));
    EXPECT_EQ(begin, pointer);
    EXPECT_EQ(whole, size);
    EXPECT_FAILS(aclrtFree(pointer), ACL_ERROR_INVALID_PARAM, "aclrtIpcMemClose");
    EXPECT_OK(aclrtIpcMemClose(key.text));
    EXPECT_FAILS(aclrtIpcMemClose(key.text), ACL_ERROR_INVALID_PARAM, key.text);
  }
}

TEST(IpcMemoryDeathTest, AnOffsetInTheAllocationIsKept) {
  SecondProcess other([](Channel& channel) {
    void* imported = import(channel.receive<Key>());
    channel.send(byteAt(imported, 0) + byteAt(imported, 15));
    char beyond = 0;
    channel.send(
        aclrtMemcpy(&beyond, 1, static_cast<char*>(imported) + 16, 1, ACL_MEMCPY_DEVICE_TO_HOST));
  });
  startRuntime();
  void* pointer = allocate(kSize, 1);
  EXPECT_OK(aclrtMemset(static_cast<char*>(pointer) + 1000, 16, 5, 16));
  other.channel().send(exportAll(static_cast<char*>(pointer) + 1000, 16));
  EXPECT_EQ(other.channel().receive<int>(), 10);
  EXPECT_EQ(other.channel().receive<int>(), ACL_ERROR_INVALID_PARAM);
}

TEST(IpcMemoryDeathTest, TheSameKeyTwiceIsTheSameMemoryUntilClosedTwice) {
  SecondProcess other = exporter(kSize);
  startRuntime();
  const Key key = keyOf(other);
  void* first = import(key);
  EXPECT_EQ(import(key), first);
  EXPECT_OK(aclrtIpcMemClose(key.text));
  EXPECT_EQ(byteAt(first, 1), 7);
  EXPECT_OK(aclrtIpcMemClose(key.text));
  unsigned char byte = 0;
  EXPECT_FAILS(aclrtMemcpy(&byte, 1, first, 1, ACL_MEMCPY_DEVICE_TO_HOST), ACL_ERROR_INVALID_PARAM,
               "not allocated");
}

TEST(IpcMemoryDeathTest, AnImportOutlivesItsKilledExporter) {
  SecondProcess other = exporter(kSize);
  startRuntime();
  const Key key = keyOf(other);
  void* pointer = import(key);
  other.kill();
  EXPECT_EQ(byteAt(pointer, kSize - 1), 7);
  EXPECT_OK(aclrtMemset(pointer, kSize, 3, kSize));
  EXPECT_OK(aclrtIpcMemClose(key.text));
  expectRefused(key, ACL_ERROR_RT_IPC_ERROR, "has ended");
}

TEST(IpcMemoryDeathTest, OnlyAdmittedProcessesMayImport) {
  SecondProcess other([](Channel& channel) {
    const Key key = channel.receive<Key>();
    int32_t pid = 0;
    EXPECT_OK(aclrtDeviceGetBareTgid(&pid));
    expectRefused(key, ACL_ERROR_RT_NO_PERMISSION, std::to_string(pid));
    channel.send(pid);
    channel.receive<char>();
    channel.send(byteAt(import(key), 0));
  });
  startRuntime();
  void* pointer = allocate(kSize, 1);
  const Key key = exportAll(pointer, kSize, ACL_RT_IPC_MEM_EXPORT_FLAG_DEFAULT);
  other.channel().send(key);
  int32_t pid = other.channel().receive<int32_t>();
  EXPECT_FAILS(aclrtIpcMemSetImportPid("softcann-mem-1-0-1", &pid, 1), ACL_ERROR_INVALID_PARAM,
               "softcann-mem-1-0-1");
  EXPECT_FAILS(aclrtIpcMemSetImportPid(key.text, &pid, 0), ACL_ERROR_INVALID_PARAM, "num");
  EXPECT_OK(aclrtIpcMemSetImportPid(key.text, &pid, 1));
  EXPECT_EQ(other.ask('.'), 1);
}

TEST(IpcMemoryDeathTest, WhatIsFreedOrClosedCannotBeImportedAndStaysWithItsImporters) {
  std::vector<SecondProcess> others;
  for (const size_t size : kSizes) others.push_back(exporter(size));
  startRuntime();
  for (size_t i = 0; i < others.size(); ++i) {
    const Key key = keyOf(others[i]);
    void* pointer = import(key);
    others[i].order('f');
    EXPECT_EQ(byteAt(pointer, kSizes[i] - 1), 7);
    EXPECT_OK(aclrtIpcMemClose(key.text));
    expectRefused(key, ACL_ERROR_RT_IPC_ERROR, "closed or freed");
  }
}

TEST(IpcMemoryDeathTest, FreedMemoryThatWasExportedIsNotUsedAgain) {
  SecondProcess other([](Channel& channel) {
    for (Key key; channel.tryReceive(key);) {
      const void* pointer = import(key);
      channel.send('.');
      channel.receive<char>();
      channel.send(byteAt(pointer, 5));
    }
  });
  startRuntime();
  for (const size_t size : kSizes) {
    void* first = allocate(size, 1);
    other.channel().send(exportAll(first, size));
    other.channel().receive<char>();
    ASSERT_OK(aclrtFree(first));
    void* second = allocate(size, 2);
    EXPECT_EQ(other.ask('.'), 1);
    EXPECT_OK(aclrtFree(second));
  }
}

TEST(IpcMemoryDeathTest, ImportedMemoryCanBePassedOn) {
  SecondProcess first = exporter(kSize);
  SecondProcess third([](Channel& channel) {
    void* imported = import(channel.receive<Key>());
    EXPECT_OK(aclrtMemset(imported, 50, 77, 50));
    channel.send('.');
  });
  startRuntime();
  const Key key = keyOf(first);
  void* pointer = import(key);
  const Key onward = exportAll(static_cast<char*>(pointer) + 100, 50);
  first.kill();
  third.channel().send(onward);
  EXPECT_EQ(third.channel().receive<char>(), '.');
  EXPECT_EQ(byteAt(pointer, 100), 77);
  EXPECT_EQ(byteAt(pointer, 150), 7);
  EXPECT_OK(aclrtIpcMemClose(key.text));
  EXPECT_FAILS(aclrtIpcMemClose(onward.text), ACL_ERROR_INVALID_PARAM, onward.text);
}

TEST(IpcMemoryDeathTest, ADeviceResetLetsGoOfImports) {
  SecondProcess other = exporter(kSize);
  startRuntime();
  const Key key = keyOf(other);
  import(key);
  EXPECT_OK(aclrtResetDeviceForce(0));
  EXPECT_OK(aclrtSetDevice(0));
  EXPECT_EQ(byteAt(import(key), 0), 7);
}

TEST(IpcMemoryDeathTest, AForkedChildDoesNotKeepTheSocketOpen) {
  SecondProcess other([](Channel& channel) {
    void* pointer = allocate(kSize, 7);
    channel.send(exportAll(pointer, kSize));
    const pid_t child = fork();
    if (child == 0) channel.send(getpid());  // it has begun
    for (;;) pause();
  });
  startRuntime();
  const Key key = keyOf(other);
  const auto child = other.channel().receive<pid_t>();
  other.kill();
  expectRefused(key, ACL_ERROR_RT_IPC_ERROR, "has ended");
  kill(child, SIGKILL);
}

TEST(IpcMemoryDeathTest, MappedPhysicalMemoryIsRefused) {
  startRuntime();
  constexpr size_t kGranule = size_t{2} << 20;
  aclrtPhysicalMemProp property = {};
  property.location.type = ACL_MEM_LOCATION_TYPE_DEVICE;
  aclrtDrvMemHandle handle = nullptr;
  void* range = nullptr;
  ASSERT_OK(aclrtReserveMemAddress(&range, kGranule, 0, nullptr, 0));
  ASSERT_OK(aclrtMallocPhysical(&handle, kGranule, &property, 0));
  ASSERT_OK(aclrtMapMem(range, kGranule, 0, handle, 0));
  char key[kKeySize];
  EXPECT_FAILS(aclrtIpcMemGetExportKey(range, 1, key, kKeySize, 0), ACL_ERROR_API_NOT_SUPPORT,
               "aclrtMapMem");
}

TEST(IpcMemoryDeathTest, WrongArgumentsAreNamed) {
  startRuntime();
  void* pointer = allocate(kSize, 1);
  char key[kKeySize];
  void* imported = nullptr;
  EXPECT_FAILS(aclrtIpcMemGetExportKey(nullptr, 1, key, kKeySize, 0), ACL_ERROR_INVALID_PARAM,
               "devPtr");
  EXPECT_FAILS(aclrtIpcMemGetExportKey(pointer, 0, key, kKeySize, 0), ACL_ERROR_INVALID_PARAM,
               "size is 0");
  EXPECT_FAILS(aclrtIpcMemGetExportKey(pointer, kSize + 1, key, kKeySize, 0),
               ACL_ERROR_INVALID_PARAM, "beyond");
  EXPECT_FAILS(aclrtIpcMemGetExportKey(pointer, 1, key, 64, 0), ACL_ERROR_INVALID_PARAM, "64");
  EXPECT_FAILS(aclrtIpcMemGetExportKey(pointer, 1, key, kKeySize, 2), ACL_ERROR_INVALID_PARAM,
               "flags 2");
  EXPECT_FAILS(aclrtIpcMemGetExportKey(key, 1, key, kKeySize, 0), ACL_ERROR_INVALID_PARAM,
               "not device memory");
  for (const char* wrong :
       {"", "nonsense", "softcann-mem-12", "softcann-event-1-0000000000000000-1",
        "softcann-mem-1-0000000000000000-1 "}) {
    EXPECT_FAILS(aclrtIpcMemImportByKey(&imported, wrong, 0), ACL_ERROR_INVALID_PARAM,
                 std::string("'") + wrong + "'");
  }
  const Key own = exportAll(pointer, kSize);
  EXPECT_FAILS(aclrtIpcMemImportByKey(&imported, own.text, 0), ACL_ERROR_INVALID_PARAM, own.text);
  EXPECT_FAILS(aclrtIpcMemImportByKey(&imported, own.text, 2), ACL_ERROR_INVALID_PARAM, "flags 2");
  EXPECT_OK(aclrtIpcMemClose(own.text));
}

// A peer that connects and says nothing, or nonsense, holds nobody up for long.
TEST(IpcMemoryDeathTest, NonsenseOnTheSocketIsSurvived) {
  SecondProcess other = exporter(kSize);
  startRuntime();
  const Key key = keyOf(other);
  const int socket = connectToMakerOf(key);
  ASSERT_GT(send(socket, "nonsense of thirty two characters", 32, MSG_NOSIGNAL), 0);
  close(socket);
  EXPECT_EQ(byteAt(import(key), 0), 7);
}

// Only root can become another user, who is then refused by the importing runtime, and by the
// exporting one where a program speaks to it past that runtime.
TEST(IpcMemoryDeathTest, AnotherUserIsRefusedWhateverTheKeySays) {
  if (geteuid() != 0) GTEST_SKIP() << "becoming another user takes root";
  SecondProcess other([](Channel& channel) {
    constexpr uid_t kNobody = 65534;
    const Key key = channel.receive<Key>();
    ASSERT_EQ(setresuid(kNobody, kNobody, kNobody), 0);
    expectRefused(key, ACL_ERROR_RT_NO_PERMISSION, "belongs to another user");
    const int socket = connectToMakerOf(key);
    const Request request = channel.receive<Request>();
    // The exporting process may have hung up before the request is out.
    if (send(socket, &request, sizeof(request), MSG_NOSIGNAL) < 0) {
      EXPECT_EQ(errno, EPIPE);
    }
    char answer = 0;
    EXPECT_LE(recv(socket, &answer, 1, 0), 0) << "the exporting process answered another user";
    close(socket);
    channel.send('.');
  });
  startRuntime();
  void* pointer = allocate(kSize, 1);
  const Key key = exportAll(pointer, kSize);
  other.channel().send(key);
  other.channel().send(requestFor(key));
  EXPECT_EQ(other.channel().receive<char>(), '.');

  // The same words from this user are answered, so the refusal was the user's.
  const int socket = connectToMakerOf(key);
  const Request request = requestFor(key);
  EXPECT_EQ(send(socket, &request, sizeof(request), MSG_NOSIGNAL), ssize_t{sizeof(request)});
  char answer = 0;
  EXPECT_EQ(recv(socket, &answer, 1, 0), 1);
  close(socket);
}
