
2
aPlaceholder*
shape
:*
dtype0
2
bPlaceholder*
shape
:H*
dtype0
-
ComplexComplexab*
T0*

Tout0
#
FFTFFTComplex*
Tcomplex0
!
IFFTIFFTFFT*
Tcomplex0
$
yR]alIFFT*

Tout0*
T0"ª