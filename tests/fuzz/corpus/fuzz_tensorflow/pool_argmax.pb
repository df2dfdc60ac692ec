
D
PlaceholderPlaceholder*
shape:*
dtype0
¤
MaxPoolWithArgmaxMaxPoolWithArgmaxPlaceholder*
ksize
*
paddingSAME*
strides
*
include_batch_in_index(*
Targmax0	*
T0