
D
PlaceholderPlaceholder*
shape:*
dtype0
ê
ExtractImagePatchesExtractImagePatchesPlaceholder*
ksizes
*
paddingVALID*
strides
*
rates
*
T0