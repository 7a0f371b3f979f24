// Base types and all error codes of AscendCL.
#pragma once

#include "acl/acl_base_rt.h"
#include "acl/error_codes/rt_error_codes.h"
