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

#ifdef __cplusplus
}
#endif

#endif /* SOFTCANN_ACLNN_SOFTCANN_EXT_H_ */
