/* What libopapi.so of softcann offers beyond CANN. A client looks these up by name and does
 * without them where they are absent.
 */
#ifndef SOFTCANN_ACLNN_SOFTCANN_EXT_H_
#define SOFTCANN_ACLNN_SOFTCANN_EXT_H_

#include "aclnn/acl_meta.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The calling thread's flag "my arguments are checked". While it is true, ...GetWorkspaceSize
 * checks pointers only and leaves shapes and dtypes to the caller, who has inferred them already.
 * The pointer stays valid for the thread's life. */
ACL_FUNC_VISIBILITY bool* softcannArgumentsChecked(void);

/* The calling thread's flag "phase one could not tell". ...GetWorkspaceSize sets it if it has taken
 * a call whose kernel refuses zeros in place of the call's data, so that only the run will tell
 * whether the call is right. Who waits for that run, to report an error at the call, clears it. The
 * pointer stays valid for the thread's life. */
ACL_FUNC_VISIBILITY bool* softcannCallInDoubt(void);

/* Strict mode, for the whole process: while it is on, ...GetWorkspaceSize also refuses what CANN's
 * documents say that the imitated card refuses, with the codes that they give. SOFTCANN_STRICT=1
 * turns it on from the start. */
ACL_FUNC_VISIBILITY bool softcannStrictMode(void);
ACL_FUNC_VISIBILITY void softcannSetStrictMode(bool strict);

#ifdef __cplusplus
}
#endif

#endif /* SOFTCANN_ACLNN_SOFTCANN_EXT_H_ */
