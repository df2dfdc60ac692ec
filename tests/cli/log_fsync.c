/* Preloaded: a line in $FSYNC_LOG for each fsync; the one of number $FSYNC_AT (from 1) takes $FSYNC_SECONDS. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

int fsync(int fd)
{
    static int number; /* the tests' commands call it in one thread */
    const char *log = getenv("FSYNC_LOG"), *at = getenv("FSYNC_AT"), *seconds = getenv("FSYNC_SECONDS");
    int to = log ? open(log, O_WRONLY | O_CREAT | O_APPEND, 0666) : -1;
    if (to >= 0 && write(to, "fsync\n", 6) == 6)
        close(to);
    if (at && seconds && ++number == atoi(at))
        for (unsigned left = (unsigned)atoi(seconds); left > 0;)
            left = sleep(left); /* a signal's handler ends it early */
    return fdatasync(fd);
}
