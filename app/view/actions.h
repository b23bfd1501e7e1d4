/* What the keys of the live window do. Main thread only. */
#ifndef BD_APP_VIEW_ACTIONS_H
#define BD_APP_VIEW_ACTIONS_H

#include "app/view/keys.h"
#include "app/view/session.h"

/* Performs the action of a key; `value` as in the table of keys. */
void bd_view_act(struct bd_view_session *view, enum bd_view_action action, int value);

#endif
