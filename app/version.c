#include "app/version.h"

#include "bd_commit.h" /* written at each build by cmake/Commit.cmake */

const char bd_version[] = BD_VERSION;
const char bd_commit[] = BD_COMMIT;
