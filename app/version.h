/* What version, info and bench print. */
#ifndef BD_APP_VERSION_H
#define BD_APP_VERSION_H

extern const char bd_version[]; /* of the project: "0.1.0" */
extern const char bd_commit[];  /* of the tree when it was built; "no commit": it is no checkout */

#endif
