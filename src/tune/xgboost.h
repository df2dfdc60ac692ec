#ifndef TN_TUNE_XGBOOST_H
#define TN_TUNE_XGBOOST_H
/* XGBoost (Chen and Guestrin 2016) as a model, through its C API, by libxgboost, which is opened when somebody asks for
 * it: $TENON_XGBOOST is its path, else it is where the system has libraries. Versions 1.0 and later. One thread and a
 * fixed seed: the same rows give the same model. Functions as those of a tn_learner. */
#include "tune/model.h"

void *tn_xgboost_open(char why[TN_MODEL_WHY]);
void *tn_xgboost_fit(void *with, tn_loss loss, const tn_rows *r, char why[TN_MODEL_WHY]);
bool tn_xgboost_predict(void *model, uint32_t n, const float *x, double out[], char why[TN_MODEL_WHY]);
void tn_xgboost_free(void *model);

#endif
