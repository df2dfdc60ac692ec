/* libtenon-image.so: all readers and what they need, opened when a model decodes a picture. */
#include "picture/picture.h"

const tn_picture_api *tenon_image(void)
{
    static const tn_picture_api api = {TN_PICTURE_API, tn_picture_read, tn_picture_deinit};
    return &api;
}
