/* The list of --scan-only: a line for each event on stdout, when it has ended. */
#ifndef BD_APP_EXPORT_CLIPS_SCAN_LIST_H
#define BD_APP_EXPORT_CLIPS_SCAN_LIST_H

#include "app/activity/activity.h"
#include "app/export/clips/plan.h"

struct bd_scan_list;

/* Prints the heading: event, start, end, duration, objects, and, with --clips, the file that its
 * clip would have. `options` must stay. BD_ERROR_MEMORY, BD_ERROR_IO. */
enum bd_status bd_scan_list_open(struct bd_scan_list **list, const struct bd_options *options,
                                 const struct bd_reader_info *info,
                                 const struct bd_clip_plan *plan);

/* Prints the events that `activity` has just ended. BD_ERROR_IO where stdout takes no more. */
enum bd_status bd_scan_list_add(struct bd_scan_list *list, const struct bd_activity *activity);

/* Frees and nulls. Safe on NULL. */
void bd_scan_list_close(struct bd_scan_list **list);

#endif
