#ifndef TN_BASE_FOLDER_H
#define TN_BASE_FOLDER_H
/* Where Tenon is installed. Works without a heap. */

enum { TN_FOLDER_BYTES = 4096 };

/* The folder of what Tenon opens or links while it works: $TENON_LIBDIR, else ../lib/tenon beside the folder
 * of the program or library that this code is in. Cut short where it does not fit. */
void tn_folder_find(char out[TN_FOLDER_BYTES]);

#endif
