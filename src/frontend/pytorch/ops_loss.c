#include "frontend/pytorch/ops.h"

const pt_row pt_rows_loss[] = {{0}};
