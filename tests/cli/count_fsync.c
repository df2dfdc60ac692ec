/* Preloaded: a line in $FSYNC_LOG for each fsync. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

int fsync(int fd)
{
    const char *log = getenv("FSYNC_LOG");
    int to = log ? open(log, O_WRONLY | O_CREAT | O_APPEND, 0666) : -1;
    if (to >= 0 && write(to, "fsync\n", 6) == 6)
        close(to);
    return fdatasync(fd);
}
